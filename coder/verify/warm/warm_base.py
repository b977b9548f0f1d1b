"""Warm base: collected tests and traced coverage of the base, prepared in the background."""

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from coder.core.errors import GitError
from coder.core.ports import Impact, ImpactedTests, Progress
from coder.core.values import Value
from coder.core.verdict import TestReport, TestRun
from coder.patching import PatchError
from coder.patching.plan import ConfinedTree
from coder.verify.change.runs import summarize_run
from coder.verify.warm.test_server import OnRed
from coder.verify.warm.warm_tests import Edits, WarmRefusal, WarmResult, WarmRunner


class WarmFirstRun(Value):
    """Result of a warm run before any run in a clean worktree."""

    reach: ImpactedTests = ImpactedTests(everything=True, why="it is not known yet")
    suspects: tuple[str, ...] = ()
    """Tests that passed on the base and fail in a warm process with the change."""
    runs: tuple[TestRun, ...] = ()


NOT_COLLECTED_YET = WarmRefusal(reason="the tests are not collected yet")


class WarmBase:
    """Prepares the base in the background, on demand.

    Until it is ready, and if it cannot be prepared, all queries return immediately.
    """

    def __init__(
        self,
        checkout: Callable[[], AbstractContextManager[Path]],
        *,
        warm: Callable[[Path], WarmRunner],
        learn: Callable[[Path], Impact],
        stop: Callable[[], None],
    ) -> None:
        """Store how to prepare the base, without starting.

        `checkout` creates a clean worktree of the base; `learn` traces what each test reaches, for minutes,
        until `stop`.
        """
        self._checkout = checkout
        self._warm_of = warm
        self._learn = learn
        self._stop = stop
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._is_closing = threading.Event()
        self._warm: WarmRunner | None = None
        self._impact: Impact | None = None

    def start(self) -> None:
        """Start the preparation and return immediately; a second call does nothing."""
        with self._lock:
            if self._thread is None and not self._is_closing.is_set():
                self._thread = threading.Thread(target=self._prepare, daemon=True)
                self._thread.start()

    @property
    def is_ready(self) -> bool:
        """Whether the coverage of the tests is known."""
        return self._impact is not None

    def run(
        self, edits: Edits, tests: Sequence[str], *, in_order: bool = False, on_red: OnRed = None
    ) -> WarmResult | WarmRefusal:
        """Run tests on the base with other texts at some paths."""
        warm = self._warm
        return (
            warm.run(edits, tests, in_order=in_order, on_red=on_red)
            if warm is not None
            else NOT_COLLECTED_YET
        )

    def reach(self, edits: Edits) -> ImpactedTests:
        """Return the tests whose outcome these texts may change."""
        impact = self._impact
        return (
            impact.impacted_tests(edits)
            if impact is not None
            else ImpactedTests(everything=True, why="it is not known yet")
        )

    def close(self) -> None:
        """End the process and remove the worktree; tracing that still runs is stopped."""
        with self._lock:
            self._is_closing.set()
        if self._thread is not None:
            if self._impact is None:
                self._stop()
            self._thread.join()

    def _prepare(self) -> None:
        try:
            self._keep_base_ready()
        except (FileNotFoundError, GitError):  # the session ended and removed a worktree that was being read
            self._warm = self._impact = None

    def _keep_base_ready(self) -> None:
        with self._checkout() as tree, self._warm_of(tree) as warm:
            warm.wait()
            self._warm = warm
            if not self._is_closing.is_set():
                self._impact = self._learn(tree)
                next(
                    (path for path in self._impact.analyse_incrementally() if self._is_closing.is_set()), None
                )
            self._is_closing.wait()
            self._warm = self._impact = None


def read_edits(tree: Path, paths: Sequence[str]) -> Edits | None:
    """Return the texts at these paths, None for a missing file.

    None altogether if one of them is not a regular UTF-8 file.
    """
    try:
        contents = {path: ConfinedTree(tree).read(path) for path in paths}
        return {
            path: content[0].decode() if content is not None else None for path, content in contents.items()
        }
    except (PatchError, UnicodeDecodeError):
        return None


def run_first_look(
    warm_base: WarmBase, edits: Edits, before: TestReport, progress: Progress | None
) -> WarmFirstRun:
    """Run the tests that the change reaches in the warm process, as a hint of what to run first."""
    reach = warm_base.reach(edits)
    report_progress = progress or (lambda _line: None)
    if reach.everything:
        return WarmFirstRun(reach=reach)
    ran = warm_base.run(
        edits, reach.soonest, in_order=True, on_red=lambda test: report_progress(f"{test} is red")
    )
    if not isinstance(ran, WarmResult):
        return WarmFirstRun(reach=reach)
    counts = ran.report.outcome_counts
    report_progress(f"{counts.passed + counts.failed} tests that the change reaches, {counts.failed} red")
    suspects = tuple(
        result.id
        for result in ran.report.failures
        if (earlier := before.result_for(result.id)) is not None and earlier.green
    )
    return WarmFirstRun(
        reach=reach, suspects=suspects, runs=(summarize_run("first look, warm", reach.tests, ran.report),)
    )
