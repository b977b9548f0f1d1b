"""Ports of test runs, verdicts, test impact and missing dependencies."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from threading import Event
from typing import Protocol, TypedDict, Unpack

from coder.core.ports.repository import WorktreeContext
from coder.core.ports.sandbox import Progress
from coder.core.values.base import Value
from coder.core.values.candidate import Patch
from coder.core.values.verdict import Evidence, IssueTie, ReproductionResult, TestReport, Verdict


class Distribution(Value):
    """The distribution package that provides a module."""

    name: str
    """Assumed, where it is not installed."""
    is_installed: bool


class DependencyInstaller(Protocol):
    """Installs missing dependencies of test runs, never in one of the user's environments."""

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


class ImpactedTests(Value):
    """The tests that an edit may affect."""

    tests: tuple[str, ...] = ()
    """Node ids in collection order, then files of new tests."""
    soonest: tuple[str, ...] = ()
    """The same, ordered so that a failure is likely to come early."""
    everything: bool = False
    """Any test may be affected, whatever `tests` holds."""
    why: str = ""
    """Why every test may be affected, half a sentence."""


class Impact(Protocol):
    """Test impact analysis: the code that each test of a tree executes and reads."""

    def impacted_tests(self, edits: Mapping[str, str | None]) -> ImpactedTests:
        """Return the tests whose result may change when files get other texts (None: no such file).

        `edits` is keyed by path relative to the tree.

        Unknown code affects every test; the result never claims that no test is affected.
        """
        ...

    def analyse_incrementally(self) -> Iterator[str]:
        """Analyse one source after another while iterated, so that later queries are answered immediately."""
        ...

    def recorded_seconds(self, tests: Sequence[str]) -> float:
        """Return the processor time that tests have taken, as far as it is known."""
        ...


class TestRunner(Protocol):
    """Runs the target project's tests in any checkout of it."""

    @property
    def command(self) -> str:
        """The whole-suite command as the user would type it."""

    def run(
        self,
        tree: Path,
        tests: Sequence[str] = (),
        *,
        timeout_seconds: float | None = None,
        expect_loaded: Sequence[str] = (),
        progress: Progress | None = None,
        is_base: bool = False,
    ) -> TestReport:
        """Run the suite, or just `tests` (node ids or paths), on the code in `tree`.

        Never raise for test failures.

        `expect_loaded` are changed source paths relative to `tree`: if one of their modules was imported from
        anywhere else, the report's problem is `wrong_code_problem`. Without a limit, the project's applies.
        What is built in `tree` is used again for other trees only if it is the base, without any change.
        """


class RunOptions(TypedDict, total=False):
    """Options of `TestRunner.run`."""

    timeout_seconds: float | None
    expect_loaded: Sequence[str]
    progress: Progress | None
    is_base: bool


class LargeRunOptions(RunOptions, total=False):
    """Options of `SelectiveTestRunner.run_parallel`."""

    cut: Event | None
    """Once it is set, the run ends as if its time limit were reached."""


class SelectiveTestRunner(TestRunner, Protocol):
    """Runs any of the tests by themselves or on all cores, and can tell which there are."""

    @property
    def is_recorded(self) -> bool:
        """Whether each test is recorded, so that single tests can be run."""

    def run_parallel(
        self, tree: Path, tests: Sequence[str] = (), **options: Unpack[LargeRunOptions]
    ) -> TestReport:
        """Run the suite, or the files `tests`, on all cores where the suite allows it.

        A test that fails there was repeated without others beside it.
        """

    def collect(
        self, tree: Path, tests: Sequence[str] = (), *, progress: Progress | None = None
    ) -> TestReport:
        """Collect the suite, or just `tests`, in `tree` without running it.

        The report has `collected` ids, and results only of files that cannot be collected.
        """


class Verifier(Protocol):
    """Verifies changes and returns verdicts."""

    def baseline(
        self, progress: Progress | None = None, *, whole: bool = False, brief: bool = False
    ) -> TestReport:
        """Run the suite on the untouched base; measured once, then cached. Callable from several threads.

        A suite that takes long is cut off, or not tried; with `whole` it gets all of its time, if `brief`
        only seconds.
        """

    def results_on_base(self, tests: Sequence[str], progress: Progress | None = None) -> TestReport:
        """Return all that is known of the base's tests, once those of `tests` that are not known have run.

        Without `tests`, the suite is measured first.
        """

    def check_reproduction(
        self, patch: Patch, named: Sequence[str], progress: Progress | None = None
    ) -> ReproductionResult:
        """Return which tests fail for the right reason without the patch's source part.

        These are `named` tests and those that the patch adds or changes.
        """

    def issue_ties(self) -> Mapping[str, IssueTie]:
        """Return the red tests of the base that belong to the issue, by id.

        Empty before the base is measured.
        """

    def verify(
        self,
        patch: Patch,
        named: Sequence[str],
        progress: Progress | None = None,
        *,
        excluded: Sequence[str] = (),
    ) -> Verdict:
        """Judge a change in clean worktrees: targets first, then the tests that it can reach.

        `named` tests must pass; `excluded` ones are not about the issue and never targets.
        """

    def assess_coverage(self, verdict: Verdict, progress: Progress | None = None) -> Verdict:
        """Extend the newest verdict with untested parts of the change and new linter findings."""

    def explain_failure(self, verdict: Verdict) -> str:
        """Summarize a failed verdict as the next message for a model: at most about 4,000 characters."""

    def commit_evidence(self, verdict: Verdict) -> Evidence:
        """Return the evidence to attach to the commit."""

    def preview(
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
