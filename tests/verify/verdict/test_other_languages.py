"""Judgement of changes in other languages, with a scripted runner whose ids are not paths."""

import re
import threading
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Unpack

import pytest

from coder.core.ports import RunOptions
from coder.core.verdict import TestReport, TestResult, Verdict
from coder.verify.change import Purpose
from coder.verify.runners.adapter import collection_failure
from coder.verify.verifier import WorktreeVerifier
from tests.verify.fakes import FakeRunner, FakeTrees, Files, failed_result, passed_result

INLINE = """pub fn double(n: u8) -> u8 {{ n {} }}
#[cfg(test)]
mod tests {{
    #[test]
    fn doubles() {{ assert_eq!(double(2), {}); }}
}}
"""
WITHOUT_TEST = {"src/lib.rs": "pub fn double(n: u8) -> u8 { n + 1 }\n"}
FIXED = {"src/lib.rs": INLINE.format("* 2", 4)}
IN_USE = "listen EADDRINUSE: address already in use :::4444"


def red(test: str, error: str = "AssertionError", message: str = "400 != 200") -> TestResult:
    return failed_result(test, error, message, frames=())


def run_double(files: Files, source: str, tests: str, title: str) -> list[TestResult]:
    """Return a test that always passes, and one that is green if the source fulfils what `tests` expect."""
    expected, value = files.get(tests, ""), "4" if "n * 2" in files[source] else "3"
    results = [passed_result("other")]
    if "doubles" in expected or f"{title} 4" in expected:
        is_green = f"double(2), {value})" in expected or f"{title} {value}" in expected
        results.append(passed_result(title) if is_green else failed_result(title, frames=()))
    return results


def whole_runner(*where: str) -> FakeRunner:
    """Return a runner that always runs everything; `where` says what `run_double` reads."""
    return FakeRunner(lambda files: run_double(files, *where), command="make test", whole_only=True)


IN_RUST = ("src/lib.rs", "src/lib.rs", "tests::doubles")
OF_DATA = ("double.c", "expected.dat", "case")


def judge(tmp_path: Path, base: Files, change: Files, runner: FakeRunner, issue: str = "") -> Verdict:
    trees = FakeTrees(tmp_path, base, change)
    purpose = Purpose(issue=issue, needs_ties=bool(issue))
    return WorktreeVerifier(trees=trees, runner=runner, purpose=purpose).judge(trees.patch, ())


C = {"double.c": "n + 1", "expected.dat": "case 4"}
SCRIPT = {"run.test.js": 'test("case", read("expected.dat"))'}
EDITED = {"expected.dat": "case 3 # not case 4"}
PROGRAM = {"bin/double": "#!/bin/sh\nn + 1", **SCRIPT, "expected.dat": "case 4"}
OF_PROGRAM = ("bin/double", *OF_DATA[1:])


@pytest.mark.parametrize(
    ("where", "base", "change", "label", "targets", "text"),
    [
        (IN_RUST, WITHOUT_TEST, FIXED, "FIXED", ("tests::doubles",), ""),
        (
            IN_RUST,
            {"src/lib.rs": INLINE.format("+ 1", 4)},
            {"src/lib.rs": INLINE.format("+ 1", 3)},
            *("PASSING", (), ""),
        ),
        (
            IN_RUST,
            FIXED,
            {"src/lib.rs": INLINE.format("+ 1", 3)},
            *("PASSING", (), "the change and 1 test were edited to agree"),
        ),
        (OF_DATA, C, {"double.c": "n * 2"}, "FIXED", ("case",), ""),
        (OF_DATA, C, EDITED, "PASSING", None, "defines case cannot be found, and the change edits expected"),
        (OF_DATA, {**C, **SCRIPT}, EDITED, "PASSING", None, "which only tests read (run.test.js)"),
        (OF_PROGRAM, PROGRAM, {"bin/double": "#!/bin/sh\nn * 2"}, "FIXED", ("case",), ""),
        (
            OF_PROGRAM,
            PROGRAM,
            {"bin/double": "#!/bin/sh\nn + 3", **EDITED},
            *("FIXED", None, "the change edits expected.dat, which only tests read (run.test.js)"),
        ),
    ],
    ids=[
        *("fix and test in one file", "expectation edited in a source", "broken test edited in a source"),
        *("data as it was", "data edited", "data that only tests read", "program without suffix"),
        "program without suffix and data",
    ],
)
def test_verdict_on_sources_and_data(
    tmp_path: Path,
    where: tuple[str, ...],
    base: Files,
    change: Files,
    label: str,
    targets: tuple[str, ...] | None,
    text: str,
) -> None:
    verdict = judge(tmp_path, base, change, whole_runner(*where))
    found = "\n".join([verdict.reason, *(finding.text for finding in verdict.with_effect("open"))])
    assert (verdict.label, text in found) == (label, True), found
    assert targets is None or verdict.targets == targets


def test_hashes_name_existing_files_that_are_equal_on_both_sides(tmp_path: Path) -> None:
    script = 'test("case", 4)'
    verdict = judge(tmp_path, {**C, "run.test.js": script}, {"double.c": "n * 2"}, whole_runner(*OF_DATA))
    assert verdict.hashes == {"run.test.js": sha256(script.encode()).hexdigest()}
    assert judge(tmp_path, WITHOUT_TEST, FIXED, whole_runner(*IN_RUST)).hashes == {}


def test_new_test_of_whole_suite_is_reproduction(tmp_path: Path) -> None:
    change = {"double.c": "n * 2", "run.test.js": 'test("case 4", () => {})'}
    trees = FakeTrees(tmp_path, {"double.c": "n + 1", "run.test.js": ""}, change)
    runner = whole_runner("double.c", "run.test.js", "case")
    verifier = WorktreeVerifier(trees=trees, runner=runner, purpose=Purpose())
    assert verifier.reproduce(trees.patch, ()).tests == ("case",)


def test_change_that_cannot_be_compiled_breaks_other_tests(tmp_path: Path) -> None:
    def compile_all(files: Files) -> list[TestResult]:
        paths = [path for path in ("new_test.go", "old_test.go") if path in files]
        if files["half.go"] == "error":
            return [collection_failure(path, "half.go:1:1: error") for path in paths]
        return [passed_result(f"{path}::TestHalf") for path in paths]

    change = {"half.go": "error", "new_test.go": "tested"}
    runner = FakeRunner(compile_all, command="go test ./...")
    verdict = judge(tmp_path, {"half.go": "half", "old_test.go": "tested"}, change, runner)
    assert (verdict.label, [result.id for result in verdict.broken]) == ("BROKEN", ["old_test.go::TestHalf"])


GO = (
    "package stats\n\nfunc Median(n int) int {{\n\treturn {}\n}}\nfunc Clamp(n int) int {{\n\treturn {}\n}}\n"
)
GO_TEST = "package stats\n\nfunc TestClamp(t *testing.T) {\n\tif Clamp(2) != 4 {\n\t\tt.Fail()\n\t}\n}\n"


@pytest.mark.parametrize(
    ("issue", "label"),
    [
        ("Median of even counts is wrong", "PASSING"),
        ("Median is wrong instead of Clamp of it", "PASSING"),
        *((issue, "FIXED") for issue in ("Clamp returns too little", "TestClamp is missing")),
        ("Clamping is wrong", "FIXED"),
    ],
)
def test_new_test_of_another_function_than_the_issue_names_is_not_tied(
    tmp_path: Path, issue: str, label: str
) -> None:
    base = {"stats.go": GO.format("n + 1", "n + 1"), "stats_test.go": "package stats\n"}
    tested = f"// doubles\n{GO_TEST}// TestClamp 4\n"
    change = {"stats.go": GO.format("n + 1", "n * 2"), "stats_test.go": tested}
    verdict = judge(tmp_path, base, change, whole_runner("stats.go", "stats_test.go", "TestClamp"), issue)
    is_untied = "not mention anything from the issue" in verdict.reason
    assert (verdict.label, is_untied) == (label, label == "PASSING")


SPEC = 'RSpec.describe Text do\n  it "joins" do\n    expect(join("a", "b")).to eq("a b")\n  end\n'
NEW_SPEC = '  it "doubles" do\n    expect(double(2)).to eq(4)\n  end\n'
UNIT = """<?php
final class TextTest extends TestCase {
    public function testJoins(): void { $this->assertSame('a b', join_words('a', 'b')); }
"""
NEW_UNIT = "    public function test_doubles(): void { $this->assertSame(4, double(2)); }\n"
JOINS = 'CHECK(strcmp(join("a", "b"), "a b") == 0);'
MAIN = f"int main(void) {{\n    {JOINS}\n    return 0;\n}}\n"
DOUBLES = {"tests/test_double.c": MAIN.replace(JOINS, "CHECK(double(2) == 4);")}
RB, PHP, PROGRAMS = "spec/text_spec.rb", "tests/TextTest.php", "tests/test_text.c"


def run_named(files: Files) -> list[TestResult]:
    """Return the tests that files of Ruby and PHP name, and one for each program of C in `tests`; those
    that are about `double` need the fixed source.
    """
    ids = []
    for path, text in sorted(files.items()):
        if path.startswith("tests/") and path.endswith(".c"):
            ids.append(f"{path}::{Path(path).stem}{' doubles' if 'double' in text else ''}")
        for spec, method in re.findall(r'it "(.+)" do|function (test\w+)', text):
            ids.append(f"{path}::{f'Text {spec}' if spec else method}")
    return [passed_result(id) if files["text"] == "n * 2" or "doubles" not in id else red(id) for id in ids]


@pytest.mark.parametrize(
    ("path", "text", "change", "rules"),
    [
        (RB, SPEC, {RB: "", "spec/lib/text_spec.rb": SPEC + NEW_SPEC}, []),
        (RB, SPEC, {RB: SPEC.replace('"joins"', '"adds"') + NEW_SPEC}, []),
        (PHP, UNIT, {PHP: "", "tests/Unit/TextTest.php": UNIT + NEW_UNIT}, []),
        (PHP, UNIT, {PHP: UNIT.replace("testJoins", "testAdds") + NEW_UNIT}, []),
        (PROGRAMS, MAIN, {PROGRAMS: "", "tests/test_words.c": MAIN, **DOUBLES}, ["removed-test"]),
        (PROGRAMS, MAIN, {PROGRAMS: "", **DOUBLES}, ["removed-test"]),
    ],
    ids=["Ruby, moved", "Ruby, renamed", "PHP, moved", "PHP, renamed", "program, moved", "program, lost"],
)
def test_moved_and_renamed_tests_are_followed(
    tmp_path: Path, path: str, text: str, change: Files, rules: list[str]
) -> None:
    runner = FakeRunner(run_named, command="ctest" if path == PROGRAMS else "rspec")
    verdict = judge(tmp_path, {"text": "n + 1", path: text}, {"text": "n * 2", **change}, runner)
    assert (verdict.label, len(verdict.targets)) == ("FIXED", 1), verdict.reason
    assert [finding.rule for finding in verdict.with_effect("open") if "removed" in finding.rule] == rules


class PortRunner(FakeRunner):
    """Runner whose tests fail where another run is at their port; a run keeps it until two have met."""

    def __init__(self) -> None:
        super().__init__(lambda files: run_double(files, *IN_RUST), command="make test", whole_only=True)
        self._port = threading.Lock()
        self.met = threading.Event()

    def run(self, tree: Path, tests: Sequence[str] = (), **options: Unpack[RunOptions]) -> TestReport:
        report = super().run(tree, tests, **options)
        if self._port.acquire(blocking=False):
            self.met.wait(2.0)
            self._port.release()
            return report
        self.met.set()
        return report.model_copy(
            update={"results": tuple(red(test.id, "Error", IN_USE) for test in report.results)}
        )

    run_parallel = run


def test_sides_that_use_one_port_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coder.verify.base.processor_count", lambda: 2)
    runner = PortRunner()
    verdict = judge(tmp_path, WITHOUT_TEST, FIXED, runner)
    assert (runner.met.is_set(), verdict.label) == (True, "FIXED")


@pytest.mark.parametrize(("is_change_alone", "label"), [(False, "NOT TESTED"), (True, "BROKEN")])
def test_port_that_is_taken_on_both_sides_is_no_fault_of_the_change(
    tmp_path: Path, is_change_alone: bool, label: str
) -> None:
    def run(files: Files) -> list[TestResult]:
        results = run_double(files, *IN_RUST)
        is_free = is_change_alone and "* 2" not in files["src/lib.rs"]
        return results if is_free else [red(result.id, "Error", IN_USE) for result in results]

    runner = FakeRunner(run, command="make test", whole_only=True)
    verdict = judge(tmp_path, WITHOUT_TEST, FIXED, runner)
    assert verdict.label == label, verdict.reason
    assert ("its port is taken" in verdict.reason) is not is_change_alone


def test_red_test_beside_an_added_one_need_not_turn_green(tmp_path: Path) -> None:
    def run(files: Files) -> list[TestResult]:
        added = passed_result if files["http.js"] == "* 2" else failed_result
        is_new = "sends" in files["http.test.js"]
        old = red("http.test.js::fetches https", "Error")
        return [old, *([added("http.test.js::sends gzip")] if is_new else [])]

    base = {"http.js": "1", "http.test.js": "// fetches https\n"}
    change = {"http.js": "* 2", "http.test.js": "// fetches https\n// sends gzip\n"}
    runner = FakeRunner(run, command="mocha", seconds=lambda _tests: 100.0)
    verdict = judge(tmp_path, base, change, runner, "gzip is not sent by https in http.js")
    assert (verdict.label, verdict.targets) == ("FIXED", ("http.test.js::sends gzip",))


def test_nearest_files_of_a_long_suite_run_first(tmp_path: Path) -> None:
    """Each takes 30 s, and a start takes 5 s."""
    names = ("a.test.js", "b.test.js", "cart.test.js", "d.test.js")

    def run(files: Files) -> list[TestResult]:
        return [red("d.test.js::adds")] if files["cart.js"] == "1" else [*map(passed_result, ids)]

    ids = [f"{name}::adds" for name in names]
    runner = FakeRunner(
        lambda files: [*map(passed_result, ids[:3]), *run(files)[-1:]],
        command="jest",
        seconds=lambda tests: 5 + 30 * len({test.partition("::")[0] for test in tests or names}),
    )
    judge(
        tmp_path,
        {"cart.js": "1", **dict.fromkeys(names, "tested")},
        {"cart.js": "* 2", "d.test.js": "edited"},
        runner,
    )
    assert runner.calls[-2:] == [("cart.test.js", "a.test.js"), ("b.test.js",)]


def run_lines(files: Files) -> list[TestResult]:
    """Return the tests in files of tests, each line of which names a source and what it must hold."""
    results = []
    for path, text in sorted(files.items()):
        if ".test." in path:
            for line in filter(None, text.split("\n")):
                name, source, value = line.removeprefix("test(").split()
                made = passed_result if value in files[source] else failed_result
                results.append(made(f"{path}::{name}"))
    return results


@pytest.mark.parametrize(
    ("near", "label"), [("n", "FIXED"), ("n+1", "BROKEN")], ids=["nothing breaks", "a test breaks"]
)
def test_large_suite_is_not_run_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, near: str, label: str
) -> None:
    """The tests of the change run first, then those near it on both sides."""
    monkeypatch.setattr("coder.verify.verifier.MOST_UNASKED", 2)
    monkeypatch.setattr("coder.verify.test_files.is_test_path", lambda path: ".test." in path)
    base = {
        "double.js": "n+1",
        "half.js": "n/2",
        "double.test.js": "test(keeps double.js n\n",
        "half.test.js": "test(halves half.js n\n",
        "use.test.js": f"test(uses double.js {near}\n",
    }
    change = {"double.js": "n*2", "double.test.js": base["double.test.js"] + "test(doubles double.js *\n"}
    runner = FakeRunner(run_lines, command="jest")
    verdict = judge(tmp_path, base, change, runner)
    assert (verdict.label, () in runner.calls) == (label, False)
    assert verdict.targets == ("double.test.js::doubles",)


def test_tests_of_new_file_count_among_all(tmp_path: Path) -> None:
    base = {"a.js": "n+1", "a.test.js": "test(keeps a.js n\n", "b.test.js": "", "b.js": "n"}
    runner = FakeRunner(run_lines, command="jest")
    verdict = judge(tmp_path, base, {"b.js": "n*2", "b.test.js": "test(doubles b.js *\n"}, runner)
    assert (verdict.label, runner.calls.count(("a.test.js",))) == ("FIXED", 1)
    assert "all 2 tests that may use the changed code ran" in verdict.reason
