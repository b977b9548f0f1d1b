"""Trials, a runner and a tracer that execute nothing, and candidate edits."""

from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Unpack

from coder.core.ports import Edit, RunOptions, TrialResult
from coder.core.verdict import Outcome, RunProblem, TestReport, TestResult
from coder.repair.candidates import RepairCandidate


class FakeTrials:
    """Edits pass with a text in `right`; those in `slow` time out, and `cold` needs a fresh process.

    `failing` returns the first red test of an edit instead.
    """

    def __init__(
        self,
        *right: str,
        slow: Sequence[str] = (),
        failing: Callable[[Edit, Sequence[str]], str] | None = None,
    ) -> None:
        self._right = right
        self._slow = slow
        self._failing = failing
        self.closed = False
        self.tried: list[Edit] = []

    def try_out(
        self,
        tree: Path,
        tests: Sequence[str],
        edits: Sequence[Edit],
        *,
        seconds: float,
    ) -> Generator[TrialResult]:
        try:
            for edit in edits if seconds > 0 else ():
                self.tried.append(edit)
                text = edit.changes[0].text
                if self._failing is not None:
                    red = self._failing(edit, tests)
                    yield TrialResult(edit=edit, outcome="failed" if red else "passed", test=red)
                elif text in self._slow:
                    yield TrialResult(edit=edit, outcome="timeout", test=tests[0])
                else:
                    holds = text in self._right
                    yield TrialResult(
                        edit=edit, outcome="cold" if text == "cold" else "passed" if holds else "failed"
                    )
        finally:
            self.closed = True


class FakeRunner:
    """Tests pass if the file contains the right text."""

    command = "pytest"

    def __init__(self, path: Path, *, right: str = "a <= 1", problem: RunProblem | None = None) -> None:
        self._path = path
        self._right = right
        self._problem = problem

    def run(
        self,
        tree: Path,
        tests: Sequence[str] = (),
        **options: Unpack[RunOptions],
    ) -> TestReport:
        outcome: Outcome = "passed" if self._right in self._path.read_text() else "failed"
        return TestReport(
            command="pytest",
            results=tuple(TestResult(id=test, outcome=outcome) for test in tests),
            problem=self._problem,
        )


def candidate(
    text: str, old: str, new: str, *, family: str = "comparison", score: float = 0.5, place: str = "a.py::f"
) -> RepairCandidate:
    """Return an edit of a.py that replaces the first `old` with `new`."""
    start = text.index(old)
    edit = Edit.model_validate(
        {
            "path": "a.py",
            "changes": [{"start": start, "end": start + len(old), "text": new}],
            "line": text[:start].count("\n") + 1,
            "family": family,
            "summary": f"f: {new} for {old}",
        }
    )
    return RepairCandidate(edit=edit, score=score, place=place)
