"""Ports of test runs, verdicts, test impact and missing dependencies."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Protocol

from coder.core.ports.repository import Around
from coder.core.ports.sandbox import Progress
from coder.core.values.base import Value
from coder.core.values.candidate import Patch
from coder.core.values.verdict import Evidence, Reproduced, TestReport, Tie, Verdict


class Equipment(Protocol):
    """Can add to what tests run with, never in an environment of the person's."""

    def lacks(self, report: TestReport) -> tuple[str, ...]:
        """The names of packages without which tests of the untouched base cannot run."""
        ...

    def install(self, packages: Sequence[str]) -> str:
        """Install packages for all later runs of this project's tests; returns why it cannot be done, or nothing."""
        ...


class Reach(Value):
    """Which tests an edit may reach."""

    tests: tuple[str, ...] = ()
    """Node ids in the order in which they are collected, then files of new tests."""
    soonest: tuple[str, ...] = ()
    """The same in the order in which a red one is likely to come soonest."""
    everything: bool = False
    """Any test may be reached, whatever `tests` holds."""
    why: str = ""
    """Why it is everything, half a sentence."""


class Impact(Protocol):
    """Knows what each test of a tree executes and reads."""

    def reach(self, edits: Mapping[str, str | None]) -> Reach:
        """The tests that may end otherwise when files get other texts (None: no such file), by path relative to the tree.

        What is not known reaches everything; it is never said that nothing is reached.
        """
        ...

    def prepared(self) -> Iterator[str]:
        """Look at one source after another, for as long as this is asked on: what is asked of them later is answered at once."""
        ...

    def seconds(self, tests: Sequence[str]) -> float:
        """Processor time that tests have taken, as far as it is known."""
        ...


class TestRunner(Protocol):
    """Runs the target project's tests in any checkout of it."""

    @property
    def command(self) -> str:
        """The whole-suite command as the person would type it."""

    def run(
        self,
        tree: Path,
        tests: Sequence[str] = (),
        *,
        timeout_seconds: float | None = None,
        expect_loaded: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> TestReport:
        """Run the suite, or just `tests` (node ids or paths), on the code in `tree`; never raises for what tests do.

        `expect_loaded` are changed source paths relative to `tree`: if one of their modules was imported from anywhere else, the
        report's problem is `wrong_code`. None as time limit is the project's own limit.
        """


class Verifier(Protocol):
    """Turns changes into verdicts."""

    def baseline(self, progress: Progress | None = None, *, whole: bool = False) -> TestReport:
        """The suite on the untouched base; measured once, then remembered. Safe to call from several threads.

        A suite that takes long is cut off, or not tried; the `whole` one has all of its time.
        """

    def reproduces(self, patch: Patch, named: Sequence[str], progress: Progress | None = None) -> Reproduced:
        """Which of `named` and of the tests that the patch adds or changes fail, for the right reason, without its source part."""

    def ties(self) -> Mapping[str, Tie]:
        """Return the red tests of the base that belong to the issue, by id; empty before the base was measured."""

    def verify(self, patch: Patch, named: Sequence[str], progress: Progress | None = None) -> Verdict:
        """Judge a change in clean worktrees: targets first (and alone, where they are still red), then the whole suite."""

    def guard(self, verdict: Verdict, progress: Progress | None = None) -> Verdict:
        """The newest verdict with what no test would miss of the change, and what the project's checkers newly find in it."""

    def explain(self, verdict: Verdict) -> str:
        """A verdict that is not good enough, distilled into the next message for a model: at most about 4,000 characters."""

    def evidence(self, verdict: Verdict) -> Evidence:
        """What to attach to the commit."""

    def preview(
        self,
        worktree: Path,
        paths: Sequence[str],
        tests: Sequence[str],
        progress: Progress | None = None,
        *,
        around: Around = nullcontext,
    ) -> TestReport:
        """Run tests on a candidate's code, which differs from the base at `paths`; it proves nothing.

        `around` is entered only where they run in that worktree itself.
        """
