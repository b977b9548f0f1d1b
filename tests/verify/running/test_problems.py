"""Problems of runs of commands whose tests are not recorded."""

import pytest

from coder.core.ports import Execution
from coder.verify.launch import Recording, run_problem
from coder.verify.runners.registry import missing_results_problem


def problem_kind(output: str, exit_code: int) -> str | None:
    execution = Execution(exit_code=exit_code, output=output, seconds=1.0)
    problem = run_problem(Recording(), execution, runner="other", wall_seconds=60.0)
    return problem.kind if problem else None


@pytest.mark.parametrize(
    ("output", "exit_code"),
    [
        ("sh: 1: carg: not found\n", 127),
        ("error: no such command: `tset`\n\nhelp: a command with a similar name exists: `test`\n", 101),
        ("go tset: unknown command\nRun 'go help' for usage.\n", 2),
        ("/usr/bin/python3: No module named pytst\n", 1),
        ("make: *** No rule to make target 'tset'.  Stop.\n", 2),
        ("make: .venv/bin/python: No such file or directory\nmake: *** [Makefile:2: test] Error 127\n", 2),
        ("make[1]: *** [Makefile:2: a] Error 126\nmake: *** [Makefile:5: test] Error 2\n", 2),
        ('npm error Missing script: "tset"\n', 1),
    ],
)
def test_command_that_is_unknown_did_not_start(output: str, exit_code: int) -> None:
    assert problem_kind(output, exit_code) == "usage"


def test_failing_tests_are_no_problem() -> None:
    assert problem_kind("1 test failed\nmake: *** No rule to make target 'x'.\n", 2) is None
    assert problem_kind("1 test failed\nmake: *** [Makefile:2: test] Error 1\n", 2) is None


@pytest.mark.parametrize(
    ("exit_code", "has_tests", "kind"),
    [(0, True, "no_tests"), (1, False, "no_tests"), (1, True, "no_report")],
)
def test_runner_may_fail_for_want_of_tests(exit_code: int, has_tests: bool, kind: str) -> None:
    execution = Execution(exit_code=exit_code, output="No test files found", seconds=1.0)
    assert missing_results_problem("mocha", execution, has_tests=has_tests).kind == kind


def test_test_that_runs_when_the_run_is_cut_did_not_end() -> None:
    recording = Recording()
    for line in (
        {"kind": "start", "id": "a"},
        {"kind": "phase", "id": "a", "when": "call", "outcome": "passed", "seconds": 0.1, "xfail": False},
        {"kind": "phase", "id": "a", "when": "teardown", "outcome": "passed"},
        {"kind": "start", "id": "b"},
    ):
        recording.add(line)
    (result,) = recording.end_running(began=0.0)
    assert (result.id, result.red, result.failure and result.failure.type) == ("b", True, "TooLong")
    assert 0 <= result.seconds < 10


def test_packages_that_cannot_be_fetched_are_named_with_what_gets_them() -> None:
    output = "error: no matching package named `serde` found\nyou're using offline mode (--offline)\n"
    execution = Execution(exit_code=101, output=output, seconds=1.0)
    text = missing_results_problem("cargo test", execution, has_tests=True).text
    assert "get them first: cargo fetch" in text
    assert "no matching package named `serde` found" in text
