"""Verification of changes in clean worktrees: red on the base, green on the change, nothing broken."""

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from coder.core.events import TestsEnded, TestsStarted
from coder.core.paths import match_test_ids, test_file_of
from coder.core.ports import (
    Progress,
    ReproducedExample,
    RunListener,
    SelectiveTestRunner,
    WorktreeContext,
)
from coder.core.text import suggest_name
from coder.core.values import Cutoff, Environment, Patch
from coder.core.verdict import Counts, IssueTie, ReproductionResult, RunProblem, TestReport, Verdict
from coder.files.regular_files import read_regular_text
from coder.retrieval.issue_examples import claimed_examples, find_runnable_code
from coder.verify.base import (
    BASELINE_SECONDS,
    COMPARISON,
    NO_LIMITS,
    TARGETS_ON_BASE,
    BaseTests,
    Runs,
    SuiteLimits,
    choose_scope,
    patience,
    summarize_run,
)
from coder.verify.build import Builder, BuiltTrees
from coder.verify.change import JudgedChange, Purpose, Trees, tie_tests_to_issue
from coder.verify.examine import ExaminationTools, examine_change
from coder.verify.example import (
    NO_CLAIM,
    ExampleAnswer,
    IssueCode,
    write_example,
)
from coder.verify.judge import Judge
from coder.verify.results import (
    Denied,
    describe_sandbox_failures,
    fails_alike,
    tests_among,
)
from coder.verify.run import NO_HISTORY, NO_STORE, RunStore, SuiteHistory, content_key, with_label
from coder.verify.select import (
    SuiteSelection,
    find_tests,
    order_by_nearness,
    rank_by_nearness,
    select_test_files,
)
from coder.verify.test_files import count_titled_tests, find_changed_tests
from coder.verify.verdict import Account, Facts, decide, findings

ENDLESS_TEST_ADVICE = (
    "A test of code that never ends must end by itself: "
    "run the code in a daemon thread and assert that it is done in time."
)
ORDER_DEPENDENT_HINT = (
    "passes by itself, and failed among the others: look for what tests leave to each other "
    "(a default or a class's own list, a cache, a file), and have one test show it"
)


_TEST_NAME = re.compile(r"(?<![\w:./])test_\w+\b(?!\.py|/)")
PLAIN_TIMES = 10.0
"""How many times as long as with the recorder the targets may take without it."""
LEAST_EXAMINATION = 15.0
"""Seconds of an examination, or as many as the first stage took: comparing behavior took the demo 7 to 9."""
NO_RUN = ("no_runner", "usage", "no_report")
"""Problems of the runner itself, which no test can change."""
MOST_UNASKED = 2000
"""Other runners' suites of more tests than this are not run as a whole unless the user waits."""


class WorktreeVerifier:
    """`Verifier` of one base and one issue."""

    def __init__(
        self,
        *,
        trees: Trees,
        runner: SelectiveTestRunner,
        purpose: Purpose,
        circumstances: tuple[str, ...] = (),
        describe_environment: Callable[[], Environment] = Environment,
        tools: Callable[[threading.Event], ExaminationTools] | None = None,
        examples: IssueCode | None = None,
        find_lost_imports: Callable[
            [Callable[[], AbstractContextManager[Path]], Path, Sequence[str]], Iterable[str]
        ] = lambda *_: (),
        suite: SuiteLimits = NO_LIMITS,
        history: SuiteHistory = NO_HISTORY,
        builder: Builder | None = None,
        cutoff: Cutoff | None = None,
        sandbox_remedies: Mapping[Denied, str] = MappingProxyType({}),
        store: RunStore = NO_STORE,
    ) -> None:
        """Prepare to verify changes of one base; `circumstances` are sentences for the evidence.

        `find_lost_imports` returns the modules that an old tree can import and a new one cannot.
        """
        self._trees = BuiltTrees(trees, builder)
        self._runner = runner
        self._tools = tools
        self._examples = examples
        self._find_lost_imports = find_lost_imports
        self._example: ReproducedExample | str = ""
        """The issue's example as a test, or why there is none; empty before it was tried."""
        self._store = store
        self._base = BaseTests(self._trees, runner, history, store=store)
        self._suite = suite
        self._cutoff = cutoff
        self._sandbox_remedies = sandbox_remedies
        self._judged: dict[str, tuple[JudgedChange, Facts, Runs]] = {}
        """The latest change that a report on it was compared for, with its facts, by the verified tree."""
        self._purpose = purpose
        self._ties: Mapping[str, IssueTie] | None = None
        self._circumstances = circumstances
        self._describe_environment = describe_environment
        self._lock, self._example_lock = threading.Lock(), threading.Lock()

    def baseline(
        self, progress: Progress | None = None, *, whole: bool = False, near: Sequence[str] = ()
    ) -> TestReport:
        report = self._base.measure(progress, whole=whole)
        if not (near and report.is_cut):
            return report
        ran = self.results_on_base(near, progress, seconds=BASELINE_SECONDS)
        return report.model_copy(update={"results": ran.results, "seconds": report.seconds + ran.seconds})

    def results_on_base(
        self,
        tests: Sequence[str],
        progress: Progress | None = None,
        *,
        seconds: float | None = None,
        tell: RunListener | None = None,
    ) -> TestReport:
        """Return all that is known of the base's tests, once those of `tests` that are not known have run.

        Without `tests`, the suite is measured first. The run may take `seconds`; a problem of it is that of
        the report. `tell` hears of it.
        """
        report = TestReport(command=self._runner.command)
        if not tests:
            self.baseline(progress)
        known = {result.id for result in self._base.results}
        if missing := [test for test in tests if not any(map(match_test_ids([test]), known))]:
            with self._trees.checkout(self._trees.base, ()) as tree:
                if existing := [test for test in missing if (tree / test_file_of(test)).exists()]:
                    told = with_label("on the untouched code", progress)
                    report = self._recall(
                        (content_key(tree), COMPARISON.label, *existing),
                        lambda: self._runner.run(tree, existing, timeout_seconds=seconds, progress=told),
                        label="on the untouched code",
                        tests=existing,
                        tell=tell,
                    )
                    self._base.learn(report)
        return report.model_copy(update={"results": self._base.results, "collected": ()})

    def _recall(
        self,
        key: Sequence[str],
        run: Callable[[], TestReport],
        *,
        label: str,
        tests: Sequence[str],
        tell: RunListener | None,
    ) -> TestReport:
        """Return the stored report of a run before any verdict, or make it; `tell` hears of it."""
        if tell is None:
            return self._store.recall(key, run)
        tell(TestsStarted(label=label, tests=len(tests)))
        report = self._store.recall(key, run)
        tell(TestsEnded(stage="reproduction", run=summarize_run(label, tests, report)))
        return report

    def reset_baseline(self, circumstance: str) -> None:
        """Discard the results of the base: the test environment has changed."""
        with self._lock:
            self._store.change_environment(circumstance)
            self._base = self._base.renew()
            self._trees.forget_failures()
            self._ties = None
            self._example = ""
            self._circumstances = (*self._circumstances, circumstance)

    def reproduce(
        self,
        patch: Patch,
        named: Sequence[str],
        progress: Progress | None = None,
        *,
        tell: RunListener | None = None,
        seconds: float | None = None,
    ) -> ReproductionResult:
        if unbuilt := self._trees.prepare(patch.tree, progress):
            return ReproductionResult(rejected=(unbuilt.reason,))
        before = self._base.report or TestReport(command=self._runner.command)
        change = JudgedChange(
            trees=self._trees,
            tree=patch.tree,
            purpose=self._purpose,
            before=before,
            ties=self.issue_ties() if self._purpose.needs_ties else None,
        )
        is_whole = not self._runner.is_recorded and change.split.has_tests
        with change.split.checkout("tests") as tree:
            own = [test for test in change.own_tests if (tree / test_file_of(test)).is_file()]
            if not (own or named or is_whole):
                return ReproductionResult(
                    rejected=("No test was named, and no file that holds tests was added or changed.",)
                )
            sources = tuple(path for path in change.sources if (tree / path).is_file())
            tests = change.first_tests(named)
            report = self._recall(
                (content_key(tree, change.split.tests), TARGETS_ON_BASE.label, *tests),
                lambda: self._runner.run(
                    tree,
                    tests,
                    timeout_seconds=seconds or patience(self._base.report),
                    expect_loaded=sources,
                    progress=with_label("reproduction", progress),
                ),
                label="reproduction",
                tests=tests,
                tell=tell,
            )
        if report.by_exit_code:
            return ReproductionResult(
                rejected=(f"`{report.command}` gives an exit code and no reasons.",), results=report.results
            )
        change.learn_tests(report)
        is_requested = match_test_ids(named)
        candidates = [
            result
            for result in report.results
            if is_requested(result.id)
            or change.changes_test(result.id)
            or (is_whole and not before.has_test(result.id))
        ]
        known_before = [result.id for result in candidates if not change.adds_test(result.id)]
        known = self.results_on_base(known_before, progress, tell=tell).results if known_before else ()
        earlier = {test.id: test for test in known}
        known_tests = {test.id for test in before.results}
        known_files = {test_file_of(test) for test in known_tests}
        missing = [
            f"{name}: there is no such test{f'. {hint.strip()}' if hint else ''}"
            for name in named
            if not any(match_test_ids([name])(result.id) for result in report.results)
            for hint in [suggest_name(name, known_tests if "::" in name else known_files)]
        ]
        problem = None if missing and report.problem and report.problem.kind == "no_tests" else report.problem
        reproducing, rejected = [], [problem.text] if problem else []
        if report.is_cut:
            rejected = [f"{text} {ENDLESS_TEST_ADVICE}" for text in rejected]
        for result in candidates:
            reason, was = change.rejection_reason(result.id, result), earlier.get(result.id)
            is_edited = change.changes_test(result.id) and not is_requested(result.id)
            if is_edited and was is not None and fails_alike(result, was):
                reason = "fails in the same way without the edit, so it says nothing about the issue"
            reason = ORDER_DEPENDENT_HINT if result.green and self._was_red(result.id) else reason
            if not reason:
                reproducing.append(result.id)
            elif result.red or is_requested(result.id) or was is None or not was.green:
                rejected.append(f"{result.id}: {reason}")
        rejected += missing
        if report.problem is not None and report.problem.kind == "wrong_code":
            reproducing = []
        return ReproductionResult(
            tests=tuple(reproducing),
            rejected=tuple(rejected),
            missing=tuple(missing),
            results=report.results,
            obstacle=problem.text if problem and not report.results and self._cannot_run(problem) else "",
        )

    def _cannot_run(self, problem: RunProblem) -> bool:
        """Tell whether the base's suite could not be run either, for a reason of the same kind."""
        base = self._base.report.problem if self._base.report else None
        return base is not None and base.kind == problem.kind and problem.kind in NO_RUN

    def issue_ties(self) -> Mapping[str, IssueTie]:
        before = self._base.report
        if before is None or not self._purpose.needs_ties:
            return {}
        with self._lock:
            if self._ties is None:
                self._ties = self._find_ties(before, self._trees.base)
            return self._ties

    def _ties_of(self, before: TestReport) -> Mapping[str, IssueTie]:
        return self.issue_ties() if before is self._base.report else self._find_ties(before, self._trees.base)

    def _find_ties(self, before: TestReport, content: str) -> Mapping[str, IssueTie]:
        """Return how the red tests of a report on a tree are tied to the issue."""
        paths = () if content == self._trees.base else None
        if not before.failures:
            return {}
        with self._trees.read(content, paths) as tree:
            tests = [result.id for result in before.results]
            is_part = before is not self._base.report or before.problem is not None
            known = [*tests, *find_tests(tree)] if is_part else tests
            ties = tie_tests_to_issue(self._purpose.issue, before.failures, tree, known)
            if not self._purpose.unfinished_issues:
                return ties
            earlier = tie_tests_to_issue(self._purpose.text, before.failures, tree, known)
            return {**dict.fromkeys(earlier, "identifier"), **ties}

    def describe_examples(self) -> tuple[str, ...]:
        if self._examples is None or not find_runnable_code(self._purpose.issue):
            return ()
        with self._trees.checkout(self._trees.base, ()) as tree:
            return self._examples.describe(tree, self._purpose.issue)

    def reproduce_example(self) -> ReproducedExample | str:
        if self._examples is None:
            return "the issue's example is a stranger's text, which is run in a sandbox only"
        with self._example_lock:
            if not any(claimed_examples(self._purpose.issue)):
                self._example = NO_CLAIM
            if not self._example:
                with self._trees.checkout(self._trees.base, ()) as tree:
                    self._example = self._examples.reproduce(tree, self._purpose.issue)
            return self._example

    def write_example(self, tree: Path, call: str, right: str) -> ReproducedExample | str:
        return write_example(tree, call, right)

    def _answer_example(self, change: JudgedChange) -> ExampleAnswer | None:
        """Return what the issue's example gives on a change; None if the base does not show it wrong.

        What words alone say should be is no target: they may leave out when.
        """
        example = self.reproduce_example()
        if self._examples is None or isinstance(example, str) or example.is_wish:
            return None
        with change.split.checkout("change") as tree:
            return ExampleAnswer(example=example, answer=self._examples.answer_again(tree, example))

    def _list_lost_imports(self, change: JudgedChange) -> tuple[str, ...]:
        sources = [path for path in change.sources if path.endswith(".py")]
        if not sources:
            return ()
        split = change.split
        is_safe = self._examples is not None and not self._trees.modules  # sandboxed, and nothing is built
        with split.read("change") if is_safe else split.checkout("change") as new:
            return tuple(self._find_lost_imports(lambda: split.checkout("base"), new, sources))

    def _was_red(self, test: str) -> bool:
        """Tell whether a test was red on the base, run among all others."""
        result = self._base.report.result_for(test) if self._base.report else None
        return result is not None and result.red

    def accept_test_edits(self) -> None:
        self._purpose = self._purpose.model_copy(update={"accepts_test_edits": True})

    def judge(
        self,
        patch: Patch,
        named: Sequence[str],
        progress: Progress | None = None,
        *,
        excluded: Sequence[str] = (),
        tell: RunListener | None = None,
    ) -> Verdict:
        started = time.monotonic()
        is_left_out = match_test_ids(excluded)
        named = [test for test in named if not is_left_out(test)]
        if failed := self._trees.prepare(patch.tree, progress):
            facts = Facts(
                before=TestReport(command=self._runner.command),
                obstacle=failed.reason,
                still_red=failed.results,
            )
            if failed.is_broken:
                facts.obstacle = ""
                facts.findings += findings("build", [failed.reason.rstrip(".")], effect="break")
            facts.account = Account(circumstances=self._all_circumstances(), tree=patch.tree)
            return decide(facts).model_copy(update={"seconds": time.monotonic() - started})
        before = self._known_base(progress)
        knows_base = before is self._base.report  # else tests of the base run where a comparison needs them
        base_seconds = time.monotonic() - started
        change = JudgedChange(
            trees=self._trees,
            tree=patch.tree,
            purpose=self._purpose,
            before=before,
            ties=self._ties_of(before) if self._purpose.needs_ties else None,
            excluded=tuple(excluded),
        )
        runs = Runs(
            split=change.split,
            runner=self._runner,
            extensions=self._trees.modules,
            seconds=patience(before) if knows_base else None,
            progress=progress,
            cutoff=None if before.by_exit_code else self._cutoff,
            store=self._store,
            history=self._base.history,
            tell=tell,
        )
        base_runs = (summarize_run("base", (), before),) if knows_base else ()
        with ThreadPoolExecutor(3) as beside:
            selection = beside.submit(self._select, change, knows_base=knows_base)
            example = beside.submit(self._answer_example, change)
            lost = beside.submit(self._list_lost_imports, change)
            judge = Judge(
                change,
                runs,
                self._base,
                knows_base=knows_base,
                named=named,
                mentioned=[test for test in self._mentioned_tests if not is_left_out(test)],
                choose_scope=lambda target_seconds: choose_scope(
                    selection.result(),
                    limits=self._suite,
                    target_seconds=target_seconds,
                    suite_seconds=self._base.suite_seconds,
                    selects_all=not self._runner.is_recorded,
                ),
                find_ties=self._find_ties if self._purpose.needs_ties else None,
                answer_example=example.result,
                find_lost_imports=lost.result,
                started=started,
            )
            facts = judge.collect_facts()
        if facts.after is not None and facts.reaching is None and not facts.after.stored:
            self._base.learn_duration(facts.after)
        failures = facts.after.failures if facts.after else facts.still_red
        denied = [red.denied for red in facts.still_red if red.denied in self._sandbox_remedies]
        remedies = [self._sandbox_remedies[resource] for resource in denied if resource]
        if facts.obstacle and remedies:
            facts.obstacle = f"{facts.obstacle.rstrip('.')}: {'; '.join(dict.fromkeys(remedies))}."
        facts.note("sandbox", *describe_sandbox_failures(facts.before, failures, self._sandbox_remedies))
        facts.coverage = runs.count_lines()
        facts.account = Account(
            tree=patch.tree,
            before=_count_before(facts),
            commands=tuple(dict.fromkeys(run.command for run in runs.made)),
            runs=(*base_runs, *runs.made),
            cut_short=runs.is_cut,
            stages={**runs.stages, "base": runs.stages["base"] + base_seconds},
            circumstances=self._all_circumstances(),
        )
        if facts.after:
            self._judged[patch.tree] = change, facts, runs
        return decide(facts).model_copy(update={"seconds": time.monotonic() - started})

    @cached_property
    def _mentioned_tests(self) -> list[str]:
        """The tests of the base whose functions the issue mentions, each the only one of its name."""
        names = {*_TEST_NAME.findall(self._purpose.issue)} if self._runner.is_recorded else ()
        if not names:
            return []
        with self._trees.read(self._trees.base, ()) as tree:
            found = [test for test in find_tests(tree) if test.rpartition("::")[2] in names]
            files = {path: read_regular_text(tree / path) for path in map(test_file_of, found)}
        tests = [test for path, text in files.items() for test in find_changed_tests(path, "", text).added]
        counts = Counter(test.rpartition("::")[2] for test in tests)
        return [test for test in tests if (name := test.rpartition("::")[2]) in names and counts[name] == 1]

    def _known_base(self, progress: Progress | None) -> TestReport:
        """Return what is known of the base: all results, or those so far where tests can be run singly."""
        report, is_indirect = self._base.report, not self._runner.is_recorded
        if is_indirect and not self._has_many_tests:
            return self._base.measure(progress, whole=True)
        if report is not None and report.problem is None:
            return report
        results = self._base.results
        return TestReport(command=self._runner.command, results=results, indirect=is_indirect)

    @cached_property
    def _has_many_tests(self) -> bool:
        """Whether another runner's suite takes too long to be run whole unasked, as far as is known."""
        if not self._runner.is_selective or self._suite.waits:
            return False
        if (seconds := self._base.suite_seconds) is not None:
            return seconds > self._suite.reaching_seconds
        return sum(self._count_tests().values()) > MOST_UNASKED

    def _count_tests(self, like: Sequence[str] = ()) -> Mapping[str, int]:
        """Return about how many tests each test file of the base has, as `count_titled_tests` does."""
        with self._trees.read(self._trees.base, ()) as tree:
            return count_titled_tests(tree, like)

    def _select(self, change: JudgedChange, *, knows_base: bool) -> SuiteSelection | None:
        """Return the tests that a change reaches, nearest first; None where the runner cannot select any.

        Of other runners than Python's, they are all tests of the base.
        """
        sources, first = change.sources or change.changed, {*map(test_file_of, change.own_tests)}
        if not self._runner.is_recorded:
            report = change.before
            if report.whole_only or (knows_base and not report.results):
                return None
            known = Counter(test_file_of(test.id) for test in report.results)
            listed = {} if knows_base else self._count_tests(change.changed)
            counts = {**dict.fromkeys(first, 1), **listed, **known}  # the change may add files
            return rank_by_nearness(counts, sources, first=first)
        with self._trees.read(self._trees.base, ()) as old, self._trees.read(change.tree) as new:
            reaching = select_test_files(old, new, change.changed)
            return order_by_nearness(new, sources, first=first) if reaching is None else reaching

    def examine(self, verdict: Verdict, progress: Progress | None = None) -> Verdict:
        if verdict.tree not in self._judged or not verdict.is_examinable:
            return verdict.model_copy(update={"is_examined": True})
        change, facts, runs = self._judged[verdict.tree]
        facts.is_examined = True
        started, cut = time.monotonic(), threading.Event()
        limit = min(max(LEAST_EXAMINATION, verdict.seconds), self._suite.examination_seconds)
        timer = threading.Timer(limit, cut.set)
        timer.daemon = True  # a session that ends before the examination does not wait for it
        timer.start()
        with self._cutoff.offer(cut) if self._cutoff else nullcontext():
            if facts.targets and self._runner.is_recorded:
                plain_seconds = min(limit, PLAIN_TIMES * facts.target_seconds)
                facts.obstacle = runs.find_contradiction(facts.targets, seconds=plain_seconds, cut=cut)
            is_complete = not cut.is_set()
            if self._tools is not None and is_complete and not facts.obstacle:
                is_complete = examine_change(change, facts, self._tools(cut), cut=cut, progress=progress)
        seconds = time.monotonic() - started
        if not is_complete and verdict.kind.shows_fix:
            rule = "unexamined" if seconds >= limit else "interrupted"
            facts.leave_open(rule, f"the checks beyond the tests were cut short after {seconds:.0f} s")
        timer.cancel()
        return decide(facts).model_copy(
            update={
                "seconds": verdict.seconds + seconds,
                "stages": {**verdict.stages, "checks": verdict.stages.get("checks", 0.0) + seconds},
            }
        )

    def run_tests(
        self,
        worktree: Path,
        paths: Sequence[str],
        tests: Sequence[str],
        progress: Progress | None = None,
        *,
        around: WorktreeContext = nullcontext,
    ) -> TestReport:
        with around():
            if error := self._trees.rebuild(worktree, paths):
                problem = RunProblem(kind="unusable", text=error)
                return TestReport(command=self._runner.command, problem=problem)
            return self._runner.run(worktree, tests, progress=progress)

    def environment(self) -> Environment:
        return self._describe_environment()

    def _all_circumstances(self) -> tuple[str, ...]:
        environment = self.environment()
        known = [environment.sentence] if environment.sha256 else []
        return (*self._circumstances, *self._trees.circumstances, *known)


def _count_before(facts: Facts) -> Counts:
    """Return the base's results of the tests that ran on the change; partial where time ended these."""
    among = facts.before if facts.reaching is None else tests_among(facts.before, facts.reaching.files)
    is_cut = facts.after is not None and facts.after.problem is not None
    counts = among.outcome_counts
    return counts.model_copy(update={"partial": True}) if is_cut else counts
