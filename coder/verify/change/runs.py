"""Test runs on the way to one verdict, each in a clean worktree of its own."""

import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from coder.core.phases import Cutoff
from coder.core.ports import Progress, RunOptions, SelectiveTestRunner
from coder.core.values import Value
from coder.core.verdict import TestReport, TestRun
from coder.verify.running.runner import with_label
from coder.verify.test_files.split import ChangeSplit, Side

LEAST_SECONDS, TIMES = 60.0, 5.0
"""What a run may take in any case, and how many times as long as the suite took on the base."""

PARALLEL_RUNS = frozenset({"impacted tests", "suite", "old tests"})
"""Labels of runs that no target's red or green rests on."""
LONG_SECONDS = 5.0
STAGE_OF_RUN = {
    "targets": "targets",
    "red check": "targets",
    "red check, again": "targets",
    "impacted tests": "impacted",
    "suite": "suite",
    "old tests": "old tests",
    "old tests, again": "old tests",
}
"""Stage of a run by its label; any other run compares with the base."""
LEAST_RED_SECONDS, RED_TIMES = 30.0, 10.0
"""Time limit of targets on the base: at least so many seconds, and a multiple of their time on the change."""


def patience(before: TestReport | None) -> float | None:
    """Return the seconds after which a run counts as hanging, from the suite on the base; None if unknown."""
    if before is None or before.problem is not None:
        return None
    return max(LEAST_SECONDS, TIMES * before.seconds)


def patience_without_change(targets: TestReport | None) -> float:
    """Return the seconds that targets may take without the change, from a run with it."""
    return max(LEAST_RED_SECONDS, RED_TIMES * targets.seconds if targets else 0.0)


def is_long(targets: TestReport | None) -> bool:
    """Tell whether a run takes so long that only its red tests are run again."""
    return targets is not None and targets.seconds > LONG_SECONDS


def summarize_run(label: str, tests: Sequence[str], report: TestReport) -> TestRun:
    """Summarize a test run for the evidence."""
    return TestRun(
        label=label,
        command=report.command,
        tests=tuple(tests),
        counts=report.outcome_counts,
        exit_code=report.exit_code,
        seconds=report.seconds,
        problem=report.problem.text if report.problem else "",
    )


class SuiteLimits(Value):
    """Limits on how much of the suite is run for a verdict."""

    whole_seconds: float | None = None
    """Time limit of the suite on the base, beyond which impacted tests stand for it.

    None: `suite_seconds`, and the verdict is PASSING at most beyond it.
    """
    only_impacted: bool = False
    """The suite is not even tried."""
    impacted_seconds: float = 120.0
    """Time limit of one run of impacted tests."""
    base_on_demand: bool = False
    """Tests can be run singly, so those of the base are run only where the change does not pass."""


WHOLE = SuiteLimits()


class Runs:
    """Runs tests on one change and on its base, and keeps account of it."""

    def __init__(
        self,
        *,
        split: ChangeSplit,
        runner: SelectiveTestRunner,
        seconds: float | None,
        progress: Progress | None,
        counted_files: Sequence[str] | None = None,
        extensions: Sequence[str] = (),
        cutoff: Cutoff | None = None,
    ) -> None:
        """Judge a change; a run has so many seconds where nothing else is said.

        `counted_files` are those whose access to the test process counts in large runs, which the base did
        not make; None counts all. `cutoff` lets the user cut large runs short: the first one, and with it
        all that follow.

        Where a changed source or one of the `extensions` is loaded from elsewhere, a run says nothing.
        """
        self._split = split
        self._runner = runner
        self._extensions = extensions
        self._progress = progress
        self._seconds = seconds
        self._counted_files = counted_files
        self._cutoff = cutoff
        self._cut = threading.Event()
        self.is_cut = False
        """True if the user cut a run short."""
        self.made: list[TestRun] = []
        self.stages: dict[str, float] = defaultdict(float)
        """Wall-clock seconds by stage."""
        self.reached_on_base: set[str] = set()
        self.reached_on_change: set[str] = set()

    def on_change(self, label: str, tests: Sequence[str], *, seconds: float | None = None) -> TestReport:
        return self.run(label, "change", tests, seconds=seconds)

    def on_base(self, label: str, tests: Sequence[str]) -> TestReport:
        return self.run(label, "base", tests)

    def collect_on_base(self, files: Sequence[str]) -> TestReport:
        """Collect those test files that the base has; with none given, all of its tests."""
        started = time.monotonic()
        with self._split.checkout("base") as place:
            existing = [path for path in files if (place / path).is_file()]
            if files and not existing:
                return TestReport(command=self._runner.command)
            report = self._runner.collect(
                place, existing, progress=with_label("collection on the base", self._progress)
            )
            self.stages["base"] += time.monotonic() - started
        self.made.append(summarize_run("collection on the base", existing, report))
        is_empty = report.problem is not None and report.problem.kind == "no_tests"
        return report.model_copy(update={"problem": None}) if is_empty else report

    def run(
        self, label: str, side: Side, tests: Sequence[str], *, seconds: float | None = None
    ) -> TestReport:
        """Run tests, or the whole suite, on one side of the change; the run ends after `seconds`."""
        started = time.monotonic()
        with self._split.checkout(side) as place:
            expected = (*self._split.sources, *self._extensions)
            sources = [path for path in expected if (place / path).is_file()]
            told = with_label(label, self._progress)
            options: RunOptions = {
                "timeout_seconds": seconds or self._seconds,
                "expect_loaded": sources,
                "progress": told,
            }
            if label in PARALLEL_RUNS:
                report = self._run_large(place, tests, options)
            else:
                report = self._runner.run(place, tests, **options)
        self.made.append(summarize_run(label, tests, report))
        self.stages[STAGE_OF_RUN.get(label, "base")] += time.monotonic() - started
        if side == "change":
            counts_all = self._counted_files is None or label not in PARALLEL_RUNS
            counted = frozenset(self._counted_files or ())
            self.reached_on_change.update(
                access for access in report.reached if counts_all or access.partition(": ")[0] in counted
            )
        elif side != "sources":
            self.reached_on_base.update(report.reached)
        return report

    def _run_large(self, place: Path, tests: Sequence[str], options: RunOptions) -> TestReport:
        """Run tests on all cores until the user cuts them short."""
        is_offered = self._cutoff is not None and not self._cut.is_set()
        with self._cutoff.offer(self._cut) if self._cutoff and is_offered else nullcontext():
            report = self._runner.run_parallel(place, tests, **options, cut=self._cut)
        is_partial = report.problem is not None and report.problem.kind == "timeout"
        self.is_cut |= is_partial and self._cut.is_set()
        return report
