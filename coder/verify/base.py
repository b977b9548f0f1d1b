"""Runs of tests for one verdict, and the base's results: the suite, or what a comparison needs."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from coder.core.events import TestsEnded, TestsStarted
from coder.core.paths import match_test_ids, test_file_of
from coder.core.phases import Cutoff
from coder.core.ports import Progress, RunListener, RunOptions, SelectiveTestRunner
from coder.core.values import Value
from coder.core.verdict import Counts, RunProblem, TestReport, TestResult, TestRun
from coder.verify.coverage_map import CoverageMap, MapOnTree
from coder.verify.impact import select_reaching
from coder.verify.layout import test_file_predicate
from coder.verify.project import MOST_RED, SuiteHistory
from coder.verify.report import merge_reports
from coder.verify.run import CUT_SHORT, run_nearest_first, with_label
from coder.verify.run_store import NO_STORE, RunStore, content_key
from coder.verify.select import SuiteSelection, find_tests
from coder.verify.trees import ChangeSplit, Side, Trees

UPFRONT_SECONDS = 10.0
"""Time that the whole suite has on the base before a change is judged; a longer one runs on demand."""
BACKGROUND_SECONDS = 60.0
"""Time that it has on the base while a model works, where it can be run on demand as well."""
WAITED_FOR = RunProblem(kind="timeout", text="A change waited to be judged before the suite had ended.")
CAUTION = 10.0
"""Factor by which a suite may be slower than its beginning: slow tests tend to come late."""
LEAST_TESTS_PER_SECOND = 5
"""Speed that hardly any suite falls short of: whether one fits into its time is not left to hope."""
TESTS_PER_SECOND = 50
"""Speed assumed of a suite that was never timed, to decide whether to run it as a whole."""


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
        store: RunStore = NO_STORE,
        tell: RunListener | None = None,
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
        self._store = store
        self._tell = tell or (lambda _event: None)
        self._cut = threading.Event()
        self.changed = split.changed
        """Paths of all changed files."""
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
            told = with_label("collection on the base", self._progress)
            report = self._store.recall(
                (self._content_of("base", place), "collection", *existing),
                lambda: self._runner.collect(place, existing, progress=told),
            )
        self._account(summarize_run("collection on the base", existing, report), started)
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
            self._tell(TestsStarted(label=label, tests=len(tests)))
            told = with_label(label, self._progress)
            options: RunOptions = {
                "timeout_seconds": seconds or self._seconds,
                "expect_loaded": sources,
                "progress": told,
            }

            def run() -> TestReport:
                if label in PARALLEL_RUNS:
                    return self._run_large(place, tests, options)
                return self._runner.run(place, tests, **options)

            report = self._store.recall(
                (self._content_of(side, place), label, *tests),
                run,
                # Red tests of large runs are seen again before they count.
                keeps=lambda report: side != "change" or label in PARALLEL_RUNS or not report.failures,
            )
        self._account(summarize_run(label, tests, report), started)
        if side == "change":
            counts_all = self._counted_files is None or label not in PARALLEL_RUNS
            counted = frozenset(self._counted_files or ())
            self.reached_on_change.update(
                access for access in report.reached if counts_all or access.partition(": ")[0] in counted
            )
        elif side != "sources":
            self.reached_on_base.update(report.reached)
        return report

    def run_plainly(self, side: Side, tests: Sequence[str], *, seconds: float | None) -> int | None:
        """Run tests on one side without the recorder; return the exit code, None where it says nothing."""
        started = time.monotonic()
        with self._split.checkout(side) as place:
            code = self._runner.run_plainly(place, tests, timeout_seconds=seconds or self._seconds)
        if code is not None:
            run = TestRun(
                label=WITHOUT_RECORDER if side == "change" else WITHOUT_RECORDER_ON_BASE,
                command=self._runner.command,
                tests=tuple(tests),
                counts=Counts(partial=True),
                exit_code=code,
                seconds=time.monotonic() - started,
            )
            self._account(run, started)
        return code

    def _account(self, run: TestRun, started: float) -> None:
        """Take a run that has ended into the account."""
        stage = STAGE_OF_RUN.get(run.label, "base")
        self.made.append(run)
        if run.label not in TIMED_TOGETHER:
            self.stages[stage] += time.monotonic() - started
        self._tell(TestsEnded(stage=stage, run=run))

    def _content_of(self, side: Side, place: Path) -> str:
        """Return what identifies the content of one side, which a change with the same tests may share."""
        tests = (*self._split.tests, *self._split.inline_tests)
        paths = () if side == "base" else tests if side == "tests" else self.changed
        return content_key(place, (*paths, *self._extensions))

    def nearest_first(self, tests: Sequence[str], part: SuiteSelection, *, seconds: float) -> TestReport:
        """Run the tests that reach the change on it, nearest first, as far as the time goes."""
        return run_nearest_first(
            lambda chunk, left: self.on_change("impacted tests", chunk, seconds=left), part, tests, seconds
        )

    def _run_large(self, place: Path, tests: Sequence[str], options: RunOptions) -> TestReport:
        """Run tests on all cores until the user cuts them short."""
        is_offered = self._cutoff is not None and not self._cut.is_set()
        with self._cutoff.offer(self._cut) if self._cutoff and is_offered else nullcontext():
            report = self._runner.run_parallel(place, tests, **options, cut=self._cut)
        is_partial = report.problem is not None and report.problem.kind == "timeout"
        self.is_cut |= is_partial and self._cut.is_set()
        return report


class BaseTests:
    """The base's own tests; what was collected and run is remembered for later changes."""

    def __init__(
        self, known: Callable[[Sequence[str]], Mapping[str, Sequence[str]]] = lambda _files: {}
    ) -> None:
        """`known` returns the tests of those files that need not be collected."""
        self._known_in = known
        self._files: set[str] = set()
        self._whole: TestReport | None = None
        self._collected = TestReport(command="")
        self._known = TestReport(command="")

    def complete(self, before: TestReport, after: TestReport, tests: Sequence[str], runs: Runs) -> TestReport:
        """Return `before` with the results that a comparison with `after` needs.

        `after` is a run of these tests or test files (none: the suite) on the change. Needed are the tests of
        the base among them that did not pass in it, or that it lacks. Where it was cut off, nothing is asked
        about files that it did not reach.
        """
        files = tuple(dict.fromkeys(map(test_file_of, tests)))
        if after.problem is not None and after.problem.kind != "no_tests":
            listed = self._collect_reached(files, after, runs)
        else:
            listed = self._collect(files, runs)
        before = merge_reports(before, listed)
        is_needed = match_test_ids(tests) if tests else lambda _test: True
        needed = [test for test in tests_to_run(after, listed.collected) if is_needed(test)]
        known = {result.id: result for result in self._known.results}
        again = TestReport(
            command=before.command, results=tuple(known[test] for test in needed if test in known)
        )
        if missing := [test for test in needed if test not in known]:
            ran = runs.on_base("base", missing)
            self.learn(ran)
            again = merge_reports(again, ran)
        return merge_reports(before, again)

    def _collect_reached(self, files: Sequence[str], after: TestReport, runs: Runs) -> TestReport:
        """Return ids of the base's tests in the files that a run on the change, which was cut off, reached.

        A file that the change leaves as it is has the same tests on the base, as far as anybody looks then.
        """
        reached = dict.fromkeys(test_file_of(result.id) for result in after.results)
        reached = dict.fromkeys(path for path in reached if not files or path in files)
        changed = [path for path in reached if path in runs.changed]
        same = {path for path in reached if path not in runs.changed}
        listed = self._collect(changed, runs) if changed else TestReport(command=after.command)
        ids = [result.id for result in after.results if test_file_of(result.id) in same]
        return listed.model_copy(update={"collected": (*listed.collected, *ids)})

    @property
    def results(self) -> tuple[TestResult, ...]:
        """The results of the tests that were run."""
        return self._known.results

    def learn(self, report: TestReport) -> None:
        """Remember the results of a run on the base, also of one that did not end."""
        if report.problem is None or report.problem.kind == "timeout":
            self._known = merge_reports(self._known, report.model_copy(update={"problem": None}))

    def _collect(self, files: Sequence[str], runs: Runs) -> TestReport:
        """Return the ids of the base's tests in these files, of which only new ones are collected."""
        if not files or self._whole is not None:
            self._whole = self._whole or runs.collect_on_base(())
            return self._whole if not files else in_files(self._whole, files)
        if new := [path for path in files if path not in self._files]:
            known = self._known_in(new)
            tests = tuple(test for tests in known.values() for test in tests)
            self._collected = merge_reports(self._collected, TestReport(command="", collected=tests))
            if others := [path for path in new if path not in known]:
                self._collected = merge_reports(self._collected, runs.collect_on_base(others))
            self._files |= {*new}
        return in_files(self._collected, files)


def in_files(report: TestReport, files: Collection[str]) -> TestReport:
    """Return the part of a report that is about these test files."""
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
    is_complete = after.problem is None or after.problem.kind == "no_tests"
    if not is_complete:  # whether one that is skipped ran before would not make the verdict a better one
        ran = {test: "passed" if outcome == "skipped" else outcome for test, outcome in ran.items()}
    absent = {
        test
        for test in collected
        if test not in ran and (is_complete or (uncollected and test.startswith(uncollected)))
    }
    changed_functions = {test.partition("[")[0] for test in absent if "[" in test}
    return [
        test
        for test in collected
        if test in absent
        or ran.get(test, "passed") != "passed"
        or ("[" in test and test.partition("[")[0] in changed_functions)
    ]


NO_HISTORY = SuiteHistory(None, "")


@dataclass(frozen=True, kw_only=True)
class JudgedScope:
    """The tests that a change is judged by."""

    before: TestReport
    """Their results on the base; with `base`, those that are known already."""
    part: SuiteSelection | None = None
    """Test files that stand for the suite; None is the whole."""
    fallback: SuiteSelection | None = None
    """Those that stand for it if it takes too long."""
    base: BaseTests | None = None


LEAST_SCOPE, SCOPE_TIMES = 15.0, 3.0
"""Seconds of the tests that may reach a change where nothing but the sources tells which they are, and how
many times as long as the targets took: nobody waits for minutes to learn that most of them do not reach it.
"""


class SuiteLimits(Value):
    """Limits on how much of the suite is run for a verdict."""

    whole_seconds: float | None = None
    """Time limit of the suite on the base, beyond which impacted tests stand for it.

    None: `suite_seconds`, and the verdict is PASSING at most beyond it.
    """
    only_impacted: bool = False
    """The suite is not even tried."""
    impacted_seconds: float = 120.0
    """Time limit of the tests that reach a change."""
    waits: bool = False
    """They get all of it also where no coverage map names them."""
    base_on_demand: bool = False
    """Tests can be run singly, so those of the base are run only where the change does not pass."""

    def seconds_for(self, part: SuiteSelection, targets: TestReport | None = None) -> float:
        """Return the seconds that the tests of a selection get, from those that the targets took."""
        if self.waits or (part.by_map and (part.seconds or 0.0) <= self.impacted_seconds):
            return self.impacted_seconds
        least = max(LEAST_SCOPE, SCOPE_TIMES * (targets.seconds if targets else 0.0))
        return min(self.impacted_seconds, least)


class BaseSuite:
    """The suite on the untouched base, measured at most once, and how much of it a change is judged by."""

    def __init__(
        self,
        trees: Trees,
        runner: SelectiveTestRunner,
        limits: SuiteLimits,
        history: SuiteHistory,
        *,
        store: RunStore = NO_STORE,
        coverage: Callable[[], CoverageMap] = CoverageMap,
    ) -> None:
        """Prepare to measure.

        `history` tells how long the suite took before, `store` what is known of it; `coverage` loads the
        coverage map.
        """
        self._trees = trees
        self._runner = runner
        self._suite = limits
        self._history = history
        self._store = store
        self._load_coverage = coverage
        self._lock = threading.Lock()
        self._cut = threading.Event()
        self._began: float | None = None
        """Moment at which a measurement of limited time began."""
        self.reset()

    def reset(self) -> None:
        """Forget all results."""
        self.report: TestReport | None = None
        """The suite as a whole, or as far as its time went; None before it was measured."""
        self._is_whole = False
        """True if it ran without a reduced time limit."""
        self._tests = BaseTests(self._known_tests)
        self._impacted_base: dict[tuple[str, ...], TestReport] = {}

    @property
    def known_results(self) -> tuple[TestResult, ...]:
        """All results on the base so far; a run of the suite that was cut off counts as far as it got."""
        suite = self.report.results if self.report else ()
        return tuple({result.id: result for result in (*suite, *self._tests.results)}.values())

    def learn_results(self, report: TestReport) -> None:
        """Remember the results of single tests on the base."""
        self._tests.learn(report)

    def measure(
        self, progress: Progress | None = None, *, whole: bool = False, brief: bool = False
    ) -> TestReport:
        """Return the report of the suite on the untouched base, measured once.

        Unless `whole`, a long one is cut off or not tried; if `brief`, also one that takes a minute.
        """
        limits = [self._suite.whole_seconds]
        if self._suite.base_on_demand:
            limits.append(UPFRONT_SECONDS if brief else BACKGROUND_SECONDS)
        seconds = min((limit for limit in limits if limit is not None), default=None)
        report = self._measure(progress, None if whole else seconds)
        if not whole or report.problem is None or report.problem.kind != "timeout" or self._is_whole:
            return report
        return self._measure(progress, None, anew=True)

    def _measure(self, progress: Progress | None, seconds: float | None, *, anew: bool = False) -> TestReport:
        with self._lock:
            if self.report is None or (anew and not self._is_whole):
                self._is_whole = seconds is None
                self._cut.clear()
                self._began = None if seconds is None else time.monotonic()
                with self._trees.checkout(self._trees.base, ()) as tree:
                    if seconds is not None and (reason := self._reason_for_part(tree, seconds)):
                        self.report = TestReport(
                            command=self._runner.command, problem=RunProblem(kind="timeout", text=reason)
                        )
                    else:
                        told = with_label("baseline", progress)
                        self.report = self._store.recall(
                            (content_key(tree), "suite"),
                            lambda: self._runner.run_parallel(
                                tree, timeout_seconds=seconds, progress=told, is_base=True, cut=self._cut
                            ),
                        )
                        if self.report.problem == CUT_SHORT:
                            self.report = self.report.model_copy(update={"problem": WAITED_FOR})
                        self.learn_duration(self.report)
                self._began = None
            return self.report

    @contextmanager
    def _limit_background_run(self) -> Iterator[None]:
        """Give a measurement in the background no more time than one that a change waits for."""
        if self._began is None or self.report is not None:
            yield
            return
        left = self._began + UPFRONT_SECONDS - time.monotonic()
        timer = threading.Timer(max(0.0, left), self._cut.set)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def learn_duration(self, report: TestReport) -> None:
        """Remember how long a whole suite took, and what failed."""
        if report.problem is None:
            red = tuple(result.id for result in report.project_failures[:MOST_RED])
            update = {"seconds": report.seconds, "red": red}
            self._history.write(self._history.read().model_copy(update=update))

    def _reason_for_part(self, tree: Path, seconds: float, *, speed: float = TESTS_PER_SECOND) -> str:
        """Return why the whole suite is not tried, as far as known before it runs; empty if it is.

        `speed` is assumed of one that was never timed, in tests per second.
        """
        if self._suite.only_impacted:
            return "Only the impacted tests are run, as was asked."
        if (known := self._history.read().seconds) is not None:
            text = f"The suite took {known:.0f} s before, longer than {seconds:g} s."
            return text if known > seconds else ""
        tests = len(find_tests(tree))
        if (cut := self.report) is not None and cut.results:
            speed = len(cut.results) / cut.seconds / CAUTION
        text = f"About {tests} tests may take longer than {seconds:g} s, so the suite is not run as a whole."
        return text if tests > seconds * speed else ""

    def _is_quick(self, old: Path, seconds: float, part: SuiteSelection | None) -> bool:
        """Tell whether the suite is run whole, in at most so many seconds, though a part can stand for it."""
        if part is not None and part.by_map:
            return False
        most = seconds if part is None else min(seconds, self._suite.impacted_seconds)
        return not self._reason_for_part(old, most, speed=LEAST_TESTS_PER_SECOND)

    def choose_scope(self, tree: str, named: Sequence[str], progress: Progress | None) -> JudgedScope:
        """Return the tests that a change is judged by, and the base's results for comparison.

        `tree` is the change, `named` are tests for it.
        """
        changed = self._trees.changed_paths(tree)
        with self._trees.read(tree) as new:
            is_test = test_file_predicate(new, self._runner.command)
        is_lazy = self._suite.base_on_demand and bool(named or any(map(is_test, changed)))
        if is_lazy and self.report is None:
            with self._limit_background_run():
                whole = self._measure(progress, UPFRONT_SECONDS)
        else:
            whole = self.measure(progress)
        if whole.problem is None or whole.problem.kind != "timeout" or whole.indirect:
            return JudgedScope(before=whole)
        seconds = self._suite.whole_seconds
        with self._trees.read(self._trees.base, ()) as old, self._trees.read(tree) as new:
            part = self._select(old, new, tree)
            fits = seconds is None or (is_lazy and self._is_quick(old, seconds, part))
        if is_lazy:
            before = self._run_named(named, changed, progress)
            return JudgedScope(
                before=before,
                part=None if fits else part,
                fallback=part if fits and seconds is not None else None,
                base=self._tests,
            )
        if part is None or (fits and not self._is_whole):
            return JudgedScope(before=self.measure(progress, whole=True))
        return JudgedScope(before=self._run_impacted_base(part, progress), part=part)

    def _select(self, old: Path, new: Path, tree: str) -> SuiteSelection | None:
        """Return the tests that a change from `old` to `new` reaches; None if that may be any."""
        coverage = self._coverage if self._runner.is_recorded else None
        return select_reaching(
            self._trees, tree, old=old, new=new, coverage=coverage, command=self._runner.command
        )

    @cached_property
    def _coverage(self) -> CoverageMap:
        return self._load_coverage()

    def _known_tests(self, files: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Return the tests of those of these files of the base that the coverage map covers."""
        if not self._runner.is_recorded or not self._coverage.tests:
            return {}
        with self._trees.read(self._trees.base, ()) as tree:
            return MapOnTree(tree, self._coverage, command=self._runner.command).known_tests(files)

    def _run_named(
        self, named: Sequence[str], changed: Sequence[str], progress: Progress | None
    ) -> TestReport:
        """Run those named tests of the base that the change leaves as they are: they may be its targets."""
        existing = [test for test in named if test_file_of(test) not in changed]
        if not existing:
            return TestReport(command=self._runner.command)
        with self._trees.checkout(self._trees.base, ()) as old:
            told = with_label("named tests on the base", progress)
            return self._store.recall(
                (content_key(old), "named", *existing),
                lambda: self._runner.run(old, existing, progress=told),
            )

    def _run_impacted_base(self, part: SuiteSelection, progress: Progress | None) -> TestReport:
        with self._trees.checkout(self._trees.base, ()) as old:
            files = tuple(path for path in part.files if (old / path).is_file())
            if files and files not in self._impacted_base:

                def run(chunk: Sequence[str], seconds: float) -> TestReport:
                    told = with_label("impacted tests, base", progress)
                    return self._store.recall(
                        (content_key(old), "impacted tests", *chunk),
                        lambda: self._runner.run_parallel(old, chunk, timeout_seconds=seconds, progress=told),
                    )

                seconds = self._suite.seconds_for(part)
                self._impacted_base[files] = run_nearest_first(run, part, files, seconds)
        return self._impacted_base.get(files, TestReport(command=self._runner.command))


LEAST_SECONDS, TIMES = 60.0, 5.0
"""What a run may take in any case, and how many times as long as the suite took on the base."""
PARALLEL_RUNS = frozenset({"impacted tests", "suite", "old tests"})
"""Labels of runs that no target's red or green rests on."""
LONG_SECONDS = 5.0
STEADINESS = ("flakiness check", "flakiness check, again")
"""Labels of further runs on the change that show whether targets always end alike."""
STEADY_ON_BASE = "flakiness check, on the base"
"""Label of a third run without the change, at the same time as those on it."""
WITHOUT_RECORDER, WITHOUT_RECORDER_ON_BASE = "without the recorder", "without the recorder, on the base"
TIMED_TOGETHER = (*STEADINESS, STEADY_ON_BASE, WITHOUT_RECORDER, WITHOUT_RECORDER_ON_BASE)
"""Labels of runs that are made at the same time: their stage takes the time of all."""
STAGE_OF_RUN = {
    **dict.fromkeys(TIMED_TOGETHER, "targets"),
    "targets": "targets",
    "targets on the base": "targets",
    "targets on the base, again": "targets",
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
        stored=report.stored,
    )


WHOLE = SuiteLimits()
