"""Runs of tests for one verdict, how far they go, and the base's results."""

import threading
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

from coder.core.events import TestsEnded, TestsStarted
from coder.core.paths import match_test_ids, test_file_of, test_function_of
from coder.core.ports import Progress, RunListener, RunOptions, SelectiveTestRunner
from coder.core.values import Cutoff, Value
from coder.core.verdict import Counts, LineCoverage, LinesRun, RunProblem, TestReport, TestResult, TestRun
from coder.verify.change import ChangeSplit, Side, Trees
from coder.verify.results import (
    NEVER_ENDING,
    has_found_port_taken,
    lacks_environment,
    merge_lines,
    merge_reports,
)
from coder.verify.run import RunStore, SuiteHistory, content_key, processor_count, with_label
from coder.verify.select import SuiteSelection, find_tests

BASELINE_SECONDS = 10.0
"""Time that the suite has on the base before any change; what a verdict needs of it beyond runs on demand."""
TESTS_PER_SECOND = 50
"""Speed assumed of a suite that was never timed, to decide whether to run it as a whole."""


class RunKind(NamedTuple):
    """Purpose of a run, which decides how it is made and where its time counts."""

    label: str
    stage: str = "base"
    is_large: bool = False
    """Takes all cores until the user cuts it short: no target's red or green rests on it."""
    watches_lines: bool = False
    """Notes which lines of the change run."""
    observes: bool = False
    """Observes the functions of the tests: nothing but the targets is wanted, so it takes little time."""
    is_beside: bool = False
    """Made beside another, so that its stage takes the time of that one."""

    @property
    def on_base(self) -> "RunKind":
        return RunKind(f"{self.label}, on the base", is_large=self.is_large)


TARGETS = RunKind("targets", "targets", watches_lines=True)
TARGETS_ON_BASE = RunKind("targets on the base", "targets", is_beside=True)
TARGETS_AGAIN = RunKind("targets, again", "targets", observes=True)
TARGETS_ON_BASE_AGAIN = RunKind("targets on the base, again", "targets", observes=True, is_beside=True)
WITHOUT_RECORDER = RunKind("without the recorder", "targets")
WITHOUT_RECORDER_ON_BASE = RunKind("without the recorder, on the base", "targets", is_beside=True)
OLD_ON_CHANGE = RunKind("edited tests as they were", "old tests")
OLD_ON_BASE = RunKind("edited tests as they were, on the base", "targets", is_beside=True)
REACHING = RunKind("tests that use the changed code", "impacted", is_large=True, watches_lines=True)
SUITE = RunKind("suite", "suite", is_large=True, watches_lines=True)
AS_BEFORE = RunKind("as tests ran before the change")
CONFIRMATION = RunKind("again, on the change")
CONFIRMATION_ON_BASE = RunKind("again, on the base")
WITH_HELPERS = RunKind("again, with the change's own helpers")
WITH_HELPERS_ALONE = RunKind("with the change's helpers alone", "impacted", is_large=True)
COMPARISON = RunKind("base")
COLLECTION = RunKind("collection on the base")


class SideRun(NamedTuple):
    kind: RunKind
    side: Side
    tests: Sequence[str]
    seconds: float | None = None


COLLECTION_SECONDS = 60.0
"""Longest time of a collection of tests."""
LEAST_WAIT, WAIT_TIMES = 20.0, 10.0
"""How long the slower of two sides may take: so many seconds, or so many times as long as the other."""


PASSED, FAILED = 0, 1
"""Exit codes of pytest that speak of tests."""


class Runs:
    """Runs tests on one change and on its base, and keeps account of it."""

    def __init__(
        self,
        *,
        split: ChangeSplit,
        runner: SelectiveTestRunner,
        seconds: float | None,
        progress: Progress | None,
        extensions: Sequence[str] = (),
        cutoff: Cutoff | None = None,
        store: RunStore,
        history: SuiteHistory,
        tell: RunListener | None = None,
    ) -> None:
        """Judge a change; a run has so many seconds where nothing else is said.

        `cutoff` lets the user cut large runs short: the first one, and with it
        all that follow.

        Where a changed source or one of the `extensions` is loaded from elsewhere, a run says nothing.
        """
        self._split = split
        self.runner = runner
        self._extensions = extensions
        self._progress = progress
        self._seconds = seconds
        self._cutoff = cutoff
        self._store = store
        self.tell = tell or (lambda _event: None)
        self._cut = threading.Event()
        self._history = history
        self._shares_ports = history.read().shares_ports
        self._running = 0
        self._turns = threading.Condition()
        self.changed = split.changed
        """Paths of all changed files."""
        self.is_cut = False
        """True if the user cut a run short."""
        self.made: list[TestRun] = []
        self.stages: dict[str, float] = defaultdict(float)
        """Wall-clock seconds by stage."""
        self.reached_on_base: set[str] = set()
        self.reached_on_change: set[str] = set()
        self._ran: set[str] = set()
        """Ids of the tests that ran on the change."""
        self._lines: list[LinesRun | None] = []

    def collect_on_base(self, files: Sequence[str], seconds: float) -> TestReport:
        """Collect those test files that the base has; with none given, all of its tests."""
        started = time.monotonic()
        with self._split.checkout("base") as place:
            existing = [path for path in files if (place / path).is_file()]
            if files and not existing:
                return TestReport(command=self.runner.command)
            told = with_label(COLLECTION.label, self._progress)
            report = self._store.recall(
                (self._content_of("base", place), "collection", *existing),
                lambda: self.runner.collect(
                    place, existing, timeout_seconds=min(seconds, COLLECTION_SECONDS), progress=told
                ),
            )
        self._account(COLLECTION, summarize_run(COLLECTION.label, existing, report), started)
        return report.model_copy(update={"problem": None}) if report.is_complete else report

    def run_both(self, first: "SideRun", second: "SideRun") -> tuple[TestReport, TestReport]:
        """Run tests on two sides at the same time.

        Once one has ended, the other is cut off after ten times as long, at least 20 s: it hangs. Once a test
        found its port taken, they run one after the other.
        """
        runs = (first, second)
        if self._shares_ports or processor_count() < 2:
            return self.run(*first), self.run(*second)
        cuts = (threading.Event(), threading.Event())
        with ThreadPoolExecutor(2) as pool:
            futures = [pool.submit(self.run, *run, cut=cut) for run, cut in zip(runs, cuts, strict=True)]
            done, _ = wait(futures, return_when=FIRST_COMPLETED)
            ended = next(iter(done)).result()
            is_taken = any(map(has_found_port_taken, ended.failures))  # both have to run again
            limit = 0.0 if is_taken else max(LEAST_WAIT, WAIT_TIMES * ended.seconds)
            _, pending = wait(futures, timeout=limit)
            for future in pending:
                cuts[futures.index(future)].set()
            first_report, second_report = (future.result() for future in futures)
        if any(map(has_found_port_taken, (*first_report.failures, *second_report.failures))):
            self._shares_ports = True
            reports = self.run_both(first, second)
            if not any(has_found_port_taken(red) for report in reports for red in report.failures):
                self._history.write(self._history.read().model_copy(update={"shares_ports": True}))
            return reports
        return first_report, second_report

    def run(
        self,
        kind: RunKind,
        side: Side,
        tests: Sequence[str],
        seconds: float | None = None,
        *,
        cut: threading.Event | None = None,
    ) -> TestReport:
        """Run tests, or the whole suite, on one side of the change; it ends after `seconds`, or once cut."""
        started = time.monotonic()
        with self._take_turn(), self._split.checkout(side) as place:
            expected = (*self._split.sources, *self._extensions)
            sources = [path for path in expected if (place / path).is_file()]
            self.tell(TestsStarted(label=kind.label, tests=len(tests)))
            told = with_label(kind.label, self._progress)
            options: RunOptions = {
                "timeout_seconds": seconds or self._seconds,
                "expect_loaded": sources,
                "lines": self._split.changed_lines if kind.watches_lines else {},
                "progress": told,
                "observe": kind.observes,
                "cut": self._cut if kind.is_large else cut,
            }

            def run() -> TestReport:
                if kind.is_large:
                    return self._run_large(place, tests, options)
                return self.runner.run(place, tests, **options)

            report = self._store.recall(
                (self._content_of(side, place), kind.label, *tests),
                run,
                # Red tests of large runs are seen again before they count.
                keeps=lambda report: (
                    (side != "change" or kind.is_large or not report.failures)
                    and not any(map(lacks_environment, report.failures))
                ),
            )
        if cut is not None and cut.is_set() and report.problem:
            report = report.model_copy(update={"problem": _hanging_problem(side, report.seconds)})
        self._account(kind, summarize_run(kind.label, tests, report), started)
        if kind.watches_lines:
            self._ran.update(result.id for result in report.results if result.when != "collect")
            self._lines.append(report.lines)
        if kind.is_large:
            return report  # the base does not run the same tests
        if side in ("change", "harness"):
            self.reached_on_change.update(report.reached)
        elif side != "sources":
            self.reached_on_base.update(report.reached)
        return report

    @contextmanager
    def _take_turn(self) -> Iterator[None]:
        """Wait for all other runs to end once tests have found their ports taken."""
        with self._turns:
            self._turns.wait_for(lambda: not (self._shares_ports and self._running))
            self._running += 1
        try:
            yield
        finally:
            with self._turns:
                self._running -= 1
                self._turns.notify_all()

    def count_lines(self) -> LineCoverage | None:
        """Return how many lines of the change the tests ran; None if unknown."""
        lines = merge_lines(self._lines)
        if not lines:
            return None
        watched, left = (sum(len(numbers[index]) for numbers in lines.values()) for index in (0, 1))
        missing = tuple(place for path, (_, left) in lines.items() for place in join_lines(path, left))
        executed = watched - left
        return LineCoverage(lines=watched, executed=executed, missing=missing, tests=len(self._ran))

    def run_plainly(
        self, side: Side, tests: Sequence[str], *, seconds: float | None, cut: threading.Event
    ) -> int | None:
        """Run tests on one side without the recorder; return the exit code, None where it says nothing."""
        started = time.monotonic()
        with self._split.checkout(side) as place:
            code = self.runner.run_plainly(place, tests, timeout_seconds=seconds or self._seconds, cut=cut)
        if code is not None:
            kind = WITHOUT_RECORDER if side == "change" else WITHOUT_RECORDER_ON_BASE
            run = TestRun(
                label=kind.label,
                command=self.runner.command,
                tests=tuple(tests),
                counts=Counts(partial=True),
                exit_code=code,
                seconds=time.monotonic() - started,
            )
            self._account(kind, run, started)
        return code

    def find_contradiction(self, tests: Sequence[str], *, seconds: float | None, cut: threading.Event) -> str:
        """Run tests on both sides as the project does, without the recorder, until `cut` is set.

        Return, as a sentence, how their exit codes contradict what was recorded; empty where they do not.
        """
        with ThreadPoolExecutor(1 if self._shares_ports else 2) as pool:
            base, change = pool.map(
                lambda side: self.run_plainly(side, tests, seconds=seconds, cut=cut), ("tests", "change")
            )
        if base == PASSED:
            return "The tests fail without the change only as long as they are recorded."
        return "The tests pass on the change only as long as they are recorded." if change == FAILED else ""

    def _account(self, kind: RunKind, run: TestRun, started: float) -> None:
        self.made.append(run)
        if not kind.is_beside:
            self.stages[kind.stage] += time.monotonic() - started
        self.tell(TestsEnded(stage=kind.stage, run=run))

    def _content_of(self, side: Side, place: Path) -> str:
        """Return what identifies the content of one side, which a change with the same tests may share."""
        tests = (*self._split.tests, *self._split.inline_tests)
        paths = () if side == "base" else tests if side == "tests" else self.changed
        return content_key(place, (*paths, *self._extensions))

    def _run_large(self, place: Path, tests: Sequence[str], options: RunOptions) -> TestReport:
        """Run tests on all cores until the user cuts them short."""
        is_offered = self._cutoff is not None and not self._cut.is_set()
        with self._cutoff.offer(self._cut) if self._cutoff and is_offered else nullcontext():
            report = self.runner.run_parallel(place, tests, **options)
        if report.is_cut and self._cut.is_set():
            self.is_cut = True
            # What ran when the user cut it short had no time to end: that says nothing.
            ended = [
                result
                for result in report.results
                if result.failure is None or result.failure.type != NEVER_ENDING
            ]
            return report.model_copy(update={"results": tuple(ended)})
        return report


class SuiteLimits(Value):
    """Limits on how much of the suite is run for a verdict."""

    suite_seconds: float = 900.0
    """Longest time of any run."""
    waits: bool = False
    """The tests that reach a change get all of it."""
    reaching_seconds: float = 120.0
    """Longest time of these tests otherwise."""
    examination_seconds: float = 60.0


class BaseTests:
    """The base's tests: the suite, measured at most once, and the tests that comparisons have asked for."""

    def __init__(
        self, trees: Trees, runner: SelectiveTestRunner, history: SuiteHistory, *, store: RunStore
    ) -> None:
        """Know nothing yet; `history` tells how long the suite took before, `store` what is known of it."""
        self._trees = trees
        self._runner = runner
        self.history = history
        self._store = store
        self._lock = threading.Lock()
        self.report: TestReport | None = None
        """The suite as a whole, or as far as its time went; None before it was measured."""
        self._is_whole = False
        """True if it ran without a reduced time limit."""
        self._files: set[str] = set()
        self._slow_files: set[str] = set()
        self._whole: TestReport | None = None
        self._collected = TestReport(command="")
        self._known = TestReport(command="")

    def renew(self) -> "BaseTests":
        """Return the same tests without results; whoever holds this object keeps those that it has."""
        return BaseTests(self._trees, self._runner, self.history, store=self._store)

    @property
    def suite_seconds(self) -> float | None:
        """Seconds that the whole suite took when it last ran; None if it is not known."""
        return self.history.read().seconds

    @property
    def results(self) -> tuple[TestResult, ...]:
        """All results on the base so far; a run of the suite that was cut off counts as far as it got."""
        suite = self.report.results if self.report else ()
        return tuple({result.id: result for result in (*suite, *self._known.results)}.values())

    def measure(self, progress: Progress | None = None, *, whole: bool = False) -> TestReport:
        """Return the report of the suite on the untouched base, measured once.

        Unless `whole`, a long one is cut off or not tried where tests can be run singly.
        """
        seconds = None if whole or not self._runner.is_recorded else BASELINE_SECONDS
        with self._lock:
            known = self.report
            if known is not None and (seconds is not None or self._is_whole or not known.is_cut):
                return known
            self._is_whole = seconds is None
            with self._trees.checkout(self._trees.base, ()) as tree:
                self.report = self._run_suite(tree, seconds, with_label("baseline", progress))
            return self.report

    def _run_suite(self, tree: Path, seconds: float | None, told: Progress | None) -> TestReport:
        if seconds is not None and (reason := self._reason_for_part(tree, seconds)):
            problem = RunProblem(kind="timeout", text=reason)
            return TestReport(command=self._runner.command, problem=problem)
        report = self._store.recall(
            (content_key(tree), "suite"),
            lambda: self._runner.run_parallel(tree, timeout_seconds=seconds, progress=told, is_base=True),
            keeps=lambda report: not any(map(lacks_environment, report.failures)),
        )
        self.learn_duration(report)
        return report

    def learn_duration(self, report: TestReport) -> None:
        """Remember how long a whole suite took."""
        if report.problem is None:
            self.history.write(self.history.read().model_copy(update={"seconds": report.seconds}))

    def _reason_for_part(self, tree: Path, seconds: float) -> str:
        """Return why the whole suite is not tried, as far as known before it runs; empty if it is."""
        if (known := self.history.read().seconds) is not None:
            text = (
                f"All of them took {known:.0f} s the last time, so only those that a change needs will run."
            )
            return text if known > seconds else ""
        tests = len(find_tests(tree))
        text = f"How long {tests:,} tests take is not known, so only those that a change needs will run."
        return text if tests > seconds * TESTS_PER_SECOND else ""

    def complete(self, before: TestReport, after: TestReport, tests: Sequence[str], runs: Runs) -> TestReport:
        """Return `before` with the results that a comparison with `after` needs.

        `after` is a run of these tests or test files (none: the suite) on the change. Needed are the tests of
        the base among them that did not pass in it, or that it lacks. Where it was cut off, nothing is asked
        about files that it did not reach. A runner that cannot list tests has run the same ones on the base.
        """
        if not runs.runner.is_recorded:
            return before
        files = tuple(dict.fromkeys(map(test_file_of, tests)))
        listed = self.collect(files, runs) if after.is_complete else self._collect_reached(files, after, runs)
        if self._slow_files:  # the change leaves most of them as they are
            ids = tuple(result.id for result in after.results if test_file_of(result.id) in self._slow_files)
            listed = listed.model_copy(update={"collected": (*listed.collected, *ids)})
        before = merge_reports(before, listed)
        is_needed = match_test_ids(tests) if tests else lambda _test: True
        needed = [test for test in tests_to_run(after, listed.collected) if is_needed(test)]
        known = {result.id: result for result in self._known.results}
        again = TestReport(
            command=before.command, results=tuple(known[test] for test in needed if test in known)
        )
        if missing := [test for test in needed if test not in known]:
            ran = runs.run(COMPARISON, "base", missing)
            self.learn(ran)
            again = merge_reports(again, ran)
        return merge_reports(before, again)

    def _collect_reached(self, files: Sequence[str], after: TestReport, runs: Runs) -> TestReport:
        """Return ids of the base's tests in the files that a run on the change, which was cut off, reached.

        A file that the change leaves as it is and that was not collected has the same tests on the base.
        """
        reached = dict.fromkeys(test_file_of(result.id) for result in after.results)
        reached = dict.fromkeys(path for path in reached if not files or path in files)
        changed = [path for path in reached if path in runs.changed or path in self._files]
        same = {path for path in reached if path not in changed}
        listed = self.collect(changed, runs) if changed else TestReport(command=after.command)
        ids = [result.id for result in after.results if test_file_of(result.id) in same]
        return listed.model_copy(update={"collected": (*listed.collected, *ids)})

    def learn(self, report: TestReport) -> None:
        """Remember the results of a run on the base, also of one that did not end."""
        if report.problem is None or report.is_cut:
            self._known = merge_reports(self._known, report.model_copy(update={"problem": None}))

    def collect(self, files: Sequence[str], runs: Runs, *, seconds: float = COLLECTION_SECONDS) -> TestReport:
        """Return the ids of the base's tests in these files, of which only new ones are collected.

        Files whose collection took too long have none; they are not collected again.
        """
        if not files or self._whole is not None:
            self._whole = self._whole or runs.collect_on_base((), seconds)
            return self._whole if not files else in_files(self._whole, files)
        if new := [path for path in files if path not in {*self._files, *self._slow_files}]:
            report = runs.collect_on_base(new, seconds)
            if report.is_cut:
                ids = (*report.collected, *(result.id for result in report.results))
                listed = frozenset(map(test_file_of, ids))
                self._slow_files |= {*new} - listed
                report = in_files(report.model_copy(update={"problem": None}), listed)
            self._collected = merge_reports(self._collected, report)
            self._files |= {*new} - self._slow_files
        return in_files(self._collected, files)


def join_lines(path: str, lines: Sequence[int]) -> Iterator[str]:
    """Yield `path:line`, or `path:first-last` for lines that follow each other."""
    first = None
    for number, line in enumerate(lines):
        first = line if first is None else first
        if number + 1 == len(lines) or lines[number + 1] != line + 1:
            yield f"{path}:{first}" if first == line else f"{path}:{first}-{line}"
            first = None


def _hanging_problem(side: Side, seconds: float) -> RunProblem:
    """Return the problem of tests that were cut long after the other side's had ended."""
    this, other = ("without", "with") if side in ("base", "tests") else ("with", "without")
    text = (
        f"The tests {this} the change had not ended after {seconds:.0f} s, long after those {other} it: "
        "they hang, or the machine is busy. Look at them, or judge again."
    )
    return RunProblem(kind="timeout", text=text)


def in_files(report: TestReport, files: Collection[str]) -> TestReport:
    return report.model_copy(
        update={
            "results": tuple(result for result in report.results if test_file_of(result.id) in files),
            "collected": tuple(test for test in report.collected if test_file_of(test) in files),
        }
    )


def tests_to_run(after: TestReport, collected: Collection[str]) -> list[str]:
    """Return the collected tests of the base whose results matter: they do not pass in `after`.

    Of a parametrized test that lost cases, all cases are needed, to tell whether they were renamed. A run
    that was cut off says nothing about tests that it did not reach.
    """
    ran = {result.id: result.outcome for result in after.results}
    uncollected = tuple(f"{result.id}::" for result in after.results if result.when == "collect")
    if not after.is_complete:  # whether a skipped one ran before would not better the verdict
        ran = {test: "passed" if outcome == "skipped" else outcome for test, outcome in ran.items()}
    absent = {
        test
        for test in collected
        if test not in ran and (after.is_complete or (uncollected and test.startswith(uncollected)))
    }
    changed_functions = {function for test in absent if (function := test_function_of(test)) != test}
    return [
        test
        for test in collected
        if test in absent
        or ran.get(test, "passed") != "passed"
        or ((function := test_function_of(test)) != test and function in changed_functions)
    ]


LEAST_SECONDS, TIMES = 60.0, 5.0
"""What a run may take in any case, and how many times as long as the suite took on the base."""


def patience(before: TestReport | None) -> float | None:
    """Return the seconds after which a run counts as hanging, from the suite on the base; None if unknown."""
    if before is None or before.problem is not None:
        return None
    return max(LEAST_SECONDS, TIMES * before.seconds)


def summarize_run(label: str, tests: Sequence[str], report: TestReport) -> TestRun:
    return TestRun(
        label=label,
        command=report.command,
        tests=tuple(tests),
        counts=report.outcome_counts,
        exit_code=report.exit_code,
        seconds=report.seconds,
        problem=report.problem.text if report.problem else "",
        stored=report.stored,
    )


NO_LIMITS = SuiteLimits()


LEAST_BUDGET, TARGET_TIMES = 20.0, 3.0
"""Seconds of the tests that reach a change: so many times as long as its targets took, within bounds."""
LONG_START = 2.0
"""Seconds of a start of the test runner from which on chunks are few."""
LEAST_FILE = 1.0
"""Seconds that a test file takes at least, its collection included."""


class Scope(Value):
    """Tests to run on a change, and for how long."""

    selection: SuiteSelection | None = None
    """Test files or tests, nearest first; None where the runner cannot select any."""
    whole: bool = False
    """Whether the suite runs without a selection, in its own order; if cut, the selection follows."""
    seconds: float
    """Time limit of all these tests together."""
    at_once: bool = False
    """Whether the time is known to suffice for all of them, so that one run has them all."""


def choose_scope(
    selection: SuiteSelection | None,
    *,
    limits: SuiteLimits,
    target_seconds: float,
    suite_seconds: float | None,
    selects_all: bool = False,
) -> Scope:
    """Return the whole suite where it fits into the budget, else the tests of a selection.

    `selects_all` tells that the selection has all test files: those which ran already need not run again.
    """
    budget = max(LEAST_BUDGET, min(TARGET_TIMES * target_seconds, limits.reaching_seconds))
    seconds = limits.suite_seconds if limits.waits else min(budget, limits.suite_seconds)
    if suite_seconds is not None and suite_seconds <= seconds:
        return Scope(selection=selection, whole=not selects_all, seconds=seconds, at_once=True)
    return Scope(selection=selection, whole=selection is None, seconds=seconds)


def next_chunk_size(size: int, report: TestReport, *, left: float, file_seconds: float = LEAST_FILE) -> int:
    """Return how many test files to run after a report on `size`: twice as many where a start is cheap.

    Where starts of the runner take long, the next chunk has as many as are likely to fit into the `left`
    seconds, so that there are two chunks at most. A file takes `file_seconds` at least.
    """
    running = sum(result.seconds for result in report.results)
    start = report.seconds - running
    if start < LONG_START or not size:
        return max(2 * size, 1)
    return max(size, int((left - start) / max(running / size, file_seconds)))
