"""The adapter of `go test`, with Go itself."""

import shutil
from pathlib import Path

import pytest

from coder.core.verdict import Failure
from coder.verify.runners.adapter import Run
from coder.verify.runners.go import GoTest
from tests.builders import write_tree
from tests.verify.runners.running import run_adapter

needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed")
TESTS = """\
package half

import "testing"

func TestEven(t *testing.T) {
	if got := Half(4); got != 2 {
		t.Errorf("got %d", got)
	}
}

func TestOdd(t *testing.T) {
	t.Run("small", func(t *testing.T) { t.Errorf("got %d\\nwant 2", Half(3)) })
}

func TestLater(t *testing.T) { t.Skip("later") }

func TestEmpty(t *testing.T) { First(nil) }
"""
GO_MOD = {"go.mod": "module example.com/half\n\ngo 1.19\n"}
FILES = {
    **GO_MOD,
    "half.go": "package half\n\nfunc Half(n int) int { return n / 2 }\n\n"
    "func First(list []int) int { return list[0] }\n",
    "half_test.go": TESTS,
    "bad/bad_test.go": 'package bad\n\nimport "testing"\n\nfunc TestBad(t *testing.T) { missing() }\n',
}


@needs_go
def test_reports_each_test_with_its_file(tmp_path: Path) -> None:
    results = {result.id: result for result in run_adapter(GoTest(), tmp_path, FILES)}
    assert {test: result.outcome for test, result in results.items()} == {
        "half_test.go::TestEven": "passed",
        "half_test.go::TestOdd/small": "failed",
        "half_test.go::TestOdd": "failed",
        "half_test.go::TestLater": "skipped",
        "half_test.go::TestEmpty": "failed",
        "bad/bad_test.go": "error",
    }
    odd = _failure(results["half_test.go::TestOdd/small"].failure)
    assert (odd.type, odd.message) == ("AssertionError", "got 1\nwant 2")
    assert (odd.frames[-1].path, odd.frames[-1].line) == ("half_test.go", 12)
    empty = _failure(results["half_test.go::TestEmpty"].failure)
    assert (empty.type, empty.frames[-1].path, empty.frames[-1].line) == ("panic", "half.go", 5)
    bad = _failure(results["bad/bad_test.go"].failure)
    assert "undefined: missing" in bad.message
    assert bad.frames[0].line == 5


@needs_go
@pytest.mark.parametrize("call", ["os.Exit(1)", "syscall.Exit(0)"])
def test_test_that_ends_the_process_is_red(tmp_path: Path, call: str) -> None:
    package = call.partition(".")[0]
    source = f'package half\n\nimport (\n\t"{package}"\n\t"testing"\n)\n\n'
    tests = f"func TestFirst(t *testing.T) {{}}\n\nfunc TestEnd(t *testing.T) {{ {call} }}\n"
    results = run_adapter(GoTest(), tmp_path, {**GO_MOD, "half_test.go": source + tests})
    assert {result.id: result.outcome for result in results} == {
        "half_test.go::TestFirst": "passed",
        "half_test.go::TestEnd": "error",
    }


@needs_go
def test_runs_selected_tests_of_a_nested_module(tmp_path: Path) -> None:
    files = {f"lib/{path}": text for path, text in FILES.items()}
    results = run_adapter(GoTest(), tmp_path, files, tests=["lib/half_test.go::TestEven"])
    assert [(result.id, result.outcome) for result in results] == [("lib/half_test.go::TestEven", "passed")]


def test_keeps_options_of_the_command(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, FILES)
    argv = ("go", "test", "-race", "-tags", "slow", "-run", "Other", "./...", "-args", "-x", "y")
    tests = ("half_test.go", "bad/bad_test.go::TestBad")
    files = ("half_test.go", "bad/bad_test.go")
    run = Run(argv=argv, tree=tree, place=tmp_path, files=files, tests=tests)
    names = "^(TestEven|TestOdd|TestLater|TestEmpty|TestBad)$"
    assert GoTest().prepare(run).argv == (
        *("go", "test", "-json", "-race", "-tags", "slow", "-run", names, ".", "./bad", "-args", "-x", "y"),
    )


def test_reads_build_errors_of_newer_versions(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, FILES)
    package = "example.com/half/bad"
    output = (
        f'{{"ImportPath":"{package} [{package}.test]","Action":"build-output",'
        f'"Output":"# {package} [{package}.test]\\n"}}\n'
        f'{{"ImportPath":"{package} [{package}.test]","Action":"build-output",'
        '"Output":"bad/bad_test.go:5:32: undefined: missing\\n"}\n'
        f'{{"Action":"output","Package":"{package}","Output":"FAIL\\t{package} [build failed]\\n"}}\n'
        f'{{"Action":"fail","Package":"{package}","Elapsed":0,"FailedBuild":"{package} [{package}.test]"}}\n'
    )
    (bad,) = GoTest().read_results(Run(argv=("go", "test"), tree=tree, place=tmp_path, output=output))
    assert (bad.id, bad.when) == ("bad/bad_test.go", "collect")
    assert _failure(bad.failure).frames[0].path == "bad/bad_test.go"


def _failure(failure: Failure | None) -> Failure:
    assert failure is not None
    return failure
