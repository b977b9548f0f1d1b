"""Judgement of one change, step by step; each run gets a clean worktree of its own."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

from coder.core.events import TargetsGreen
from coder.core.paths import match_test_ids, test_file_of, test_function_of
from coder.core.ports import Progress, RunListener, SelectiveTestRunner
from coder.core.values import Value
from coder.core.verdict import Finding, RunProblem, TestReport, TestResult, VerdictKind
from coder.core.verdict_summary import condense_tests
from coder.verify.base import (
    STEADINESS,
    STEADY_ON_BASE,
    Runs,
    is_long,
    patience,
    patience_without_change,
)
from coder.verify.change import JudgedChange
from coder.verify.checks.review import describe_unchecked_languages, find_weaknesses
from coder.verify.checks.test_quality import contradicting_observation, new_harness_access
from coder.verify.failures import (
    classify_failure,
    describe_missing_tests,
    environment_problem_of_all,
    find_missing_name,
    lacks_added_name,
    missing_module,
    needed_packages,
    rejection_reason,
    with_cause,
)
from coder.verify.missing_tests import CodeRemovals, explain_missing_tests
from coder.verify.report import (
    describe_changed_failures,
    describe_failures_in_changed_code,
    describe_old_failures,
    find_regressions,
    is_gone,
    join_test_ids,
    passes,
    shorten_test_id,
    unmatched_names,
    unmet_targets,
)
from coder.verify.run_store import NO_STORE, RunStore
from coder.verify.select import find_test_files_naming
from coder.verify.test_edits import (
    join_names,
)
from coder.verify.trees import Side
from coder.verify.verdict import UNTIED, Facts, decide, findings
from coder.verify.warm import WarmFirstRun
from coder.workspace.workspace import format_count

NOTHING_YET = WarmFirstRun()
SHOWN = 3


class Judge:
    """Procedure that runs the tests of one change, until its verdict is clear, and collects the facts."""

    def __init__(
        self,
        change: JudgedChange,
        *,
        runner: SelectiveTestRunner,
        named: Sequence[str],
        progress: Progress | None,
        first: WarmFirstRun = NOTHING_YET,
        store: RunStore = NO_STORE,
        tell: RunListener | None = None,
        started: float | None = None,
    ) -> None:
        """Prepare to judge a change by the named tests, those that it touches, and the suite.

        `tell` hears of runs and of the targets; `started` is when the verification began, by the monotonic
        clock.
        """
        self._tell = tell
        self._started = time.monotonic() if started is None else started
        self._change = change
        self._named = tuple(
            dict.fromkeys(
                (*named, *(test for test, tie in (change.ties or {}).items() if tie != "identifier"))
            )
        )
        self._first = first
        self._aims: tuple[str, ...] = ()
        self._targets_report: TestReport | None = None
        self._greens: Mapping[str, TestResult] = {}
        self._red_check = RedCheck()
        self._weak: tuple[TestResult, ...] = ()  # red on the change, weakly tied: count if no other is green
        self._facts = Facts(before=change.before)
        self._must_repeat = False  # more of the changed files turned out to be tests
        self.runs = Runs(
            split=change.split,
            runner=runner,
            extensions=change.extensions,
            seconds=None if change.base else patience(change.before),
            counted_files=change.sources if change.base else None,
            progress=progress,
            cutoff=change.cutoff,
            store=store,
            tell=tell,
        )

    def collect_facts(self) -> Facts:
        """Run what is needed for a verdict, and return what it has shown."""
        self._facts = Facts(before=self._change.before)
        if excluded := self._change.excluded:
            self._facts.note("excluded", f"not about the issue, as was said: {', '.join(excluded[:SHOWN])}")
        steps = (
            self._check_base,
            self._run_targets,
            self._check_red,
            self._run_scope,
            self._examine,
            self._check_steadiness,
        )
        for step in (self._check_base, self._run_command) if self._change.before.by_exit_code else steps:
            step()
            if self._must_repeat:
                self._must_repeat = False
                return self.collect_facts()
            if self._facts.is_decided:
                break
        self._facts.before = self._change.before
        self._facts.reaching = self._change.part
        return self._facts

    def _check_base(self) -> bool:
        """Tell whether the base could be tested."""
        problem = self._change.before.problem
        if problem is None or problem.kind in ("timeout", "no_tests"):
            return True
        self._facts.obstacle = f"The base could not be tested: {problem.text}"
        return False

    def _run_command(self) -> None:
        """Run a command of which only the exit code is known."""
        after = self._facts.after = self.runs.on_change("suite", ())
        if after.problem is not None:
            self._facts.obstacle = after.problem.text
            return
        self._facts.broken = self._confirm(
            find_regressions(self._change.before, after, missing_counts=True), after
        )
        self._facts.still_red = after.failures
        self._facts.cap(
            "exit-code", "it gives an exit code only: which tests it ran, and why one failed, is not known"
        )

    def _run_targets(self) -> None:
        """Run what the change is about; the suite is not needed where that is red."""
        if self._change.before.whole_only:
            self._facts.note(
                "whole-only",
                f"known from the report of `{self._change.before.command}` alone: "
                "no test can be run by itself there",
            )
        about = [*self._named, *self._change.own_tests, *self._first.suspects]
        self._aims = self._change.first_tests(self._named, self._first.suspects)
        is_indirect = self._change.before.indirect
        if not self._aims and not self._change.before.whole_only:
            return
        self._targets_report = report = self.runs.on_change("targets", self._aims)
        if report.problem is not None and (
            report.problem.kind not in PARTIAL or report.problem.kind == "timeout"
        ):
            self._facts.obstacle = report.problem.text
            return
        self._facts.target_seconds = report.seconds
        self._change.learn_tests(report)
        is_about = self._change.changes_test if is_indirect else _match_tests_or_files(about)
        self._change.complete_before(report, about, self.runs)
        if not self._check_base() or not self._check_packages(report):
            return
        suspected = find_regressions(
            self._change.before, report, among=is_about, missing_counts=report.problem is None
        )
        self._facts.broken = self._confirm(suspected, report)
        if self._facts.broken:
            return
        self._judge_reds(report, is_about)
        if self._facts.is_decided:
            return
        if report.problem is not None and report.problem.kind == "crash":
            self._facts.obstacle = report.problem.text
        self._facts.note(
            "unknown-test",
            *(
                f"{shorten_test_id(name)}, which was named, does not exist"
                for name in unmatched_names(self._named, report)
            ),
        )
        self._greens = {result.id: result for result in report.results if result.outcome == "passed"}

    def _judge_reds(self, report: TestReport, is_about: Callable[[str], bool]) -> None:
        """Decide which of the tests that are red on the change it is judged by."""
        weakly = tuple(
            result.id for result in self._change.before.failures if self._change.is_weak(result.id)
        )
        required = self._change.ties or {} if self._change.requires_identifier_ties else {}
        asked_for = (*self._named, *(test for test in weakly if test in required))
        unmet = unmet_targets(self._change.before, report, named=asked_for, is_new_in_change=is_about)
        every = [with_cause(result, before=self._change.before.result_for(result.id)) for result in unmet]
        self._weak = tuple(result for result in every if result.id in weakly)
        reds = tuple(result for result in every if result not in self._weak)
        if reds and all(result.cause == "environment" for result in reds):
            lacking = classify_failure(reds[0], before=reds[0])[1]
            judged = f"{_tests(len(reds))} that the change is judged by"
            self._facts.obstacle = f"{judged} cannot run on this machine, {lacking}: {join_test_ids(reds)}."
            self._facts.still_red = reds
        elif reds and not (report.indirect and all(result.when == "collect" for result in reds)):
            self._facts.still_red = (*reds, *self._weak)  # else the build may be broken as a whole

    def _check_packages(self, report: TestReport) -> bool:
        """Tell whether all packages that the change needs are installed."""
        packages, reds = find_missing_packages(self._change, report)
        if packages:
            lacking = f"{', '.join(packages)}, which {'are' if len(packages) > 1 else 'is'} not installed"
            self._facts.obstacle = f"The change needs {lacking}: {join_test_ids(reds)}."
            self._facts.still_red = tuple(
                result.model_copy(update={"cause": "environment"}) for result in reds
            )
        return not packages

    def _check_red(self) -> None:
        """Find the targets: tests that are red without the change."""
        if green := self._targets_report:
            red = check_red(self._change, self.runs, aims=self._aims, named=self._named, green=green)
            self._facts.obstacle = red.problem.text if red.problem else ""
            self._facts.note("red-check", *red.notes)
            self._facts.targets, self._red_check = red.targets, red
        if not self._facts.targets:
            self._facts.still_red = self._weak
        elif self._tell is not None:
            seconds = time.monotonic() - self._started
            self._tell(TargetsGreen(targets=self._facts.targets, seconds=seconds))

    def _run_scope(self) -> None:
        """Run everything on the change, or what stands for it, and compare it with the base."""
        facts, targets = self._facts, self._facts.targets
        after = self._run_suite(targets)
        problem = after.problem
        if problem is not None and problem.kind not in PARTIAL:
            facts.obstacle = problem.text
            return
        self._change.complete_before(after, self._change.suite_tests, self.runs)
        if not self._check_base() or not self._check_packages(after):
            return
        facts.after = after
        whole = problem is None or problem.kind == "no_tests"
        suspected = find_regressions(self._change.before, after, missing_counts=whole)
        facts.broken = self._confirm(suspected, after)
        if facts.broken:
            return
        if problem is not None and problem.kind == "crash":
            facts.obstacle = problem.text
            return
        aims = match_test_ids(targets)
        if red := tuple(result for result in after.failures if aims(result.id) or self._is_new(result)):
            order = [result.id for result in after.results]
            if flaky := recovered_tests(red, order, on_change=self.runs.on_change):
                judged = f"{_tests(len(flaky))} that the change is judged by"
                facts.obstacle = f"{judged} failed and passed in the same suite: {join_test_ids(flaky)}."
            facts.still_red = flaky or red
        elif not targets:
            self._must_repeat = self._finds_test_files(after)
            self._check_missing_tests(after)

    def _check_missing_tests(self, after: TestReport) -> None:
        """Find out whether no test could run on either side."""
        lacking = environment_problem_of_all(self._change.before) and environment_problem_of_all(after)
        if lacking:
            self._facts.obstacle = f"No test of the project can run on this machine: {lacking}."
        elif missing := describe_missing_tests(self._change.before, after):
            self._facts.obstacle, self._facts.still_red = missing, after.failures

    def _finds_test_files(self, after: TestReport) -> bool:
        """Tell whether the suite has tests in changed files that were not known to contain any."""
        known = self._change.test_files
        self._change.learn_tests(after)
        return self._change.test_files != known

    def _run_suite(self, targets: Sequence[str]) -> TestReport:
        """Run the suite on the change, or the tests that reach it, also if the suite takes too long."""
        if self._change.before.whole_only and self._targets_report and not targets:
            return self._targets_report
        if self._change.part is None:
            seconds = self._change.limits.whole_seconds if self._change.fallback else None
            report = self.runs.on_change("suite", (), seconds=seconds)
            is_timeout = report.problem is not None and report.problem.kind == "timeout"
            if self._change.fallback is None or not is_timeout or self.runs.is_cut:
                return report
            self._change.part = self._change.fallback
        tests = self._change.impacted_tests()
        if tests and {*tests} == {*self._aims}:
            assert self._targets_report is not None
            return self._targets_report  # these very tests have just run
        if tests:
            seconds = self._change.limits.seconds_for(self._change.part, self._targets_report)
            return self.runs.nearest_first(tests, self._change.part, seconds=seconds)
        return TestReport(command=self._change.before.command)

    def _is_new(self, result: TestResult) -> bool:
        return self._change.before.problem is None and not self._change.before.has_test(result.id)

    def _examine(self) -> None:
        """Add what reports and sources say beside the results of tests."""
        facts, change = self._facts, self._change
        targets, after = facts.targets, facts.after or TestReport(command=change.before.command)
        contradicted = [
            f"{shorten_test_id(test)}: {why}"
            for test in targets
            if (why := contradicting_observation(self._greens[test], self._red_check.reds.get(test)))
        ]
        if contradicted:
            seen = "; ".join(contradicted[:3])
            facts.obstacle = (
                f"pytest says that it passed, and what was seen beside it says otherwise: {seen}."
            )
            return
        weaknesses = find_weaknesses(change, targets, self._greens)
        rewritten = find_rewritten_tests(change, self.runs)
        requested = change.find_requested_edits(rewritten.tests)
        contradicting = [test for test in rewritten.tests if test not in requested]
        edits = findings("rewritten-test", [describe_test_edits(contradicting)] if contradicting else [])
        edits += findings("weakened-test", weaknesses.weakened_tests)
        is_accepted = change.accepts_test_edits and bool(edits)
        if is_accepted:
            edits = [edit.model_copy(update={"effect": "note"}) for edit in edits]
        facts.findings += edits
        if edits and not is_accepted:
            facts.note("test-edits", "once you have looked at these edits, --accept-test-edits accepts them")
        if requested:
            names = join_names([*dict.fromkeys(map(test_function_of, requested))])
            facts.note("rewritten-test", f"the issue asks for the edit of {names}")
        self._check_ties()
        on_base = {*change.before.reached, *self.runs.reached_on_base}
        facts.cap("harness-access", *new_harness_access(on_base, self.runs.reached_on_change))
        worse = describe_failures_in_changed_code(change.before, after, change.sources)
        facts.cap("failure-in-change", *worse)
        if not worse:
            facts.note("changed-failure", *describe_changed_failures(change.before, after))
        if not targets:
            facts.note("old-failure", *describe_old_failures(change.before, after))
        facts.findings += weaknesses.doubts
        facts.cap("not-run", *rewritten.gaps, *change.find_gaps(targets, after))
        facts.note("unchecked", *filter(None, [describe_unchecked_languages(change.changed)]))
        facts.details |= {
            "hashes": weaknesses.hashes,
            "target_kinds": {test: change.target_kind(test) for test in targets},
            "missing_names": {
                test: name for test, name in self._red_check.missing_names.items() if test in targets
            },
            "chosen_names": change.find_chosen_names(targets, self._red_check.missing_names),
            "replaced_assertions": change.find_replaced_assertions(rewritten.tests),
            "accepted_test_edits": is_accepted,
        }

    def _check_steadiness(self) -> None:
        """Run the targets of a change that would be proven until each side has seen them three times.

        One of these runs is without the recorder. Its exit code says that all targets pass, and of a single
        target that it fails.
        """
        facts = self._facts
        if decide(facts).kind is not VerdictKind.PROVEN:
            return
        started = time.monotonic()
        seconds = patience_without_change(self._targets_report)
        seen_again = facts.after is not self._targets_report and all(
            facts.after is not None and passes(facts.after, target) for target in facts.targets
        )

        def run(side: Side, labels: Sequence[str]) -> list[TestReport]:
            return [self.runs.run(label, side, facts.targets, seconds=seconds) for label in labels]

        with ThreadPoolExecutor(2) as pool:
            plain = pool.map(
                lambda side: self.runs.run_plainly(side, facts.targets, seconds=seconds), PLAIN_SIDES
            )
            base_code, change_code = plain
            is_red_again = base_code == FAILED and len(facts.targets) == 1
            on_base = pool.submit(run, "tests", () if is_red_again else (STEADY_ON_BASE,))
            further_greens = (seen_again, change_code == PASSED).count(True)
            on_change = pool.submit(run, "change", STEADINESS[further_greens:])
            reds, greens = on_base.result(), on_change.result()
        self.runs.stages["targets"] += time.monotonic() - started
        unsteady = [
            target
            for target in facts.targets
            if not all(passes(report, target) for report in greens)
            or any((result := report.result_for(target)) is not None and result.green for report in reds)
        ]
        if not unsteady:
            facts.obstacle = _contradiction(base_code, change_code)
            return
        facts.targets = tuple(target for target in facts.targets if target not in unsteady)
        kinds = facts.details["target_kinds"]
        facts.details["target_kinds"] = {target: kinds[target] for target in facts.targets}
        names = f"{join_names([*map(shorten_test_id, unsteady)])} is flaky"
        if facts.targets:
            facts.note("unsteady-target", f"{names} and proves nothing")
        else:
            facts.cap("unsteady-target", f"{names}, so nothing shows that the issue is fixed")

    def _check_ties(self) -> None:
        """Find out whether anything ties the targets to the issue."""
        targets = self._facts.targets
        if not targets:
            self._facts.cap("no-target", "no test went from red to green")
            return
        reds = [self._red_check.reds.get(test) or TestResult(id=test, outcome="failed") for test in targets]
        untied = self._change.find_untied(reds)
        if not untied:
            return
        verb = "does" if len(untied) == 1 else "do"
        self._facts.cap(UNTIED, f"{condense_tests(untied)} {verb} not mention anything from the issue")

    def _confirm(self, suspected: Sequence[TestResult], report: TestReport) -> tuple[TestResult, ...]:
        """Return the suspected tests that the change breaks, seen again on both sides."""
        broken, found = confirm_broken(self._change, self.runs, suspected, report)
        self._facts.findings += found
        return broken


PLAIN_SIDES: tuple[Side, Side] = ("tests", "change")
PASSED, FAILED = 0, 1
"""Exit codes of pytest that speak of tests."""


def _contradiction(base: int | None, change: int | None) -> str:
    """Return how exit codes of the targets without the recorder contradict what it saw, as a sentence."""
    if base == PASSED:
        return "The targets fail without the change only as long as they are recorded."
    return "The targets pass on the change only as long as they are recorded." if change == FAILED else ""


def _match_tests_or_files(names: Sequence[str]) -> Callable[[str], bool]:
    """Return a predicate for the ids of these tests, and for their files, which may not be collected."""
    files = frozenset(map(test_file_of, names))
    is_named = match_test_ids(names)
    return lambda test: test in files or is_named(test)


def _tests(count: int) -> str:
    return format_count(count, "test")


PARTIAL = ("timeout", "crash", "no_tests")
"""Problems of a run whose results so far can still be read; any other means that nothing was learnt."""


@dataclass(frozen=True, kw_only=True)
class RedCheck:
    """Tests that fail without the change for the right reason."""

    targets: tuple[str, ...] = ()
    missing_names: Mapping[str, str] = field(default_factory=dict)
    """Names of new API that targets lack without the change, by test id."""
    reds: Mapping[str, TestResult] = field(default_factory=dict)
    """Results without the change, by test id."""
    notes: tuple[str, ...] = ()
    problem: RunProblem | None = None
    """Why the run says nothing."""


def check_red(
    change: JudgedChange,
    runs: Runs,
    *,
    aims: Sequence[str],
    named: Sequence[str],
    green: TestReport,
) -> RedCheck:
    """Return which of the tests that pass in `green`, a run on the change, fail twice without its sources.

    Where the change leaves all tests as they were, the run of the base is one of the two.

    `aims` are the tests to run, `named` those that must not be left out without a note.
    """
    greens = {result.id: result for result in green.results if result.outcome == "passed"}
    is_excluded = match_test_ids(change.excluded)
    suspects = [
        test
        for test in change.find_stable_tests(greens)
        if (change.changes_test(test) or not passes(change.before, test)) and not is_excluded(test)
    ]
    if not suspects:
        return RedCheck()
    seconds = patience_without_change(green)
    report = runs.run("targets on the base", "tests", aims, seconds=seconds)
    if report.problem is not None and report.problem.kind not in PARTIAL:
        return RedCheck(problem=report.problem)
    known_suspects = frozenset(suspects)  # a file that cannot be collected stands for its tests
    checked = [
        result
        for result in report.results
        if result.id in known_suspects
        or (result.red and result.when == "collect" and any(map(match_test_ids([result.id]), suspects)))
    ]
    targets: list[str] = []
    notes: list[str] = []
    missing_names: dict[str, str] = {}
    added_names = change.find_added_names()
    is_named = match_test_ids(named)
    for result in checked:
        is_unchanged = _is_unchanged(change, result.id)
        reason = rejection_reason(
            result,
            issue=change.issue,
            is_existing_test=is_unchanged,
            edited_sources=change.sources,
            added_names=added_names,
            after=greens.get(result.id),
        )
        if not reason:
            proving = [result.id] if result.id in known_suspects else []
            if result.when == "collect":  # tests that pass on the base lack nothing
                stands_for = match_test_ids([result.id])
                proving = [
                    test
                    for test in suspects
                    if stands_for(test) and not _is_green_on_base(change.before, test)
                ]
            if not is_unchanged and result.failure and lacks_added_name(result.failure, added_names):
                name = find_missing_name(result.failure)
                untied = change.find_off_topic(result, proving, name)
                proving = [test for test in proving if test not in untied]
                missing_names |= dict.fromkeys(proving, name)
                notes += [
                    f"{shorten_test_id(test)} fails because {name} is missing, "
                    "which the issue does not mention"
                    for test in untied[:SHOWN]
                ]
            targets += proving
        elif result.red or is_named(result.id):
            notes.append(f"{shorten_test_id(result.id)}: {reason}")
    if change.before.problem is None and (idle := _find_idle(change.before, checked, named)):
        notes.append(f"new tests that pass already on the base: {join_test_ids(idle)}")
    flaky: list[str] = []
    if any(not _is_red_on_base(change, target) for target in targets):
        tests = targets if is_long(green) else aims
        flaky = _find_flaky(runs.run("targets on the base, again", "tests", tests, seconds=seconds), targets)
    notes += [
        f"{shorten_test_id(target)} is flaky without the change, so it proves nothing" for target in flaky
    ]
    return RedCheck(
        targets=tuple(target for target in _leaves(targets) if target not in flaky),
        missing_names=missing_names,
        reds={result.id: result for result in checked},
        notes=tuple(notes),
    )


def _leaves(targets: Sequence[str]) -> list[str]:
    """Return the targets without those of which another one is a subtest, as Go names it: `test/subtest`."""
    parents = {target[:end] for target in targets for end, mark in enumerate(target) if mark == "/"}
    return [target for target in dict.fromkeys(targets) if target not in parents]


def _is_unchanged(change: JudgedChange, test: str) -> bool:
    """Tell whether the test exists in this form on the base."""
    return not change.changes_test(test) and (not change.before.indirect or change.before.has_test(test))


def _is_green_on_base(before: TestReport, test: str) -> bool:
    result = before.result_for(test)
    return before.has_test(test) and (result is None or result.green)


def _is_red_on_base(change: JudgedChange, test: str) -> bool:
    """Tell whether the run of the base has seen the test fail among the very tests of the change."""
    result = None if change.split.test_files else change.before.result_for(test)
    return result is not None and result.red


def _find_idle(before: TestReport, checked: Sequence[TestResult], named: Sequence[str]) -> list[TestResult]:
    """Return new tests that are green without the change; further cases of known tests are left out."""
    is_named = match_test_ids(named)
    ids = (*before.collected, *(result.id for result in before.results))
    known = {test.partition("[")[0] for test in ids}
    return [
        result
        for result in checked
        if result.green and not is_named(result.id) and result.id.partition("[")[0] not in known
    ]


def _find_flaky(again: TestReport, targets: Sequence[str]) -> list[str]:
    return [target for target in targets if (result := again.result_for(target)) is None or not result.red]


MOST_RERUNS = 50
"""At most so many tests that seem broken are run again; with more of them, it is no flakiness."""


def confirm_broken(
    change: JudgedChange, runs: Runs, suspected: Sequence[TestResult], report: TestReport
) -> tuple[tuple[TestResult, ...], list[Finding]]:
    """Run again, on both sides, what seems broken; return what the change broke, and findings on the rest."""
    gone = [result.id for result in suspected if is_gone(result)]
    missing = explain_missing_tests(change, runs, gone, report)
    remaining = [result for result in suspected if result.id not in missing.explained]
    if not remaining or len(remaining) > MOST_RERUNS:
        return tuple(remaining), missing.findings
    order = [result.id for result in report.results]
    examined = classify_failures(remaining, order, on_change=runs.on_change, on_base=runs.on_base)
    return examined.blamed, [*missing.findings, *findings("confirmation", examined.notes, effect="note")]


class RewrittenTests(NamedTuple):
    """The base's own tests that contradict the change."""

    tests: tuple[str, ...] = ()
    """Those that passed on the base and fail on the changed sources."""
    gaps: tuple[str, ...] = ()
    """Descriptions of test runs that did not end, half a sentence each."""


def find_rewritten_tests(change: JudgedChange, runs: Runs) -> RewrittenTests:
    """Run the base's own tests on the changed sources, and return which fail there."""
    if not change.split.has_tests:
        return RewrittenTests()
    part: tuple[str, ...] = ()
    if set(change.tests) <= set(change.test_files):
        replaced = change.replaced_tests
        files = dict.fromkeys(map(test_file_of, replaced))
        with change.trees.read(change.trees.base, ()) as base:
            others = [] if change.before.indirect else find_test_files_naming(base, tuple(files))
            existing = [test for test in replaced if (base / test_file_of(test)).is_file()]
        part = (*existing, *(path for path in others if path not in files))
        if not part and not change.before.indirect:
            return RewrittenTests()
    elif change.part is not None and not change.before.indirect:
        part = change.suite_tests
    old = runs.run("old tests", "sources", part)
    gaps: tuple[str, ...] = ()
    if old.problem is not None and old.problem.kind == "timeout":
        gaps = (f"the base's own tests could not all run on the changed sources: {old.problem.text}",)
    lost = _find_lost(change, runs, old, part)
    is_replaced = match_test_ids(change.replaced_tests)  # others of a file that is not collected are the same
    removals = CodeRemovals(change)
    tests = (result.id for result in lost if result.when != "collect" or is_replaced(result.id))
    return RewrittenTests(tuple(test for test in tests if not removals.explains(test)), gaps)


def describe_test_edits(tests: Sequence[str]) -> str:
    """Describe existing tests that contradict the change and that it edits, half a sentence."""
    contradict = "contradicts" if len(tests) == 1 else "contradict"
    names = ", ".join(map(shorten_test_id, tests[:SHOWN]))
    more = f" and {len(tests) - SHOWN} more" if len(tests) > SHOWN else ""
    count = format_count(len(tests), "existing test")
    return f"the change edits {count} that {contradict} it: {names}{more}"


def _find_lost(
    change: JudgedChange, runs: Runs, old: TestReport, part: Sequence[str]
) -> tuple[TestResult, ...]:
    """Return tests that passed on the base and fail in `old`, a run on the changed sources, and once more.

    `part` are the test files that were run; empty means the suite.
    """
    among = match_test_ids(part) if part else lambda _test: True
    change.complete_before(old, part, runs)
    lost = find_regressions(change.before, old, among=among, missing_counts=old.problem is None)
    suspected = [result.id for result in lost]
    if not suspected:
        return ()
    again = runs.run("old tests, again", "sources", suspected)
    return tuple(
        result for result in again.results if result.id in suspected and not passes(again, result.id)
    )


def find_missing_packages(
    change: JudgedChange, report: TestReport
) -> tuple[tuple[str, ...], tuple[TestResult, ...]]:
    """Return packages that the change needs and are not installed, and the tests that fail without them.

    Both are empty where a test that was green before fails in any other way.
    """
    was = {result.id: result.failure.message if result.failure else "" for result in change.before.failures}
    anew = [
        result
        for result in report.failures
        if result.failure is None or was.get(result.id) != result.failure.message
    ]
    reds = [result for result in anew if missing_module(result)]
    if not reds or any(result not in reds for result in anew if result.id not in was):
        return (), ()
    with change.trees.read(change.tree) as tree:
        packages = needed_packages(reds, tree)
    return packages, tuple(reds) if packages else ()


RunTests = Callable[[str, Sequence[str]], TestReport]
"""Runs tests, under a label for progress reports."""


class FlakinessReport(Value):
    """Classification of tests that appeared broken."""

    blamed: tuple[TestResult, ...] = ()
    """Fail on the change in every run under the same conditions, and never on the base."""
    flaky: tuple[str, ...] = ()
    """Failed and passed on the change under the same conditions."""
    notes: tuple[str, ...] = ()
    """Observations on tests that are not blamed or depend on the order; half a sentence each."""


def classify_failures(
    suspected: Sequence[TestResult], order: Sequence[str], *, on_change: RunTests, on_base: RunTests
) -> FlakinessReport:
    """Run failed tests again alone, then unexplained ones after all tests that preceded them, on both sides.

    `order` holds the ids of all tests in the order in which they ran.
    """
    tests = [result.id for result in suspected]
    alone, base = on_change("again, on the change", tests), on_base("again, on the base", tests)
    blamed = [result for result in suspected if not passes(alone, result.id) and passes(base, result.id)]
    unsure = [result for result in suspected if result not in blamed]
    if not unsure:
        return FlakinessReport(blamed=tuple(blamed))
    before = ids_up_to(order, [result.id for result in unsure])
    in_order = on_change("again in order, on the change", before)
    still_red = [result for result in unsure if not passes(in_order, result.id)]
    base_in_order = on_base("again in order, on the base", before) if still_red else TestReport(command="")
    flaky, notes = [], []
    for result in unsure:
        name = shorten_test_id(result.id)
        if result not in still_red:
            flaky.append(result.id)
            notes.append(f"{name} is flaky: it has failed and passed on the change")
        elif passes(base_in_order, result.id):
            blamed.append(result)
            alone_outcome = "passes" if passes(alone, result.id) else "fails on the base as well"
            notes.append(
                f"{name} depends on the order: alone it {alone_outcome}, "
                "after other tests it fails on the change"
            )
        else:
            notes.append(f"{name} is flaky or depends on the order, on the base as well")
    return FlakinessReport(
        blamed=tuple(result for result in suspected if result in blamed),
        flaky=tuple(flaky),
        notes=tuple(notes),
    )


def ids_up_to(order: Sequence[str], tests: Sequence[str]) -> list[str]:
    """Return the ids up to the last of the tests; missing tests come at the end."""
    positions = [index for index, test in enumerate(order) if test in frozenset(tests)]
    return [*dict.fromkeys([*(order[: positions[-1] + 1] if positions else ()), *tests])]


def recovered_tests(
    reds: Sequence[TestResult], order: Sequence[str], *, on_change: RunTests
) -> tuple[TestResult, ...]:
    """Return the red tests that are green when they and all tests before them run again: they are flaky."""
    again = on_change("again in order, on the change", ids_up_to(order, [result.id for result in reds]))
    return tuple(result for result in reds if passes(again, result.id))
