"""Selection of the test command by a sample of the tests."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from coder.core.verdict import Failure, Frame, RunProblem, TestReport, TestResult
from coder.verify.project import Project, parse_command
from coder.verify.run import CommandSelection, accepted_candidate, sample_files, shared_failure
from tests.builders import write

UNCONFIGURED = Failure(type="ImproperlyConfigured", message="settings are not configured")


def candidate(command: str, problem: str = "") -> Project:
    return Project(
        interpreter=Path("/venv/bin/python"),
        command=parse_command(command, Path("/venv/bin/python")),
        why=(f"Test command: {command}.",),
        environment={},
        problem=RunProblem(kind="no_runner", text=problem) if problem else None,
    )


def results(count: int, failure: Failure | None = None) -> tuple[TestResult, ...]:
    outcome: Any = "failed" if failure else "passed"
    return tuple(
        TestResult(id=f"test_a.py::test_{index}", outcome=outcome, failure=failure) for index in range(count)
    )


class Suites:
    """Runner of a project that answers with a report by command, and records what it ran."""

    def __init__(self, reports: dict[str, tuple[TestResult, ...]]) -> None:
        self.reports = reports
        self.ran: list[str] = []

    def make(self, project: Project) -> Any:
        suites = self

        class Runner:
            command = project.command.text

            def run(self, _tree: Path, _tests: Sequence[str], **_options: Any) -> TestReport:
                suites.ran.append(self.command)
                return TestReport(command=self.command, results=suites.reports[self.command])

        return Runner()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write(tmp_path / "tree", {"test_a.py": "def test_a(): pass\n" * 25})
    return tmp_path / "tree"


def test_selects_first_command_that_works(tmp_path: Path, tree: Path) -> None:
    candidates = [
        candidate("pytest", "pytest is not installed"),
        candidate("python -m pytest"),
        candidate("python manage.py test"),
        candidate("python -m unittest"),
    ]
    reports = {"python -m pytest": results(5, UNCONFIGURED), "python manage.py test": results(5)}
    suites = Suites(reports)
    memory = tmp_path / "state" / "memory.json"
    selection = CommandSelection(candidates, make_runner=suites.make, memory=memory)
    selection.settle(tree)
    selection.settle(tree)
    assert (selection.project.command.text, suites.ran) == ("python manage.py test", [*reports])
    assert selection.project.why[-2:] == (
        "`pytest` does not work: pytest is not installed",
        "`python -m pytest` does not work: 5 of 5 tests fail with ImproperlyConfigured: "
        "settings are not configured",
    )
    remembered = CommandSelection(candidates, make_runner=suites.make, memory=memory)
    remembered.settle(tree)
    assert (remembered.project.command.text, len(suites.ran)) == ("python manage.py test", 2)
    assert accepted_candidate(candidates[:3], memory) is None


def test_missing_package_is_left_to_installation(tmp_path: Path, tree: Path) -> None:
    missing = Failure(type="ModuleNotFoundError", message="No module named 'attrs'")
    candidates = [candidate("python -m pytest")]
    suites = Suites({"python -m pytest": results(25, missing)})
    selection = CommandSelection(candidates, make_runner=suites.make, memory=tmp_path / "memory")
    selection.settle(tree)
    assert (selection.project, suites.ran) == (candidates[0], ["python -m pytest"])


def test_single_command_of_few_tests_is_not_tried(tmp_path: Path) -> None:
    write(tmp_path / "tree", {"test_a.py": "def test_a(): pass\n"})
    suites = Suites({})
    for command in ("python -m pytest", "make test"):
        selection = CommandSelection(
            [candidate(command)], make_runner=suites.make, memory=tmp_path / "memory"
        )
        selection.settle(tmp_path / "tree")
    assert suites.ran == []


@pytest.mark.parametrize(
    ("failure", "failing", "passing", "is_shared"),
    [
        (UNCONFIGURED, 1, 0, True),
        (UNCONFIGURED, 3, 1, False),
        (Failure(type="RuntimeError", message="no app label"), 20, 5, True),
        (Failure(type="RuntimeError", message="no app label"), 19, 0, False),
        (Failure(type="AssertionError", message="1 != 2"), 30, 0, False),
        (
            Failure(
                type="NameError",
                message="name 'x' is not defined",
                frames=(Frame(path="shop/cart.py", line=1, function="total"),),
            ),
            30,
            0,
            False,
        ),
    ],
)
def test_shared_failure_needs_a_fault_of_the_command(
    failure: Failure, failing: int, passing: int, is_shared: bool
) -> None:
    report = TestReport(command="pytest", results=(*results(failing, failure), *results(passing)))
    assert bool(shared_failure(report)) is is_shared


def test_sample_is_spread_over_directories(tmp_path: Path) -> None:
    case = "def test_a(): pass\n"
    write(
        tmp_path,
        {
            "a/test_large.py": case * 9,
            "a/test_small.py": case,
            "b/test_other.py": case * 2,
            "b/test_empty.py": "",
        },
    )
    assert sample_files(tmp_path) == ("a/test_small.py", "b/test_other.py", "a/test_large.py")
