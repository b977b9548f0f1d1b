"""Every Protocol that crosses a layer."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Protocol

from coder.core.events import Record
from coder.core.messages import Delta, Reply, Request
from coder.core.policy import Policy
from coder.core.values.base import Value
from coder.core.values.candidate import Candidate, Delivery, Patch
from coder.core.values.history import Change
from coder.core.values.proposal import Proposals, Suspected
from coder.core.values.verdict import Evidence, Reproduced, TestReport, Tie, Verdict

Progress = Callable[[str], None]
"""Hears one short line whenever there is something new to show; may be called from any thread."""

Around = Callable[[], AbstractContextManager[object]]


class Model(Protocol):
    """A language model behind any wire."""

    @property
    def name(self) -> str:
        """`provider:name`, as the person would type it."""

    def dearest(self, input_tokens: int, output_tokens: int) -> Decimal | None:
        """The most that a request of this size can cost, in US dollars; None where the price is not known."""

    async def complete(self, request: Request, on_delta: Callable[[Delta], None]) -> Reply:
        """Answer one request, streaming pieces to `on_delta` while they come; safe to cancel.

        Raises:
            ModelError: after the adapter's own retries.
        """


class Limits(Value):
    """What one command may use, with all that it starts; it is ended where it takes more than it can be refused."""

    wall_seconds: float = 120.0
    cpu_seconds: int | None = None
    """Of each process; the wall limit bounds them all."""
    memory_bytes: int | None = 4 << 30
    """Address space of each process; None where the interpreter needs more than it uses."""
    resident_bytes: int = 8 << 30
    """Of all processes together, with what lies in shared memory; never more than most of this machine's."""
    processes: int = 1024
    open_files: int = 4096
    """Of each process."""
    file_bytes: int = 2 << 30
    """Of each file."""
    disk_bytes: int = 4 << 30
    """What may go missing on a file system that it can write to."""
    output_bytes: int = 2 << 20
    """Kept of stdout and stderr together: head and tail; the rest is dropped while the command runs on."""


class Execution(Value):
    """How a command ended."""

    exit_code: int | None
    """None: killed by us (a limit, stop)."""
    output: str
    """stdout and stderr as they came, undecodable bytes replaced."""
    seconds: float
    timed_out: bool = False
    truncated: bool = False
    exceeded: str = ""
    """The other limit that it was killed for, in words, such as `more than 1024 processes`."""


class Sandbox(Protocol):
    """The only door through which anything is executed."""

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str] | None = None,
        policy: Policy | None = None,
        limits: Limits | None = None,
        on_line: Progress | None = None,
        private: Path | None = None,
    ) -> Execution:
        """Run a command to its end, or to its limits, and leave no process of it behind.

        `environment` is added to the sandbox's own filtered one; no policy and no limits are their defaults. `private`, a directory below
        the shared scratch directory, takes its place for this command: HOME and TMPDIR lie in it, and nothing beside it can be written.

        Raises:
            SandboxError: it could not be started, or `stop` was called.
        """

    def stop(self) -> None:
        """Kill all that runs, at once and with all descendants, and start nothing any more. Any thread may call."""


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
        self, worktree: Path, paths: Sequence[str], tests: Sequence[str], progress: Progress | None = None, *, around: Around = nullcontext
    ) -> TestReport:
        """Run tests on a candidate's code, which differs from the base at `paths`; it proves nothing.

        `around` is entered only where they run in that worktree itself.
        """


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

    def suspects(self, tree: Path, tests: Sequence[str], *, seconds: float, progress: Progress | None = None) -> Suspected:
        """Which functions of `tree` failing `tests` (ids) execute that their passing neighbours do not; nothing is changed."""


class Repository(Protocol):
    """Git as a session needs it. The person's checkout, index, stash and branch are never touched, but by `deliver(merge=True)`."""

    @property
    def root(self) -> Path:
        """Of the person's checkout."""

    @property
    def head(self) -> str: ...

    @property
    def base(self) -> str:
        """The commit that candidates start from: HEAD plus a snapshot of the uncommitted work, or the revision asked for."""

    @property
    def dirty(self) -> bool:
        """Does `base` hold uncommitted work?"""

    def candidate(self, name: str) -> Candidate:
        """Make a linked worktree at `base`, with the ignored artefacts that tests need."""

    def patch(self, candidate: Candidate) -> Patch:
        """The candidate's whole change so far, new files included, ignored files not."""

    def checkpoint(self, candidate: Candidate, subject: str) -> str:
        """Commit the worktree's state to the candidate's own ref and return the commit."""

    def rollback(self, candidate: Candidate, tree: str) -> None:
        """Make the candidate's worktree equal to a tree or commit it had before, untracked files included, ignored ones not."""

    def restoring(self, candidate: Candidate) -> AbstractContextManager[None]:
        """On exit the candidate's worktree is as it was, so that what tests write there is no part of its change; ignored files stay."""

    def checkout(self, tree: str, paths: Sequence[str] | None = None) -> AbstractContextManager[Path]:
        """A clean disposable worktree at `base` with the content of `tree` (all of it, or at `paths` only); gone on exit."""

    def changed(self, tree: str) -> tuple[str, ...]:
        """Paths that differ between `base` and `tree`, sorted."""

    def edits(self, tree: str) -> Mapping[str, str | None] | None:
        """The texts in `tree` of all paths that differ (None: no such file); None at all where one is no plain file of UTF-8."""

    def rebased(self, patch: Patch) -> Patch | None:
        """The same change on HEAD without the uncommitted work, as a tree and diff; None where it does not fit there."""

    def on_head(self) -> "Repository":
        """The same repository with plain HEAD as the base, for proving a rebased change there."""

    def deliver(self, patch: Patch, *, message: str, evidence: str, slug: str, steps_of: Candidate | None = None) -> Delivery:
        """Put the change on a new branch on top of HEAD, with `evidence` as the commit's git note.

        It is one commit, or the last after a copy of each step of a candidate, `steps_of`.
        """

    def merge(self, delivery: Delivery) -> str:
        """Bring a delivered commit onto the person's current branch; return what is there now: the commit, or an unverified copy of it.

        Raises:
            UserError: it no longer fits, or a path it needs is dirty; nothing was changed.
        """

    def subjects(self, count: int) -> tuple[str, ...]:
        """The newest commit subjects, for their style."""

    def close(self) -> None:
        """Remove worktrees, the snapshot and the session's private refs; what was delivered stays."""


class History(Protocol):
    """What git knows of a place, read-only."""

    def log(self, *, path: str | None = None, lines: tuple[int, int] | None = None, word: str | None = None, count: int = 10) -> str:
        """Newest commits that touch the path, its lines (first, last; from 1), or mention the word in message or change."""

    def blame(self, path: str, first: int, last: int) -> str:
        """Which commit made each line of a range, from 1, both ends included: a row for each run of lines."""

    def show(self, revision: str, path: str | None = None) -> str:
        """One commit: message and diff, of one path if given."""

    def file(self, path: str) -> str | None:
        """A text file as it stands where history ends; None where there is none, or it is too large."""

    def recent(self, *, path: str | None = None, count: int = 200) -> tuple[Change, ...]:
        """The newest commits without merges, newest first."""

    def touched(self, path: str, since: str) -> tuple[str, ...]:
        """Of each line of a file the commit that made it, where that is newer than the commit `since`; else an empty text."""


class Store(Protocol):
    """Where a session's records and large outputs are kept."""

    def append(self, record: Record) -> None:
        """Write one record and flush it."""

    def keep(self, text: str) -> str:
        """Store a large output and return its SHA-256."""

    def blob(self, sha256: str) -> str:
        """A stored output by its SHA-256."""


class Prompts(Protocol):
    """The texts of coder/prompts, filled in."""

    def render(self, name: str, **values: object) -> str:
        """The prompt `name` with every placeholder filled; a missing one is an error."""
