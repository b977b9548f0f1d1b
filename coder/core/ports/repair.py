"""Ports of repair without a model: tracing, trials of edits, proposals, fault localization."""

from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from coder.core.ports.sandbox import Progress
from coder.core.values.base import Value
from coder.core.values.proposal import Proposals, SuspectRanking
from coder.core.values.verdict import RunProblem, TestResult


class Trace(Value):
    """One test and the lines it executed."""

    result: TestResult
    lines: Mapping[str, tuple[int, ...]]
    """Executed lines of the project's sources, from 1 and ascending, by path relative to the tree; test files
    are excluded."""


class Traces(Value):
    """Lines executed by the failing tests and their neighbours."""

    tests: tuple[Trace, ...] = ()
    """Modules that could not be collected, with the lines of their tracebacks; then tests in execution order.
    """
    imported: Mapping[str, tuple[int, ...]] = {}
    """Lines executed during collection or during an import in a test, by path."""
    problem: RunProblem | None = None
    """Why nothing could be traced."""


class TextChange(Value):
    """Replace the characters of a file from `start` up to `end`."""

    start: int
    end: int
    text: str


class Edit(Value):
    """A candidate: one file with some of its characters replaced."""

    path: str
    """Relative to the tree."""
    changes: tuple[TextChange, ...]
    """Ascending, without overlap; offsets refer to the unchanged text, with line endings as in the file."""
    line: int
    """The line that it changes, from 1."""
    family: str
    """The template that generated it."""
    summary: str
    """Summary of the edit, fit for a commit subject."""
    guards: tuple[str, ...] = ()
    """Ids of passing tests that execute the changed place, in the order to run them."""

    def apply(self, text: str) -> str:
        """Return the file's text after the edit."""
        for change in reversed(self.changes):
            text = text[: change.start] + change.text + text[change.end :]
        return text


class TrialResult(Value):
    """The outcome of one edit."""

    edit: Edit
    outcome: Literal["passed", "failed", "broke", "timeout", "crashed", "invalid", "cold"]
    """passed: its tests and its guards; failed: a target; broke: a guard; invalid: it does not compile; cold:
    its effect on a process that has already imported the project is uncertain, so it needs a run of its
    own."""
    test: str = ""
    """The first test that was not green."""


class CallComparison(Value):
    """Results of the same calls under several edits; empty where they could not be observed."""

    calls: tuple[str, ...] = ()
    """As source text: the calls that tests make into the project, then variants with one argument changed."""
    before: tuple[str, ...] = ()
    """Results of the unchanged code, one for each call."""
    after: tuple[tuple[str, ...], ...] = ()
    """Results of each edit, in the order of the edits; empty for an edit that could not be run."""


class Tracer(Protocol):
    """Runs tests and records the lines that each of them executes."""

    def trace(
        self, tree: Path, tests: Sequence[str], *, seconds: float, progress: Progress | None = None
    ) -> Traces:
        """Run `tests` (ids), then neighbouring tests, nearest first, while tests and time remain."""
        ...


class Trials(Protocol):
    """Tries many edits quickly; nothing in the tree is written."""

    def try_out(
        self,
        tree: Path,
        tests: Sequence[str],
        edits: Sequence[Edit],
        *,
        seconds: float,
        patient: bool = False,
    ) -> Generator[TrialResult]:
        """Yield the outcome of each edit, in order, as far as the time allows.

        `tests` are those that must turn green.

        The time limit of a test follows the usual duration of the failing ones; if `patient`, it allows for a
        test that may have failed long before its end.

        Passed means passed in a fork of a process that had already collected the tests: confirm it in a
        separate process. Closing the iterator ends the work.
        """
        ...

    def compare_calls(
        self, tree: Path, tests: Sequence[str], edits: Sequence[Edit], *, seconds: float
    ) -> CallComparison:
        """Record the results of calls under each edit.

        The calls are those that `tests` and the edits' guards make, and variants of them.
        """
        ...


class Proposer(Protocol):
    """Finds changes without a model."""

    def propose(
        self,
        tree: Path,
        tests: Sequence[str],
        issue: str,
        *,
        seconds: float,
        progress: Progress | None = None,
        may_write: Callable[[str], bool] | None = None,
        guards: Sequence[str] = (),
    ) -> Proposals:
        """Search at most `seconds` for changes of the sources in `tree` that turn `tests` green.

        `tree` is written to, but restored. `may_write` tells whether a path relative to the tree may be
        changed; None allows all. `guards` are tests (ids) that must stay green, besides those found to
        execute the change.
        """


class FaultLocator(Protocol):
    """Locates a fault by running tests."""

    def rank_suspects(
        self, tree: Path, tests: Sequence[str], *, seconds: float, progress: Progress | None = None
    ) -> SuspectRanking:
        """Rank the functions of `tree` that failing `tests` (ids) execute and passing neighbours do not.

        Nothing is changed.
        """
