"""Report of `run_tests` about a run compared with the baseline."""

from pathlib import Path

from coder.core.verdict import Failure, Frame, RunProblem, TestReport, TestResult
from coder.tools.run_tests import run_tests
from tests.tools.fakes import FakeTests, call_refused_tool, call_tool, workspace

SIZE, KIND, NEW = (
    "tests/test_box.py::test_size",
    "tests/test_box.py::test_kind",
    "tests/test_box.py::test_new",
)


def failed_result(test: str, message: str = "assert 1 == 2") -> TestResult:
    frames = (
        Frame(path="tests/test_box.py", line=4, function="test_size"),
        Frame(path="/usr/lib/json.py", line=9, function="loads"),
    )
    return TestResult(
        id=test,
        outcome="failed",
        failure=Failure(type="AssertionError", message=message, frames=frames, text="E   assert 1 == 2"),
    )


def passed_result(test: str) -> TestResult:
    return TestResult(id=test, outcome="passed")


def fake_tests(*results: TestResult, **more: object) -> TestReport:
    return TestReport.model_validate({"command": "pytest", "results": results, "seconds": 1.25, **more})


def test_separates_new_old_and_fixed_failures(tmp_path: Path) -> None:
    tests = FakeTests(
        report=fake_tests(failed_result(NEW), passed_result(KIND), failed_result("t.py::old")),
        before=fake_tests(failed_result(KIND), failed_result("t.py::old"), passed_result(SIZE)),
    )
    space = workspace(tmp_path, {"tests/test_box.py": ""}, tests=tests)
    assert call_tool(run_tests, space, tests=["tests/test_box.py"]) == (
        "1 passed, 2 failed, 0 skipped in 1.2 s\n"
        "New failures: 1 (1 without a result on the untouched code)\n"
        f"New: {NEW} fails\n"
        "E   assert 1 == 2\n"
        "Fixed (red on the untouched code, green now): 1 test\n"
        f"- {KIND}\n"
        "Failing before too: 1 test\n"
        "- t.py::old\n"
        "[pytest]"
    )
    assert tests.calls == [("tests/test_box.py",)]
    assert tests.base_calls == [(NEW, KIND, "t.py::old")]


def test_explains_inconclusive_run(tmp_path: Path) -> None:
    problem = RunProblem(kind="timeout", text="The tests took more than 60 s and were stopped.")
    tests = FakeTests(report=fake_tests(problem=problem, output="collected 9 items\n"), before=fake_tests())
    assert call_tool(run_tests, workspace(tmp_path, tests=tests)) == (
        "The run says nothing about the code: The tests took more than 60 s and were stopped.\n"
        "[pytest]\ncollected 9 items"
    )


def test_reports_other_command_by_exit_code(tmp_path: Path) -> None:
    tests_report = fake_tests(
        failed_result("make check"), command="make check", by_exit_code=True, exit_code=2, output="no rule\n"
    )
    assert call_tool(
        run_tests, workspace(tmp_path, tests=FakeTests(report=tests_report, before=fake_tests()))
    ) == ("Failed (the command's exit code is 2).\n[make check]\nno rule")


def test_refuses_invalid_test_id(tmp_path: Path) -> None:
    tests = FakeTests(report=fake_tests(), before=fake_tests())
    space = workspace(tmp_path, {"tests/test_box.py": ""}, tests=tests)
    assert call_refused_tool(run_tests, space, tests=["--pdb"]).startswith("'--pdb' is no test.")
    assert "leads out of the repository" in call_refused_tool(run_tests, space, tests=["../t.py::test_a"])
    assert (
        call_refused_tool(run_tests, space, tests=["test_box.py::test_a"])
        == "test_box.py does not exist. Did you mean tests/test_box.py?"
    )
    assert tests.calls == []


def test_shows_no_color_codes(tmp_path: Path) -> None:
    result = failed_result(NEW)
    assert result.failure is not None
    text = "\x1b[31mE   assert 1 == 2\x1b[0m\ntests/test_box.py:4: AssertionError"
    failure = result.failure.model_copy(update={"text": text})
    tests = FakeTests(report=fake_tests(result.model_copy(update={"failure": failure})), before=fake_tests())
    space = workspace(tmp_path, {"tests/test_box.py": ""}, tests=tests)
    shown = call_tool(run_tests, space, tests=["tests/test_box.py"])
    assert "\x1b" not in shown


def test_run_without_tests_gives_no_advice_for_user(tmp_path: Path) -> None:
    problem = RunProblem(kind="no_tests", text="No test was found. Name a test command with --test.")
    space = workspace(
        tmp_path,
        {"tests/test_box.py": ""},
        tests=FakeTests(report=fake_tests(problem=problem), before=fake_tests()),
    )
    shown = call_tool(run_tests, space, tests=["tests/test_box.py"])
    assert shown.startswith("The run says nothing about the code: it found no test.")
    assert "--test" not in shown


def test_new_test_is_told_once_and_without_advice_for_user(tmp_path: Path) -> None:
    problem = RunProblem(kind="no_tests", text="No test was found. Name a test command with --test.")
    tests = FakeTests(report=fake_tests(failed_result(NEW)), before=fake_tests(problem=problem))
    space = workspace(tmp_path, {"tests/test_box.py": ""}, tests=tests)
    shown = call_tool(run_tests, space, tests=["tests/test_box.py"])
    assert "--test" not in shown
    assert shown.count("assert 1 == 2") == 1
