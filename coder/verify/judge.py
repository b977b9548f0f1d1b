"""Judgement of one change, step by step; each run gets a clean worktree of its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from coder.core.paths import match_test_ids, test_file_of, test_function_of
from coder.core.ports import Progress, SelectiveTestRunner
from coder.core.values import Value
from coder.core.verdict import RunProblem, TestReport, TestResult, Verdict, VerdictKind
from coder.verify.base import Runs, is_long, patience, patience_without_change
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
from coder.verify.languages import SUFFIXES
from coder.verify.report import (
    describe_changed_failures,
    describe_failures_in_changed_code,
    describe_old_failures,
    extended_tests,
    find_regressions,
    is_gone,
    join_test_ids,
    passes,
    renumbered_cases,
    shorten_test_id,
    unmatched_names,
    unmet_targets,
)
from coder.verify.select import find_test_files_naming
from coder.verify.test_edits import (
    PROGRAM,
    RenamedTests,
    find_renamed_in,
    find_successions,
    has_fewer_checks,
    join_names,
)
from coder.verify.test_files import has_title, names_of
from coder.verify.trees import read_texts
from coder.verify.warm import WarmFirstRun
from coder.workspace.workspace import format_count

NOTHING_YET = WarmFirstRun()
SHOWN = 3


class Judgement:
    """One change, the tests named for it, and the base's own report."""

    def __init__(
        self,
        change: JudgedChange,
        *,
        runner: SelectiveTestRunner,
        named: Sequence[str],
        progress: Progress | None,
        first: WarmFirstRun = NOTHING_YET,
    ) -> None:
        """Prepare to judge a change by the named tests, those that it touches, and the suite."""
        self._change = change
        self._named = tuple(
            dict.fromkeys(
                (*named, *(test for test, tie in (change.ties or {}).items() if tie != "identifier"))
            )
        )
        self._first = first
        self._notes: list[str] = []
        self._aims: tuple[str, ...] = ()  # the same on both sides: no test can tell which one it is on
        self._targets_report: TestReport | None = None
        self._greens: Mapping[str, TestResult] = {}
        self._red_check = RedCheck()
        self._worse: list[str] = []
        self._weak: tuple[TestResult, ...] = ()  # red on the change, weakly tied: count if no other is green
        self.runs = Runs(
            split=change.split,
            runner=runner,
            extensions=change.extensions,
            seconds=None if change.base else patience(change.before),
            counted_files=change.sources if change.base else None,
            progress=progress,
            cutoff=change.cutoff,
        )
        self.hashes: dict[str, str] = {}  # SHA-256 of the targets' files, by path
        self.after: TestReport | None = None  # the whole suite on the change

    def judge(self) -> Verdict:
        """Return the verdict, without what the caller knows (counts before, seconds, tree)."""
        if excluded := self._change.excluded:
            self._notes.append(f"not about the issue, as was said: {', '.join(excluded[:SHOWN])}")
        if verdict := self._untestable_base():
            return verdict
        if self._change.before.by_exit_code:
            return self._by_exit_code()
        if self._change.before.whole_only:
            self._notes.append(
                f"known from the report of `{self._change.before.command}` alone: "
                "no test can be run by itself there"
            )
        if verdict := self._run_targets():
            return verdict
        targets: tuple[str, ...] = ()
        if green := self._targets_report:
            red = check_red(self._change, self.runs, aims=self._aims, named=self._named, green=green)
            if red.problem is not None:
                return self._verdict(VerdictKind.INCONCLUSIVE, red.problem.text)
            self._notes += red.notes
            targets, self._red_check = red.targets, red
        if not targets and self._weak:
            return self._not_fixed(self._weak)
        return self._suite(targets)

    def _untestable_base(self) -> Verdict | None:
        problem = self._change.before.problem
        if problem is None or problem.kind in ("timeout", "no_tests"):
            return None
        return self._verdict(VerdictKind.INCONCLUSIVE, f"The base could not be tested: {problem.text}")

    def _run_targets(self) -> Verdict | None:
        """Run what the change is about; return the verdict if it needs no suite."""
        about = [*self._named, *self._change.own_tests, *self._first.suspects]
        self._aims = tuple(dict.fromkeys([*about, *self._change.find_red_candidates()]))
        is_indirect = self._change.before.indirect
        if not self._aims and not self._change.before.whole_only:
            return None
        self._targets_report = report = self.runs.on_change("targets", self._aims)
        if report.problem is not None and (
            report.problem.kind not in PARTIAL or report.problem.kind == "timeout"
        ):
            return self._verdict(VerdictKind.INCONCLUSIVE, report.problem.text)
        self._change.learn_tests(report)
        is_about = self._change.changes_test if is_indirect else _match_tests_or_files(about)
        self._change.complete_before(report, about, self.runs)
        if verdict := self._untestable_base():
            return verdict
        suspected = find_regressions(
            self._change.before, report, among=is_about, missing_counts=report.problem is None
        )
        if unmet := self._needs_packages(report):
            return unmet
        broken = self._confirm(suspected, report)
        if broken:
            reason = f"The change breaks {_tests(len(broken))} that passed before: {join_test_ids(broken)}"
            reason = f"{reason}; the whole suite was not run."
            return self._verdict(VerdictKind.BROKEN, reason, broken=broken)
        weakly = tuple(
            result.id for result in self._change.before.failures if self._change.is_weak(result.id)
        )
        required = self._change.ties or {} if self._change.requires_identifier_ties else {}
        asked_for = (*self._named, *(test for test in weakly if test in required))
        every = self._with_causes(
            unmet_targets(self._change.before, report, named=asked_for, is_new_in_change=is_about)
        )
        self._weak = tuple(result for result in every if result.id in weakly)
        reds = tuple(result for result in every if result not in self._weak)
        if reds and all(result.cause == "environment" for result in reds):
            lacking = classify_failure(reds[0], before=reds[0])[1]
            judged = f"{_tests(len(reds))} that the change is judged by"
            reason = f"{judged} cannot run on this machine, {lacking}: {join_test_ids(reds)}."
            return self._verdict(VerdictKind.INCONCLUSIVE, reason, still_red=reds)
        if reds and not (report.indirect and all(result.when == "collect" for result in reds)):
            return self._not_fixed((*reds, *self._weak))  # else the build may be broken as a whole
        if report.problem is not None and report.problem.kind == "crash":
            return self._verdict(VerdictKind.INCONCLUSIVE, report.problem.text)
        self._notes += [
            f"{shorten_test_id(name)}, which was named, does not exist"
            for name in unmatched_names(self._named, report)
        ]
        self._greens = {result.id: result for result in report.results if result.outcome == "passed"}
        return None

    def _needs_packages(self, report: TestReport) -> Verdict | None:
        """Return the verdict on a change that needs packages that are not installed; None for any other."""
        packages, reds = find_missing_packages(self._change, report)
        if not packages:
            return None
        lacking = f"{', '.join(packages)}, which {'are' if len(packages) > 1 else 'is'} not installed"
        reason = f"The change needs {lacking}: {join_test_ids(reds)}."
        unmet = tuple(result.model_copy(update={"cause": "environment"}) for result in reds)
        return self._verdict(VerdictKind.INCONCLUSIVE, reason, still_red=unmet)

    def _not_fixed(self, reds: Sequence[TestResult]) -> Verdict:
        red = f"{_tests(len(reds))} not green on the change: {join_test_ids(reds)}"
        reason = f"The issue is not fixed, {red}; the whole suite was not run."
        return self._verdict(VerdictKind.PASSING, reason, still_red=tuple(reds))

    def _with_causes(self, reds: Sequence[TestResult]) -> tuple[TestResult, ...]:
        return tuple(with_cause(result, before=self._change.before.result_for(result.id)) for result in reds)

    def _suite(self, targets: Sequence[str]) -> Verdict:
        """Run everything on the change, or what stands for it, and compare it with the base."""
        self.after = after = self._run_suite(targets)
        problem = after.problem
        if problem is not None and problem.kind not in PARTIAL:
            return self._verdict(VerdictKind.INCONCLUSIVE, problem.text)
        self._change.complete_before(after, self._change.suite_tests, self.runs)
        if unmet := self._untestable_base() or self._needs_packages(after):
            return unmet
        whole = problem is None or problem.kind == "no_tests"
        suspected = find_regressions(self._change.before, after, missing_counts=whole)
        if broken := self._confirm(suspected, after):
            reason = f"The change breaks {_tests(len(broken))} that passed before: {join_test_ids(broken)}."
            return self._verdict(
                VerdictKind.BROKEN, reason, targets=tuple(targets), broken=broken, after=after
            )
        if problem is not None and problem.kind == "crash":
            return self._verdict(VerdictKind.INCONCLUSIVE, problem.text, after=after)
        aims = match_test_ids(targets)
        if red := tuple(result for result in after.failures if aims(result.id) or self._is_new(result)):
            if flaky := recovered_tests(
                red, [result.id for result in after.results], on_change=self.runs.on_change
            ):
                judged = f"{_tests(len(flaky))} that the change is judged by"
                reason = f"{judged} failed and passed in the same suite: {join_test_ids(flaky)}."
                return self._verdict(VerdictKind.INCONCLUSIVE, reason, still_red=flaky, after=after)
            judged = f"{_tests(len(red))} that the change adds or is judged by"
            reason = f"{judged} fail in the whole suite: {join_test_ids(red)}."
            return self._verdict(VerdictKind.PASSING, reason, still_red=red, after=after)
        if not targets and self._finds_test_files(after):
            return self.judge()
        if not targets and (missing := self._missing_tests(after)):
            return missing
        self._worse = describe_failures_in_changed_code(self._change.before, after, self._change.sources)
        self._notes += [] if self._worse else describe_changed_failures(self._change.before, after)
        if not targets:
            self._notes += describe_old_failures(self._change.before, after)
        return self._conclusion(targets, after)

    def _missing_tests(self, after: TestReport) -> Verdict | None:
        """Return the verdict where no test could run on either side."""
        lacking = environment_problem_of_all(self._change.before) and environment_problem_of_all(after)
        if lacking:
            reason = f"No test of the project can run on this machine: {lacking}."
            return self._verdict(VerdictKind.INCONCLUSIVE, reason, after=after)
        if missing := describe_missing_tests(self._change.before, after):
            return self._verdict(VerdictKind.INCONCLUSIVE, missing, still_red=after.failures, after=after)
        return None

    def _finds_test_files(self, after: TestReport) -> bool:
        """Tell whether the suite has tests in changed files that were not known to contain any."""
        known = self._change.test_files
        self._change.learn_tests(after)
        return self._change.test_files != known

    def _run_suite(self, targets: Sequence[str]) -> TestReport:
        """Run the suite on the change, or the impacted tests that stand for it, also if it takes too long."""
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
            return self.runs.on_change("impacted tests", tests, seconds=self._change.limits.impacted_seconds)
        return TestReport(command=self._change.before.command)

    def _is_new(self, result: TestResult) -> bool:
        return self._change.before.problem is None and not self._change.before.has_test(result.id)

    def _conclusion(self, targets: Sequence[str], after: TestReport) -> Verdict:
        contradicted = [
            f"{shorten_test_id(test)}: {why}"
            for test in targets
            if (why := contradicting_observation(self._greens[test], self._red_check.reds.get(test)))
        ]
        if contradicted:
            seen = "; ".join(contradicted[:3])
            reason = f"pytest says that it passed, and what was seen beside it says otherwise: {seen}."
            return self._verdict(VerdictKind.INCONCLUSIVE, reason, after=after)
        on_base = {*self._change.before.reached, *self.runs.reached_on_base}
        reached = new_harness_access(on_base, self.runs.reached_on_change)
        self._notes += filter(None, [describe_unchecked_languages(self._change.changed)])
        weaknesses = find_weaknesses(self._change, targets, self._greens)
        self.hashes = weaknesses.hashes
        rewritten = find_rewritten_tests(self._change, self.runs)
        found = [*reached, *self._worse, *weaknesses.doubts, *rewritten.gaps]
        found += self._change.find_gaps(targets, after)
        reds = [self._red_check.reds.get(test) or TestResult(id=test, outcome="failed") for test in targets]
        untied = self._change.find_untied(reds)
        if not targets:
            found.insert(0, "no test went from red to green")
        elif untied:
            found.insert(0, self._describe_untied(untied))
        edits = [describe_test_edits(rewritten.tests)] if rewritten.tests else []
        edits += weaknesses.weakened_tests
        is_accepted = self._change.accepts_test_edits and bool(edits)
        if is_accepted:
            self._notes += edits
        else:
            found = [*edits, *found]
            self._notes += (
                ["once you have looked at these edits, --accept-test-edits accepts them"] if edits else []
            )
        is_only_untied = bool(untied) and len(found) == 1
        scope = self._change.describe_scope(self.after)
        if targets:
            link = ", and" if self._change.part is None else ";"
            scope = f"{_tests(len(targets))} went from red to green{link} {scope}"
        reason = f"{scope[0].upper()}{scope[1:]}"
        if found:
            reason += f", but {'; '.join(found)}".rstrip(".")
        elif is_accepted:
            reason += ", with test edits accepted by the user"
        verdict = self._verdict(
            VerdictKind.PASSING if found else VerdictKind.PROVEN,
            f"{reason}.",
            targets=tuple(targets),
            after=after,
        )
        return verdict.model_copy(
            update={
                "untied": tuple(targets) if is_only_untied else (),
                "target_kinds": {test: self._change.target_kind(test) for test in targets},
                "missing_names": {
                    test: name for test, name in self._red_check.missing_names.items() if test in targets
                },
                "chosen_names": self._change.find_chosen_names(targets, self._red_check.missing_names),
                "replaced_assertions": self._change.find_replaced_assertions(rewritten.tests),
                "accepted_test_edits": is_accepted,
            }
        )

    def _describe_untied(self, untied: Sequence[str]) -> str:
        tests = ", ".join(map(shorten_test_id, untied[:3]))
        text = f"nothing ties {tests} to this issue"
        if not any(map(match_test_ids(self._named), untied)):
            return text
        return f"{text} (that the model names it is no evidence: name it, or what it shows, in the request)"

    def _confirm(self, suspected: Sequence[TestResult], report: TestReport) -> tuple[TestResult, ...]:
        """Return the suspected tests that the change breaks, seen again on both sides."""
        broken, notes = confirm_broken(self._change, self.runs, suspected, report)
        self._notes += notes
        return broken

    def _by_exit_code(self) -> Verdict:
        after = self.runs.on_change("suite", ())
        if after.problem is not None:
            return self._verdict(VerdictKind.INCONCLUSIVE, after.problem.text)
        command, before = f"`{after.command}`", self._change.before
        if broken := self._confirm(find_regressions(before, after, missing_counts=True), after):
            reason = f"{command} passed before the change and fails now."
            return self._verdict(VerdictKind.BROKEN, reason, broken=broken, after=after)
        if after.failures:
            reason = f"{command} fails on the change as before."
            return self._verdict(VerdictKind.PASSING, reason, still_red=after.failures, after=after)
        limit = "it gives an exit code only: which tests it ran, and why one failed, is not known"
        began = "failed before and passes now" if before.failures else "passes, as before"
        return self._verdict(VerdictKind.PASSING, f"{command} {began}, but {limit}.", after=after)

    def _verdict(
        self,
        kind: VerdictKind,
        reason: str,
        *,
        targets: tuple[str, ...] = (),
        broken: tuple[TestResult, ...] = (),
        still_red: tuple[TestResult, ...] = (),
        after: TestReport | None = None,
    ) -> Verdict:
        notes = tuple(dict.fromkeys(self._notes))
        return Verdict(
            kind=kind,
            reason=reason,
            notes=notes,
            targets=targets,
            broken=self._with_causes(broken),
            still_red=self._with_causes(still_red),
            after=after.outcome_counts if after is not None else None,
            scope="whole" if self._change.part is None else "impacted",
        )


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
    report = runs.run("red check", "tests", aims, seconds=seconds)
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
                    f"{shorten_test_id(test)} fails for want of {name}, which the issue is not about"
                    for test in untied[:SHOWN]
                ]
            targets += proving
        elif result.red or is_named(result.id):
            notes.append(f"{shorten_test_id(result.id)}: {reason}")
    if change.before.problem is None and (idle := _find_idle(change.before, checked, named)):
        notes.append(f"new tests that pass already on the base: {join_test_ids(idle)}")
    flaky: list[str] = []
    if targets:
        tests = targets if is_long(green) else aims
        flaky = _find_flaky(runs.run("red check, again", "tests", tests, seconds=seconds), targets)
    notes += [
        f"{shorten_test_id(target)} is red by turns without the change, so it proves nothing"
        for target in flaky
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
) -> tuple[tuple[TestResult, ...], list[str]]:
    """Run again, on both sides, what seems broken; return what the change broke, and notes on the rest."""
    gone = [result.id for result in suspected if is_gone(result)]
    renumbered, notes = _find_renumbered(change, runs, gone, report)
    renamed, more = _find_renamed(change, [test for test in gone if test not in renumbered], report)
    rest = [test for test in gone if test not in renumbered | renamed]
    generated, others = _find_renamed_generated(change, runs, rest, report)
    notes += [*more, *others]
    remaining = [result for result in suspected if result.id not in renumbered | renamed | generated]
    if not remaining or len(remaining) > MOST_RERUNS:
        return tuple(remaining), notes
    order = [result.id for result in report.results]
    examined = classify_failures(remaining, order, on_change=runs.on_change, on_base=runs.on_base)
    return examined.blamed, [*notes, *examined.notes]


def _find_renamed(
    change: JudgedChange, gone: Sequence[str], report: TestReport
) -> tuple[frozenset[str], list[str]]:
    """Return missing ids whose place passing tests of the change take that check as much, and notes."""
    if not gone:
        return frozenset(), []
    with change.split.checkout("base") as base, change.split.checkout("change") as changed:
        old, new = read_texts(base, change.tests), read_texts(changed, change.tests)
        paths = (*change.tests, *change.split.inline_tests)
        old_others, new_others = (read_texts(tree, paths, SUFFIXES) for tree in (base, changed))
    renamed: set[str] = set()
    notes = []
    for others in find_renamed_in(old_others, new_others):
        lost = [test for test in gone if _is_test_of(test, others.path, others.removed)]
        reds = [test for test in report.failures if _is_test_of(test.id, others.new_path, others.successors)]
        green = [
            result
            for result in report.results
            if result.outcome == "passed" and _is_test_of(result.id, others.new_path, others.successors)
        ]
        if lost and not reds and _checks_in_cases(others, len(green)) >= others.checks_before:
            renamed |= {*lost}
            notes.append(_describe_renaming(others))
    for succession in find_successions(old, new, dict.fromkeys(map(test_function_of, gone))):
        is_successor = match_test_ids(succession.successors)
        count_after = partial(_count_passing, report)
        if any(result.red and is_successor(result.id) for result in report.results) or has_fewer_checks(
            succession, old, new, count_before=partial(_count_passing, change.before), count_after=count_after
        ):
            continue
        renamed |= {test for test in gone if test_function_of(test) in succession.removed}
        cases = sum(map(count_after, succession.successors))
        count = f"[{cases} cases]" if cases > len(succession.successors) else ""
        notes.append(f"{join_names(succession.removed)} became {join_names(succession.successors)}{count}")
    return frozenset(renamed), notes


def _is_test_of(test: str, path: str, titles: Sequence[str]) -> bool:
    """Tell whether a test of a file has one of these titles; a program is all that its `main` tests."""
    return test_file_of(test) == path and (
        PROGRAM in titles or any(has_title(test, title) for title in titles)
    )


def _checks_in_cases(renamed: RenamedTests, cases: int) -> int:
    """Return how many checks successors make in so many passing cases."""
    return renamed.checks_after * cases // len(renamed.successors)


def _describe_renaming(renamed: RenamedTests) -> str:
    if renamed.path != renamed.new_path:
        return f"{_quote(renamed.removed)} moved from {renamed.path} to {renamed.new_path}"
    return f"{_quote(renamed.removed)} became {_quote(renamed.successors)}"


def _quote(titles: Sequence[str]) -> str:
    more = f" and {len(titles) - SHOWN} more" if len(titles) > SHOWN else ""
    return ", ".join(f"'{title}'" for title in titles[:SHOWN]) + more


def _count_passing(report: TestReport, function: str) -> int:
    """Return how many cases of a function pass, or are known to be there without having had to run."""
    results = {result.id: result.outcome == "passed" for result in report.results}
    cases = {*results, *report.collected}
    return sum(results.get(test, True) for test in cases if test_function_of(test) == function)


def _find_renumbered(
    change: JudgedChange, runs: Runs, gone: Sequence[str], report: TestReport
) -> tuple[frozenset[str], list[str]]:
    """Return missing ids of cases that have other ids now, and notes.

    As many cases pass as before, and where the change touched their file, the old cases pass too.
    """
    candidates = renumbered_cases(change.before, report, gone)
    touched = [test for test in candidates if change.touches_file_of(test)]
    old = runs.run("old cases", "sources", touched) if touched else None
    renamed = [test for test in candidates if test not in touched or (old is not None and passes(old, test))]
    functions = dict.fromkeys(test_function_of(test) for test in renamed)
    notes = [f"cases of {function} have other ids than before, and none is lost" for function in functions]
    return frozenset(renamed), notes


def _find_renamed_generated(
    change: JudgedChange, runs: Runs, gone: Sequence[str], report: TestReport
) -> tuple[frozenset[str], list[str]]:
    """Return missing tests that no function defines, and whose names new tests extend; and notes.

    A loop or a metaclass makes such tests. Those of the base pass on the changed sources, too.
    """
    candidates = [
        test for test in extended_tests(change.before, report, gone) if change.touches_file_of(test)
    ]
    if candidates:
        with change.split.checkout("base") as base:
            texts = read_texts(base, {*map(test_file_of, candidates)})
        candidates = [
            test
            for test in candidates
            if f"def {names_of(test)[-1]}(" not in texts.get(test_file_of(test), "")
        ]
    old = runs.run("old tests", "sources", candidates) if candidates else None
    renamed = [test for test in candidates if old is not None and passes(old, test)]
    files = dict.fromkeys(map(test_file_of, renamed))
    notes = [
        f"generated tests of {file} have other names than before, and the old ones pass" for file in files
    ]
    return frozenset(renamed), notes


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
        with change.trees.checkout(change.trees.base, ()) as base:
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
    return RewrittenTests(tuple(result.id for result in _find_lost(change, runs, old, part)), gaps)


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
    with change.trees.checkout(change.tree) as tree:
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
