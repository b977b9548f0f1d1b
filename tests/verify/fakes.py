"""A repository of plain directories, a test runner that runs nothing, and small projects for real runs."""

import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Unpack

from coder.core.ports import Progress, RunOptions, TrialResult
from coder.core.values import Patch
from coder.core.verdict import (
    BehaviorExample,
    Failure,
    Frame,
    Outcome,
    RunProblem,
    TestReport,
    TestResult,
    TestStage,
)
from coder.verify.example import IssueCode
from coder.verify.run import CUT_SHORT
from tests.builders import write

Files = Mapping[str, str]


class FakeTrees:
    """Repository whose trees are dictionaries from path to text; each checkout is a fresh directory."""

    def __init__(self, place: Path, base: Files, change: Files) -> None:
        """`change` holds the changed files in full; an empty text deletes one."""
        self._place = place
        self.trees: dict[str, dict[str, str]] = {
            "base": dict(base),
            "change": {path: text for path, text in {**base, **change}.items() if text},
        }
        self.live = 0

    @property
    def base(self) -> str:
        return "base"

    @property
    def patch(self) -> Patch:
        return Patch(diff="", paths=self.changed_paths("change"), tree="change")

    @contextmanager
    def checkout(self, tree: str, paths: Sequence[str] | None = None) -> Iterator[Path]:
        files = self.trees[tree]
        if paths is not None:
            files = {path: text for path, text in self.trees["base"].items() if path not in paths} | {
                path: text for path, text in files.items() if path in paths
            }
        self.live += 1
        with tempfile.TemporaryDirectory(dir=self._place, ignore_cleanup_errors=True) as name:
            write(Path(name), files)
            yield Path(name)
        self.live -= 1

    read = checkout

    def changed_paths(self, tree: str) -> tuple[str, ...]:
        old, new = self.trees["base"], self.trees[tree]
        return tuple(sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path)))


def read_files(tree: Path) -> Files:
    """Return the texts of all files by path."""
    return {
        path.relative_to(tree).as_posix(): path.read_text(encoding="utf-8")
        for path in tree.rglob("*")
        if path.is_file()
    }


def outcomes(report: TestReport) -> dict[str, str]:
    """Return each test's outcome, with its stage unless that is the call."""
    return {
        result.id: result.outcome if result.when == "call" else f"{result.outcome} in {result.when}"
        for result in report.results
    }


class FakeRunner:
    """Runner that passes the content of the tree to a function that returns the tests' results, and
    records its calls.
    """

    collects_file_by_file = False
    is_selective = True

    def __init__(
        self,
        suite: Callable[[Files], Sequence[TestResult] | RunProblem],
        *,
        command: str = "pytest",
        by_exit_code: bool = False,
        whole_only: bool = False,
        problem: Callable[[tuple[str, ...]], RunProblem | None] = lambda _tests: None,
        plain: Callable[[Files], int | None] = lambda _files: None,
        seconds: Callable[[tuple[str, ...]], float] = lambda _tests: 0.0,
    ) -> None:
        """Results of another command than pytest are indirect; `whole_only` runs all tests, whichever are
        asked for.

        `problem` is what is wrong with a run of these tests, beside its results; `plain` returns the exit
        code of the targets without the recorder; `seconds` is what a run of these tests takes.
        """
        self._suite, self._problem, self._plain, self._seconds = suite, problem, plain, seconds
        self._by_exit_code, self._whole_only = by_exit_code, whole_only
        self.command = command
        self.is_recorded = command == "pytest" and not by_exit_code
        self.calls: list[tuple[str, ...]] = []
        self.limits: list[float | None] = []

    def run_plainly(
        self, tree: Path, tests: Sequence[str], *, timeout_seconds: float | None, cut: Event | None = None
    ) -> int | None:
        return self._plain(read_files(tree))

    def run(
        self,
        tree: Path,
        tests: Sequence[str] = (),
        **options: Unpack[RunOptions],
    ) -> TestReport:
        self.calls.append(tuple(tests))
        self.limits.append(options.get("timeout_seconds"))
        cut = options.get("cut")
        report = self._report(tree, tests)
        problem = report.problem or self._problem(tuple(tests))
        if cut is not None and cut.is_set():
            problem = CUT_SHORT
        return report.model_copy(update={"problem": problem, "seconds": self._seconds(tuple(tests))})

    def _report(self, tree: Path, tests: Sequence[str]) -> TestReport:
        results = self._suite(read_files(tree))
        if isinstance(results, RunProblem):
            return TestReport(command=self.command, problem=results)
        selection = tuple(
            result
            for result in results
            if not tests
            or self._whole_only
            or any(
                result.id == test
                or result.id.startswith((f"{test}::", f"{test}["))
                or test.startswith(f"{result.id}::")
                for test in tests
            )
        )
        return TestReport(
            command=self.command,
            results=selection,
            by_exit_code=self._by_exit_code,
            indirect=not self.is_recorded,
            whole_only=self._whole_only,
        )

    run_parallel = run

    def collect(
        self,
        tree: Path,
        tests: Sequence[str] = (),
        *,
        timeout_seconds: float | None = None,
        progress: Progress | None = None,
    ) -> TestReport:
        assert self.is_recorded, "only recorded tests are collected"
        report = self._report(tree, tests)
        broken = tuple(result for result in report.results if result.when == "collect")
        ids = tuple(result.id for result in report.results if result.when != "collect")
        return report.model_copy(update={"results": broken, "collected": ids})


def passed_result(test_id: str, outcome: Outcome = "passed") -> TestResult:
    return TestResult(id=test_id, outcome=outcome)


def failed_result(
    test_id: str,
    type_: str = "AssertionError",
    message: str = "assert 1 == 2",
    *,
    when: TestStage = "call",
    frames: Sequence[tuple[str, int, str]] = (("tests/test_calc.py", 3, "test_it"),),
) -> TestResult:
    failure = Failure(
        type=type_,
        message=message,
        frames=tuple(Frame(path=path, line=line, function=function) for path, line, function in frames),
        text=f"{type_}: {message}",
    )
    return TestResult(id=test_id, outcome="failed" if when == "call" else "error", when=when, failure=failure)


class FakeIssueCode(IssueCode):
    """Gives the same answers for the code of every issue."""

    def __init__(self, persisting: Sequence[str] = ()) -> None:
        self._persisting = [*persisting]

    def answer_quoted(
        self, old: Path, new: Path, issue: str, targets: Sequence[str], changed: Sequence[str]
    ) -> tuple[list[str], list[BehaviorExample]]:
        return self._persisting, []


class NoTrials:
    """Trials that try nothing, where a test is not about mutants."""

    def try_out(self, *_arguments: object, **_options: object) -> Generator[TrialResult]:
        yield from ()
