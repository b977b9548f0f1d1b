"""Runs of real unittest, and of scripts whose runner derives from it."""

from pathlib import Path

import pytest

from tests.builders import by_hand, write
from tests.verify.conftest import Run
from tests.verify.fakes import outcomes

CASES = """
import unittest
from calc import add


class Adding(unittest.TestCase):
    def test_none(self):
        self.assertEqual(add(0, 0), 0)

    def test_some(self):
        self.assertEqual(add(1, 2), 3)

    def test_each(self):
        for number in range(2):
            with self.subTest(number=number):
                self.assertEqual(add(number, 0), 7 * number)

    def test_parts(self):
        for number in range(2):
            with self.subTest(number=number):
                if number:
                    self.skipTest("not this one")

    @unittest.skip("later")
    def test_skipped(self): pass

    @unittest.expectedFailure
    def test_expected(self): self.fail()

    @unittest.expectedFailure
    def test_unexpected(self): pass

    def test_suite_in_test(self):
        class Inner(unittest.TestCase):
            def runTest(self): self.fail()
        unittest.TestSuite([Inner()]).run(unittest.TestResult())


class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise ValueError("no")
    def test_one(self): pass
    def test_two(self): pass


class Late(unittest.TestCase):
    @classmethod
    def tearDownClass(cls): raise ValueError("late")
    def test_last(self): pass


class Unready(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise unittest.SkipTest("not here")
    def test_one(self): pass
"""
TREE = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "tests/__init__.py": "",
    "tests/test_calc.py": CASES,
    "tests/test_missing.py": "import nothing_here\n",
    "tests/test_wrong.py": "def x(:\n",
    "tests/test_left.py": "import unittest\nraise unittest.SkipTest('all of it')\n",
}
SCRIPT = """import sys, unittest, os  # as django's
sys.path.insert(0, os.getcwd())
class Result(unittest.TestResult): pass
class Runner:
    def run(self, suite):
        result = Result()
        suite.run(result)
        return result
result = Runner().run(unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:] or ["test_calc"]))
sys.exit(bool(result.failures))
"""
CALC = "tests/test_calc.py::"


def test_reports_every_outcome_by_path(tmp_path: Path, make_runner: Run) -> None:
    write(tmp_path, TREE)
    report = make_runner(tmp_path, command="python -m unittest").run(tmp_path)
    assert (report.problem, report.indirect) == (None, False)
    assert outcomes(report) == {
        f"{CALC}Adding::test_none": "passed",
        f"{CALC}Adding::test_some": "failed",
        f"{CALC}Adding::test_each": "failed",
        f"{CALC}Adding::test_parts": "passed",
        f"{CALC}Adding::test_skipped": "skipped",
        f"{CALC}Adding::test_expected": "xfailed",
        f"{CALC}Adding::test_unexpected": "failed",
        f"{CALC}Adding::test_suite_in_test": "passed",
        f"{CALC}Broken::test_one": "error in setup",
        f"{CALC}Broken::test_two": "error in setup",
        f"{CALC}Late::test_last": "error in teardown",
        f"{CALC}Unready::test_one": "skipped in setup",
        "tests/test_missing.py": "error in collect",
        "tests/test_wrong.py": "error in collect",
        "tests/test_left.py": "skipped in collect",
    }
    failures = {result.id: result.failure for result in report.failures}
    missing, some = failures["tests/test_missing.py"], failures[f"{CALC}Adding::test_some"]
    assert missing is not None
    assert (missing.type, missing.message) == ("ModuleNotFoundError", "No module named 'nothing_here'")
    assert some is not None
    assert (some.message, some.frames[0].path) == ("-1 != 3", "tests/test_calc.py")


@pytest.mark.parametrize(
    ("command", "tests", "expected"),
    [
        (
            "python -m unittest discover -s tests",
            [f"{CALC}Late", f"{CALC}Adding::test_none", "tests/test_wrong.py"],
            {
                f"{CALC}Adding::test_none": "passed",
                f"{CALC}Late::test_last": "error in teardown",
                "tests/test_wrong.py": "error in collect",
            },
        ),
        (
            "python -m unittest",
            [
                "tests/test_missing.py::Some::test_it",
                f"{CALC}Adding::test_absent",
                f"{CALC}Adding::test_some",
            ],
            {"tests/test_missing.py": "error in collect", f"{CALC}Adding::test_some": "failed"},
        ),
    ],
)
def test_runs_single_tests(
    tmp_path: Path, make_runner: Run, command: str, tests: list[str], expected: dict[str, str]
) -> None:
    write(tmp_path, TREE)
    report = make_runner(tmp_path, command=command).run(tmp_path, tests, observe=True)
    assert (report.problem, outcomes(report)) == (None, expected)
    for result in report.results:
        if result.outcome == "passed":
            assert result.body is not None
            assert (result.body.started, result.body.ended) == (1, 1)


def test_collects_without_running(tmp_path: Path, make_runner: Run) -> None:
    write(tmp_path, TREE)
    report = make_runner(tmp_path, command="python -m unittest").collect(
        tmp_path, [f"{CALC}Adding", "tests/test_wrong.py"]
    )
    assert (report.problem, outcomes(report)) == (None, {"tests/test_wrong.py": "error in collect"})
    assert len(report.collected) == 8
    assert f"{CALC}Adding::test_some" in report.collected


@pytest.mark.thorough
def test_records_script_with_runner_of_its_own(tmp_path: Path, make_runner: Run) -> None:
    write(tmp_path, {**TREE, "tests/runtests.py": SCRIPT})
    runner = make_runner(tmp_path, command="python tests/runtests.py")
    assert outcomes(runner.run(tmp_path, [f"{CALC}Adding::test_some"])) == {
        f"{CALC}Adding::test_some": "failed"
    }
    whole = runner.run(tmp_path)
    assert (whole.problem, len(whole.results)) == (None, 12)


def test_error_before_tests_is_a_problem(tmp_path: Path, make_runner: Run) -> None:
    write(tmp_path, {"manage.py": "raise RuntimeError('settings are not configured')\n", "test_a.py": ""})
    report = make_runner(tmp_path, command="python manage.py test").run(tmp_path)
    assert report.problem is not None
    assert (report.problem.kind, report.problem.text) == (
        "usage",
        "The test command ended with exit code 1 before any test ran: "
        "RuntimeError: settings are not configured",
    )


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        ("python -m unittest discover -s tests", "tests/"),
        *by_hand(("python -m unittest", ""), ("python manage.py test", "")),
    ],
)
def test_runs_single_tests_without_recorder(
    tmp_path: Path, make_runner: Run, command: str, folder: str
) -> None:
    names = "[word for word in sys.argv if '-' not in word and word != 'test']"
    script = f"import sys, unittest\nunittest.main(module=None, argv={names})\n"
    code = "def add(a, b):\n    return a + b\n"
    write(tmp_path, {"calc.py": code, "manage.py": script, f"{folder}test_calc.py": CASES})
    runner = make_runner(tmp_path, command=command)

    def run(*names: str) -> int | None:
        tests = [f"{folder}test_calc.py::Adding::{name}" for name in names]
        return runner.run_plainly(tmp_path, tests, timeout_seconds=60)

    assert run("test_none", "test_some") == 0
    assert run("test_each") == 1
    assert run("test_nowhere") is None
