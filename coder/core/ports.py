"""Protocols that cross a layer, and the values of their signatures."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from decimal import Decimal
from pathlib import Path
from threading import Event
from typing import Literal, Protocol, TypedDict, Unpack

from coder.core.events import Record, RunEvent
from coder.core.values import (
    Candidate,
    Delivery,
    Delta,
    Environment,
    NewCommit,
    Patch,
    Policy,
    Proposals,
    Reply,
    Request,
    Value,
)
from coder.core.verdict import (
    IssueTie,
    ReproductionResult,
    RunProblem,
    TestReport,
    TestResult,
    Verdict,
)


class Model(Protocol):
    """A language model, independent of its provider."""

    @property
    def name(self) -> str:
        """`provider:name`, as the user would type it."""

    @property
    def context_tokens(self) -> int | None:
        """The most tokens that a request and its reply may have together; None where that is not known."""

    @property
    def accepts_images(self) -> bool:
        """True if messages to it may have images."""

    def maximum_cost_usd(self, input_tokens: int, output_tokens: int) -> Decimal | None:
        """Return the highest cost of a request of this size, in US dollars.

        None where the price is not known.
        """

    async def complete(self, request: Request, on_delta: Callable[[Delta], None]) -> Reply:
        """Answer one request, streaming pieces to `on_delta` as they arrive; safe to cancel.

        Raises:
            ModelError: after the adapter's own retries.
        """


WorktreeContext = Callable[[], AbstractContextManager[object]]


class Repository(Protocol):
    """Git as a session needs it.

    The user's checkout, index, stash and branch are never touched, except by `merge()`.
    """

    @property
    def root(self) -> Path:
        """Root of the user's checkout."""

    @property
    def head(self) -> str:
        """The commit at HEAD."""

    @property
    def base(self) -> str:
        """The commit that candidates start from.

        It is HEAD plus a snapshot of the uncommitted work, or the requested revision.
        """

    @property
    def base_tree(self) -> str:
        """The git tree of `base`."""

    @property
    def copied_paths(self) -> Mapping[str, str]:
        """Paths in the user's checkout that git hides and tests need, by where checkouts get a copy."""

    @property
    def dirty(self) -> bool:
        """Whether `base` holds uncommitted work."""

    def create_candidate(self, name: str) -> Candidate:
        """Create a linked worktree at `base`, with the ignored artefacts that tests need."""

    def candidate_patch(self, candidate: Candidate) -> Patch:
        """Return the candidate's whole change so far, including new files but not ignored ones."""

    def checkpoint(self, candidate: Candidate, subject: str) -> str:
        """Commit the worktree's state to the candidate's own ref and return the commit."""

    def rollback(self, candidate: Candidate, tree: str) -> None:
        """Restore the candidate's worktree to an earlier tree or commit.

        Untracked files are included, ignored ones are not.
        """

    def restore_on_exit(self, candidate: Candidate) -> AbstractContextManager[None]:
        """Restore the candidate's worktree on exit, to keep files written by tests out of its change.

        Ignored files stay.
        """

    def checkout(self, tree: str, paths: Sequence[str] | None = None) -> AbstractContextManager[Path]:
        """Check out a disposable worktree at `base` with the content of `tree` (all of it, or only `paths`).

        It is removed on exit.
        """

    def read(self, tree: str, paths: Sequence[str] | None = None) -> AbstractContextManager[Path]:
        """Provide the same content for reading alone: nothing may run or be written there."""

    def changed_paths(self, tree: str) -> tuple[str, ...]:
        """Return the paths that differ between `base` and `tree`, sorted."""

    def rebase_on_head(self, patch: Patch) -> Patch | None:
        """Rebase a change onto HEAD without the uncommitted work, as a tree and diff.

        None where it does not apply, or changes nothing there.
        """

    def on_head(self) -> "Repository":
        """Return the same repository with plain HEAD as the base, for verifying a rebased change there."""

    def deliver(
        self, patch: Patch, *, message: str, evidence: str, slug: str, steps_of: Candidate | None = None
    ) -> Delivery:
        """Put the change on a new branch on top of HEAD, with `evidence` as the commit's git note.

        It is one commit, preceded by a copy of each step of the candidate `steps_of`, if given.
        """

    def merge(self, delivery: Delivery) -> NewCommit:
        """Merge a delivered commit into the user's current branch.

        Return the resulting commit, possibly an unverified copy.

        Raises:
            UserError: it no longer applies, or a path it needs is dirty; nothing was changed.
        """

    def recent_subjects(self, count: int) -> tuple[str, ...]:
        """Return the newest commit subjects, as examples of style."""

    def close(self) -> None:
        """Remove worktrees, the snapshot and the session's private refs; delivered changes stay."""


class History(Protocol):
    """Read-only git history of a place."""

    def log(
        self,
        *,
        path: str | None = None,
        lines: tuple[int, int] | None = None,
        word: str | None = None,
        count: int = 10,
    ) -> str:
        """Return the newest commits that touch the path, its lines, or mention the word in message or diff.

        `lines` are first and last, from 1, both included.
        """

    def show(self, revision: str, path: str | None = None) -> str:
        """Return one commit: message and diff, restricted to a path if given."""


Progress = Callable[[str], None]
"""Receives one short line whenever there is progress to show; may be called from any thread."""
RunListener = Callable[[RunEvent], None]
"""Hears of the test runs of a verification; may be called from any thread."""


class Limits(Value):
    """Resource limits of one command and all its descendants.

    It is killed where a limit cannot be enforced otherwise.
    """

    wall_seconds: float = 120.0
    cpu_seconds: int | None = None
    """Per process; the wall limit bounds them all."""
    memory_bytes: int | None = 4 << 30
    """Address space per process; None where the interpreter reserves more than it uses."""
    resident_bytes: int = 8 << 30
    """Of all processes together, including shared memory; never more than most of this machine's."""
    processes: int = 1024
    open_files: int = 4096
    """Per process."""
    file_bytes: int = 2 << 30
    """Per file."""
    disk_bytes: int = 4 << 30
    """Free space that the command may use up on a writable file system."""
    output_bytes: int = 2 << 20
    """Kept of stdout and stderr together: head and tail; the rest is dropped while the command goes on."""


class Execution(Value):
    exit_code: int | None
    """None: killed by coder (a limit, or stop)."""
    output: str
    """stdout and stderr interleaved, undecodable bytes replaced."""
    seconds: float
    timed_out: bool = False
    """The time limit was reached, or the command was cut short."""
    killed_after: float | None = None
    """Seconds after which it was killed for that."""
    truncated: bool = False
    exceeded: str = ""
    """The other limit that it was killed for, in words, such as `more than 1024 processes`."""


class Sandbox(Protocol):
    """The only interface through which anything is executed."""

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
        cut: Event | None = None,
    ) -> Execution:
        """Run a command until it ends or exceeds its limits, and leave no process of it behind.

        `environment` is added to the sandbox's own filtered one; without policy and limits their defaults
        apply. `private`, a directory below the shared scratch directory, replaces it for this command: HOME
        and TMPDIR lie in it, its siblings cannot be written, and build tools find again what commands with a
        directory of the same name have built. Once `cut` is set, it ends as if its time limit were reached.

        Raises:
            SandboxError: it could not be started, or `stop` was called.
        """

    def select_builds(self, private: Path, content: str) -> None:
        """Let later commands with this private directory find built what others did with the same `content`.

        They find nothing else: code of one tree cannot write what another one is built from, and the paths
        are the same for both.
        """
        ...

    def share_builds(self, private: Path) -> None:
        """Let commands with other contents start with a copy of what is built in this private directory."""
        ...

    def stop(self) -> None:
        """Kill all running commands with their descendants, and refuse to start others.

        Callable from any thread.
        """


class Distribution(Value):
    """The distribution package that provides a module."""

    name: str
    """Assumed, where it is not installed."""
    is_installed: bool


class SystemPackage(Value):
    """A package of the operating system that builds or tests lack."""

    what: str
    """Its content in words, such as `a C compiler`."""
    command: str
    """The distribution's command that installs it; empty where that is not known."""


class DependencyInstaller(Protocol):
    """Installs missing dependencies of test runs, never in one of the user's environments."""

    def missing_system_package(self, report: TestReport) -> SystemPackage | None:
        """Return the package of the operating system for want of which a run or a build failed."""
        ...

    def install_system_package(self, package: SystemPackage) -> str:
        """Run the command of a package on this machine; return why that failed, or an empty string."""
        ...

    def missing_packages(self, report: TestReport) -> tuple[str, ...]:
        """Return the names of packages without which tests of the untouched base cannot run."""
        ...

    def find_distributions(self, modules: Sequence[str]) -> Mapping[str, Distribution]:
        """Return the distribution of each top-level module, by module."""
        ...

    def install(self, packages: Sequence[str]) -> str:
        """Install packages for all later runs of this project's tests.

        Return why that failed, or an empty string.
        """
        ...


class RunOptions(TypedDict, total=False):
    timeout_seconds: float | None
    """Without a limit, the project's applies."""
    expect_loaded: Sequence[str]
    """Changed source paths relative to the tree: if one of their modules was imported from anywhere else, the
    report's problem is `wrong_code_problem`."""
    progress: Progress | None
    is_base: bool
    """Whether the tree is the unmodified base, whose build artifacts other trees may reuse."""
    lines: Mapping[str, Sequence[int]]
    """Lines, by path relative to the tree, of which those that run are recorded."""
    observe: bool
    """Whether the bodies of tests are observed, independent of the test runner."""
    cut: Event | None
    """Once it is set, the run ends as if its time limit were reached."""


class TestRunner(Protocol):
    """Runs the target project's tests in any checkout of it."""

    @property
    def command(self) -> str:
        """The whole-suite command as the user would type it."""

    def run(self, tree: Path, tests: Sequence[str] = (), **options: Unpack[RunOptions]) -> TestReport:
        """Run the suite, or just `tests` (node ids or paths), on the code in `tree`.

        Never raise for test failures.
        """


class SelectiveTestRunner(TestRunner, Protocol):
    """Runs any of the tests by themselves or on all cores, and can tell which there are."""

    @property
    def is_recorded(self) -> bool:
        """Whether each test is recorded, so that single tests can be run."""

    @property
    def is_selective(self) -> bool:
        """Whether single test files can be run."""

    @property
    def collects_file_by_file(self) -> bool:
        """Whether large runs collect each test file only after those before it have run."""

    def run_plainly(
        self, tree: Path, tests: Sequence[str], *, timeout_seconds: float | None, cut: Event | None = None
    ) -> int | None:
        """Run tests as the project does, without a recorder; return the exit code.

        None where it says nothing.
        """

    def run_parallel(
        self, tree: Path, tests: Sequence[str] = (), **options: Unpack[RunOptions]
    ) -> TestReport:
        """Run the suite, or the files `tests`, on all cores where the suite allows it.

        A test that fails there was repeated without others beside it.
        """

    def collect(
        self,
        tree: Path,
        tests: Sequence[str] = (),
        *,
        timeout_seconds: float | None = None,
        progress: Progress | None = None,
    ) -> TestReport:
        """Collect the suite, or just `tests`, in `tree` without running it.

        The report has `collected` ids, and results only of files that cannot be collected.
        """


class ReproducedExample(Value):
    """An example of an issue whose wrong result the untouched code gives, as a test that fails."""

    call: str
    wrong: str
    """Result of the call, or `raises X`."""
    right: str
    """Expected result; empty if only an exception is unwanted."""
    path: str
    """The test file, relative to the tree."""
    text: str
    """Its text with the new test."""
    test: str
    """Id of the new test."""
    imports: tuple[str, ...] = ()
    """Statements that import what the call names."""
    setup: str = ""
    """Statements of the issue that come before the call."""
    is_wish: bool = False
    """True if words alone say what should be: that is enough for a test to try, and not for a verdict."""

    @property
    def code(self) -> str:
        return f"{self.setup}\n{self.call}" if self.setup else self.call

    @property
    def summary(self) -> str:
        result = self.wrong if self.wrong.startswith("raises ") else f"gives {self.wrong}"
        return f"The issue's example fails here: {self.call} {result}."


class Verifier(Protocol):
    """Verifies changes and returns verdicts."""

    def baseline(
        self, progress: Progress | None = None, *, whole: bool = False, near: Sequence[str] = ()
    ) -> TestReport:
        """Run the suite on the untouched base; measured once, then cached. Callable from several threads.

        A suite that takes long is cut off, or not tried, and the tests `near` run in its place; with `whole`
        it gets all of its time.
        """

    def results_on_base(self, tests: Sequence[str], progress: Progress | None = None) -> TestReport:
        """Return all that is known of the base's tests, once those of `tests` that are not known have run.

        Without `tests`, the suite is measured first.
        """

    def reproduce(
        self,
        patch: Patch,
        named: Sequence[str],
        progress: Progress | None = None,
        *,
        tell: RunListener | None = None,
        seconds: float | None = None,
    ) -> ReproductionResult:
        """Return which tests fail for the right reason without the patch's source part.

        These are `named` tests and those that the patch adds or changes. `tell` hears of each run, which may
        take so many `seconds`.
        """

    def issue_ties(self) -> Mapping[str, IssueTie]:
        """Return the red tests of the base that belong to the issue, by id.

        Empty before the base is measured.
        """

    def describe_examples(self) -> tuple[str, ...]:
        """Return what the issue's examples give on the untouched code, a sentence each, within 10 s.

        Empty where none can be run, or no sandbox holds a stranger's code.
        """

    def reproduce_example(self) -> ReproducedExample | str:
        """Return the issue's own example as a failing test, or the reason why there is none.

        It is run on the untouched code twice, where a sandbox holds it.
        """

    def write_example(self, tree: Path, call: str, right: str) -> ReproducedExample | str:
        """Return a test that a call gives a literal, or `raises X`, in the nearest test file of a tree.

        Nothing is run or written. A text says why there is none.
        """

    def judge(
        self,
        patch: Patch,
        named: Sequence[str],
        progress: Progress | None = None,
        *,
        excluded: Sequence[str] = (),
        tell: RunListener | None = None,
    ) -> Verdict:
        """Judge a change in clean worktrees: targets first, then the tests that it can reach.

        `named` tests must pass; `excluded` ones are not about the issue and never targets. `tell` hears of
        each run and of the targets at once. The verdict names the patch's tree.
        """

    def accept_test_edits(self) -> None:
        """Take edits of tests that contradict a change as meant, from the next verdict on."""

    def examine(self, verdict: Verdict, progress: Progress | None = None) -> Verdict:
        """Return the newest verdict with what behavior, linters and mutants of the change show.

        It takes no longer than the verdict itself took, about, and can be cut short.
        """

    def environment(self) -> Environment:
        """Return the environment in which tests have run so far."""

    def run_tests(
        self,
        worktree: Path,
        paths: Sequence[str],
        tests: Sequence[str],
        progress: Progress | None = None,
        *,
        around: WorktreeContext = nullcontext,
    ) -> TestReport:
        """Run tests on a candidate's code, which differs from the base at `paths`; it proves nothing.

        `around` is entered only where they run in that worktree itself.
        """


class Trace(Value):
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
        for change in reversed(self.changes):
            text = text[: change.start] + change.text + text[change.end :]
        return text


class TrialResult(Value):
    edit: Edit
    outcome: Literal["passed", "failed", "broke", "timeout", "crashed", "invalid", "cold"]
    """passed: its tests and its guards; failed: a target; broke: a guard; invalid: it does not compile; cold:
    its effect on a process that has already imported the project is uncertain, so it needs a run of its
    own."""
    test: str = ""
    """The first test that was not green."""


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
    ) -> Generator[TrialResult]:
        """Yield the outcome of each edit, in order, as far as the time allows.

        `tests` are those that must turn green.

        The time limit of a test follows the usual duration of the failing ones.

        Passed means passed in a fork of a process that had already collected the tests: confirm it in a
        separate process. Closing the iterator ends the work.
        """
        ...


class AnswerClasses(Value):
    """Alternative edits grouped by equal answers to calls; those without answers are classes of their own."""

    classes: tuple[tuple[int, ...], ...]
    """Places of the alternatives, in their order."""
    call: str = ""
    """A call that the first classes answer differently; empty if none was seen."""
    answers: tuple[str, ...] = ()
    """Its answers, one for each class; empty for those without."""
    changed: tuple[int, ...] = ()
    """Number of calls that each class answers otherwise than the unchanged code; empty if unknown."""
    says_little: bool = False
    """True if tests make no two different calls, or few inputs were compared: equal answers prove nothing."""


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


class Store(Protocol):
    """Storage of a session's records and large outputs."""

    def append(self, record: Record) -> None:
        """Write one record and flush it."""

    def store_blob(self, text: str) -> str:
        """Store a large output and return its SHA-256."""
