"""The adapter of RSpec, with RSpec itself."""

import json
import shutil
from pathlib import Path

import pytest

from coder.verify.runners.adapter import Run
from coder.verify.runners.rows import RSPEC
from tests.builders import write_tree
from tests.verify.runners.running import run_adapter

needs_rspec = pytest.mark.skipif(shutil.which("rspec") is None, reason="rspec is not installed")
SPECS = """\
require_relative "../lib/half"
RSpec.describe "half" do
  it("of even") { expect(half(4)).to eq 2 }
  it("of odd") { expect(half(3)).to eq 2 }
  it("of negative") { half(-2) }
  xit("later") { }
  [2, 3].each { |n| it("of each") { expect(half(n)).to eq 1 } }
end
"""
FILES = {
    "lib/half.rb": 'def half(n)\n  raise ArgumentError, "negative" if n < 0\n  n / 2\nend\n',
    "spec/half_spec.rb": SPECS,
}


@needs_rspec
def test_reports_each_example_with_its_file(tmp_path: Path) -> None:
    results = {result.id: result for result in run_adapter(RSPEC, tmp_path, FILES)}
    assert {test: result.outcome for test, result in results.items()} == {
        "spec/half_spec.rb::half of even": "passed",
        "spec/half_spec.rb::half of odd": "failed",
        "spec/half_spec.rb::half of negative": "failed",
        "spec/half_spec.rb::half later": "skipped",
        "spec/half_spec.rb::half of each": "passed",
        "spec/half_spec.rb::half of each #2": "passed",
    }
    odd = results["spec/half_spec.rb::half of odd"].failure
    negative = results["spec/half_spec.rb::half of negative"].failure
    assert odd is not None and negative is not None
    assert odd.type == "AssertionError" and odd.message.startswith("expected: 2\n     got: 1")
    assert negative.type == "ArgumentError"
    assert [(frame.path, frame.line) for frame in negative.frames] == [
        ("spec/half_spec.rb", 5),
        ("lib/half.rb", 2),
    ]


@needs_rspec
def test_runs_selected_examples(tmp_path: Path) -> None:
    test = "spec/half_spec.rb::half of each #2"
    assert [result.id for result in run_adapter(RSPEC, tmp_path, FILES, tests=[test])] == [test]


@needs_rspec
def test_file_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    files = {**FILES, "spec/bad_spec.rb": 'require_relative "missing"\n'}
    (result,) = run_adapter(RSPEC, tmp_path, files)
    assert (result.id, result.when) == ("spec/bad_spec.rb", "collect")
    assert result.failure is not None
    assert result.failure.message.startswith("LoadError: cannot load such file")
    assert result.failure.frames[-1].path == "spec/bad_spec.rb"


def test_keeps_options_of_the_command(tmp_path: Path) -> None:
    argv = ("bundle", "exec", "rspec", "--tag", "fast", "-f", "doc", "spec")
    run = Run(argv=argv, tree=tmp_path, place=tmp_path, files=("spec/a_spec.rb",), tests=("spec/a_spec.rb",))
    assert RSPEC.recognizes(argv) and not RSPEC.recognizes(("bundle", "exec", "rake"))
    assert RSPEC.prepare(run).argv == (
        *("bundle", "exec", "rspec", "--format", "json", "--out", f"{tmp_path}/report.json"),
        *("--no-color", "-b", "--no-fail-fast", "--tag", "fast", "spec/a_spec.rb"),
    )


def test_reads_report(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", FILES)
    where = {"id": "./spec/half_spec.rb[1:1]", "file_path": "./spec/half_spec.rb"}
    backtrace = [
        "/usr/lib/ruby/rspec/support.rb:97:in `block in notify'",
        f"{tree}/lib/half.rb:2:in `half'",
        f"{tree}/spec/half_spec.rb:5:in `block (2 levels) in <top (required)>'",
    ]
    error = {
        "class": "RSpec::Expectations::ExpectationNotMetError",
        "message": "\nexpected: 2\n     got: 1\n",
    }
    report = {
        "examples": [
            {**where, "full_description": "half of each", "status": "passed", "run_time": 0.5},
            {**where, "full_description": "half of each", "status": "pending"},
            {
                **where,
                "full_description": "half of odd",
                "status": "failed",
                "exception": {**error, "backtrace": backtrace},
            },
        ],
        "messages": [
            '\nAn error occurred while loading ./spec/bad_spec.rb.\nFailure/Error: require "missing"\n\n'
            "LoadError:\n  cannot load such file -- missing\n# ./spec/half_spec.rb:1:in `require'\n"
        ],
    }
    write_tree(tmp_path / "place", {"report.json": json.dumps(report)})
    run = Run(argv=("rspec",), tree=tree, place=tmp_path / "place")
    each, again, odd, bad = RSPEC.read_results(run)
    assert (each.id, each.outcome, each.seconds) == ("spec/half_spec.rb::half of each", "passed", 0.5)
    assert (again.id, again.outcome) == ("spec/half_spec.rb::half of each #2", "skipped")
    assert odd.failure is not None and bad.failure is not None
    assert (odd.failure.type, odd.failure.message) == ("AssertionError", "expected: 2\n     got: 1")
    assert [(frame.path, frame.line, frame.function) for frame in odd.failure.frames] == [
        ("spec/half_spec.rb", 5, "block (2 levels) in <top (required)>"),
        ("lib/half.rb", 2, "half"),
    ]
    assert (bad.id, bad.when, bad.failure.message) == (
        *("spec/bad_spec.rb", "collect"),
        "LoadError: cannot load such file -- missing",
    )
    assert [(frame.path, frame.line) for frame in bad.failure.frames] == [("spec/half_spec.rb", 1)]
