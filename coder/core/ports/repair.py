"""Ports of repair without a model: tracing, trials of edits, proposals, fault localization."""

from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from coder.core.ports.sandbox import Progress
from coder.core.values.base import Value
from coder.core.values.proposal import Proposals, Suspected
from coder.core.values.verdict import Problem, TestResult


class Trace(Value):
    """One test and what it executed."""

    result: TestResult
    lines: Mapping[str, tuple[int, ...]]
    """Executed lines of the project's sources, from 1 and ascending, by path relative to the tree; test files are left out."""


class Traces(Value):
    """What the failing tests and their neighbours executed."""

    tests: tuple[Trace, ...] = ()
    """What could not be collected, with the lines of its traceback; then tests in the order in which they ran."""
    imported: Mapping[str, tuple[int, ...]] = {}
    """Lines that were executed while the tests were collected, or a module was imported by one, by path."""
    problem: Problem | None = None
    """Why nothing could be traced."""


class Change(Value):
    """Replace the characters of a file from `start` up to `end`."""

    start: int
    end: int
    text: str


class Edit(Value):
    """A candidate: one file with some of its characters replaced."""

    path: str
    """Relative to the tree."""
    changes: tuple[Change, ...]
    """Ascending, without overlap; positions are those of the unchanged text, line ends as they are in the file."""
    line: int
    """Where it happens, from 1."""
    family: str
    """The template that made it."""
    summary: str
    """What it does, fit for a commit subject."""
    guards: tuple[str, ...] = ()
    """Ids of passing tests that execute the changed place, in the order to run them."""

    def apply(self, text: str) -> str:
        """The file's text after the edit."""
        for change in reversed(self.changes):
            text = text[: change.start] + change.text + text[change.end :]
        return text


class Tried(Value):
    """What became of one edit."""

    edit: Edit
    outcome: Literal["passed", "failed", "broke", "timeout", "crashed", "invalid", "cold"]
    """passed: its tests and its guards; failed: a target; broke: a guard; invalid: it does not compile; cold: it has no sure effect on a
    process that has imported the project already, so that only a run of its own could tell."""
    test: str = ""
    """The first test that was not green."""


class Compared(Value):
    """How edits answer the same calls; empty where that could not be seen."""

    calls: tuple[str, ...] = ()
    """As one would write them: those that tests make into the project, then ones with an argument changed."""
    before: tuple[str, ...] = ()
    """What the unchanged code answers to each."""
    after: tuple[tuple[str, ...], ...] = ()
    """What each edit answers, in the order of the edits; empty for one that could not be asked."""


class Tracer(Protocol):
    """Runs tests and sees which lines each of them executes."""

    def trace(
        self, tree: Path, tests: Sequence[str], *, seconds: float, progress: Progress | None = None
    ) -> Traces:
        """Run `tests` (ids), then those that lie near them, nearest first, until the suite or the time is at its end."""
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
    ) -> Generator[Tried]:
        """Yield what became of each edit, in their order, as far as the time reaches; `tests` are those that must turn green.

        A test has so much time as is usual for what failed; if `patient`, as for one that may have failed long before its end.

        What passed has passed in a fork of a process that had collected the tests before: confirm it in a process of its own. Closing the
        iterator ends the work.
        """
        ...

    def compare(self, tree: Path, tests: Sequence[str], edits: Sequence[Edit], *, seconds: float) -> Compared:
        """Let edits answer the calls that `tests` and the edits' guards make, and others like them."""
        ...


class Proposer(Protocol):
    """Finds changes by itself, with no model."""

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
        """Search at most `seconds` for changes of the sources in `tree` (written to, but left as it was) that turn `tests` green.

        `may_write` says of a path relative to the tree whether it may be changed; None is all. `guards` are tests (ids) that must stay
        green, besides those that are seen to execute what is changed.
        """


class Faults(Protocol):
    """Finds the place of a fault by running tests."""

    def suspects(
        self, tree: Path, tests: Sequence[str], *, seconds: float, progress: Progress | None = None
    ) -> Suspected:
        """Which functions of `tree` failing `tests` (ids) execute that their passing neighbours do not; nothing is changed."""
