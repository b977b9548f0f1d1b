"""Test runs on all cores: the files of a suite are split over processes, and failures repeated alone."""

import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Unpack

from coder.core.paths import test_file_of
from coder.core.ports import LargeRunOptions, Progress
from coder.core.verdict import TestReport, TestResult
from coder.verify.impact.test_selection import find_tests
from coder.verify.project.suite_history import SuiteHistory
from coder.verify.results.merging import merge_reports
from coder.verify.running.runner import PytestRunner

MOST_CORES = 8
LEAST_TESTS, LEAST_SECONDS = 400, 8.0
"""A run with fewer tests, or one that is known to be shorter, is not worth a second process."""
MOST_REPEATED = 50
"""With more failures than these, everything is run again in one process."""
XDIST_OPTIONS = ("-n", "--numprocesses", "--dist", "--tx")


class ParallelRunner:
    """`SelectiveTestRunner` that runs large parts of a suite on all cores, where the suite allows it.

    A suite with a test that fails in company and passes alone is run in one process from then on.
    """

    def __init__(self, runner: PytestRunner, history: SuiteHistory, *, cores: int | None = None) -> None:
        """Use so many `cores`; None is all that this process may use."""
        self._runner = runner
        self._history = history
        self._cores = min(MOST_CORES, cores or processor_count())
        self._seconds: dict[str, float] = {}

    @property
    def command(self) -> str:
        """The test command as the user would type it."""
        return self._runner.command

    @property
    def is_recorded(self) -> bool:
        return self._runner.is_recorded

    def run(self, tree: Path, tests: Sequence[str] = (), **options: Unpack[LargeRunOptions]) -> TestReport:
        """Run the suite, or only `tests`, in one process."""
        report = self._runner.run(tree, tests, **options)
        self._learn(report)
        return self._repeat_where_ports_were_taken(report, tree, **options)

    def collect(
        self, tree: Path, tests: Sequence[str] = (), *, progress: Progress | None = None
    ) -> TestReport:
        """Collect the suite, or only `tests`, in `tree` without running it."""
        return self._runner.collect(tree, tests, progress=progress)

    def run_parallel(
        self, tree: Path, tests: Sequence[str] = (), **options: Unpack[LargeRunOptions]
    ) -> TestReport:
        """Run the suite, or only `tests`, on all cores if that is worth it."""
        if not self._is_worth_splitting(tree, tests):
            return self.run(tree, tests, **options)
        progress = _CombinedProgress(options.get("progress"))

        def run_shard(index: int) -> TestReport:
            shard_options: LargeRunOptions = {**options, "progress": progress.listener(index)}
            shard = (index, self._cores)
            return self._runner.run(tree, tests, **shard_options, shard=shard, weights=self._seconds)

        with ThreadPoolExecutor(self._cores) as pool:
            report = merge_shards(list(pool.map(run_shard, range(self._cores))))
        self._learn(report)
        report = self._repeat_where_ports_were_taken(report, tree, **options)
        return self._repeat_failures(report, tree, tests, **options)

    def _is_worth_splitting(self, tree: Path, tests: Sequence[str]) -> bool:
        if self._cores < 2 or self._history.read().is_serial:
            return False
        if not self._runner.is_recorded or self._runner.is_configured(XDIST_OPTIONS, tree):
            return False
        counts = Counter(map(test_file_of, find_tests(tree)))
        files = set(tests) & counts.keys() if tests else counts.keys()
        if files and files <= self._seconds.keys():
            return sum(self._seconds[file] for file in files) >= LEAST_SECONDS
        return sum(counts[file] for file in files) >= LEAST_TESTS

    def _repeat_where_ports_were_taken(
        self, report: TestReport, tree: Path, **options: Unpack[LargeRunOptions]
    ) -> TestReport:
        """Run files again in one process whose tests found a port in use: another run may have had it.

        Without network namespaces, runs at the same time share the ports of this machine.
        """
        files = {test_file_of(result.id) for result in report.failures if _has_found_port_taken(result)}
        if not files or report.problem is not None or not self._runner.is_recorded:
            return report
        own = [result.id for result in report.results if test_file_of(result.id) in files]
        others = tuple(result for result in report.results if test_file_of(result.id) not in files)
        again = self._runner.run(tree, own, **options)
        merged = merge_reports(report.model_copy(update={"results": others}), again)
        return merged.model_copy(update={"problem": again.problem})

    def _repeat_failures(
        self, report: TestReport, tree: Path, tests: Sequence[str], **options: Unpack[LargeRunOptions]
    ) -> TestReport:
        """Run what failed again in one process; that result counts."""
        reds = [result.id for result in report.failures if result.when != "collect"]
        if not reds or report.problem is not None:
            return report
        again = self._runner.run(tree, reds if len(reds) <= MOST_REPEATED else tests, **options)
        if any(result.green for result in again.results if result.id in frozenset(reds)):
            self._history.write(self._history.read().model_copy(update={"is_serial": True}))
        return merge_reports(report, again).model_copy(update={"problem": again.problem})

    def _learn(self, report: TestReport) -> None:
        """Remember the seconds of each file, to spread files evenly over the cores."""
        seconds: dict[str, float] = defaultdict(float)
        for result in report.results:
            seconds[test_file_of(result.id)] += result.seconds
        self._seconds |= seconds


def _has_found_port_taken(result: TestResult) -> bool:
    error = result.failure.os_error if result.failure else None
    return error is not None and error.name == "EADDRINUSE"


def processor_count() -> int:
    """Return the number of usable processors."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def merge_shards(reports: Sequence[TestReport]) -> TestReport:
    """Return one report of processes that ran different tests of one tree at the same time."""
    results: dict[str, TestResult] = {}
    for report in reports:
        results |= {result.id: result for result in report.results}
    problems = [report.problem for report in reports if report.problem is not None]
    serious = [problem for problem in problems if problem.kind != "no_tests"]
    is_empty = len(problems) == len(reports)
    selected = [report.selected for report in reports]
    return reports[0].model_copy(
        update={
            "results": tuple(results.values()),
            "seconds": max(report.seconds for report in reports),
            "selected": None if None in selected else sum(filter(None, selected)),
            "problem": next(iter(serious or (problems if is_empty else ())), None),
            "exit_code": max((report.exit_code or 0 for report in reports), default=None),
            "output": max((report.output for report in reports if report.failures), default="", key=len)
            or reports[0].output,
            "reached": tuple(dict.fromkeys(line for report in reports for line in report.reached)),
        }
    )


class _CombinedProgress:
    """Progress of several processes as one line."""

    def __init__(self, progress: Progress | None) -> None:
        self._lines: dict[int, str] = {}
        self._progress = progress

    def listener(self, index: int) -> Progress | None:
        if self._progress is None:
            return None
        progress = self._progress

        def tell(line: str) -> None:
            self._lines[index] = line
            progress(" | ".join(self._lines[number] for number in sorted(self._lines)))

        return tell
