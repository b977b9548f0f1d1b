"""Judgement of one change, step by step; each run gets a clean worktree of its own."""

from collections.abc import Callable, Mapping, Sequence

from coder.core.paths import match_test_ids, test_file_of
from coder.core.ports import Progress, SelectiveTestRunner
from coder.core.verdict import TestReport, TestResult, Verdict, VerdictKind
from coder.verify.change.judged_change import JudgedChange
from coder.verify.change.runs import Runs, patience
from coder.verify.results.comparison import (
    describe_changed_failures,
    describe_failures_in_changed_code,
    describe_old_failures,
    find_regressions,
    join_test_ids,
    shorten_test_id,
    unmatched_names,
    unmet_targets,
)
from coder.verify.results.triage import (
    classify_failure,
    describe_missing_tests,
    environment_problem_of_all,
    with_cause,
)
from coder.verify.review.change_review import describe_unchecked_languages
from coder.verify.verdict.caps import contradicting_observation, new_harness_access
from coder.verify.verdict.flaky import recovered_tests
from coder.verify.verdict.red_check import PARTIAL, RedCheck, check_red
from coder.verify.verdict.regressions import (
    confirm_broken,
    describe_test_edits,
    find_missing_packages,
    find_rewritten_tests,
)
from coder.verify.verdict.weaknesses import find_weaknesses
from coder.verify.warm.warm_base import WarmFirstRun
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
