"""Judgement of one change, step by step; each run gets a clean worktree of its own."""

from collections.abc import Mapping, Sequence

from coder.core.ports.sandbox import Progress
from coder.core.ports.tests import TestRunner
from coder.core.values.candidate import Patch
from coder.core.values.paths import file_of, is_test_file, meant
from coder.core.values.verdict import TestReport, TestResult, Tie, Verdict, VerdictKind
from coder.verify.impact.test_selection import Impacted
from coder.verify.results.comparison import (
    failing_alike,
    failing_inside,
    failing_otherwise,
    missing,
    no_longer_passing,
    passes,
    sentence,
    short,
    still_red,
)
from coder.verify.results.failure_reasons import why_not
from coder.verify.results.triage import triage, triaged, unable
from coder.verify.review.change_review import texts
from coder.verify.review.doctests import same_examples
from coder.verify.verdict.caps import contradiction, newly_reached
from coder.verify.verdict.flaky import recovered
from coder.verify.verdict.judged_change import JudgedChange
from coder.verify.verdict.regressions import confirm_broken, find_missing_packages, find_rewritten_tests
from coder.verify.verdict.runs import WHOLE, Runs, SuiteLimits, Trees
from coder.verify.verdict.weaknesses import find_weaknesses
from coder.verify.warm.warm_base import FirstLook
from coder.workspace.files import counted

PARTIAL = ("timeout", "crash", "no_tests")
"""Problems of a run whose results so far can still be read; any other means that nothing was learnt."""
NOTHING_YET = FirstLook()


class Judgement:
    """One change, the tests named for it, and the base's own report."""

    def __init__(
        self,
        *,
        trees: Trees,
        runner: TestRunner,
        issue: str,
        patch: Patch,
        named: Sequence[str],
        before: TestReport,
        progress: Progress | None,
        first: FirstLook = NOTHING_YET,
        ties: Mapping[str, Tie] | None = None,
        asked: Sequence[str] = (),
        part: Impacted | None = None,
        limits: SuiteLimits = WHOLE,
    ) -> None:
        """`ties` link red tests of the base to the issue, None where none is needed; the user named `asked`.

        `part` are test files that stand for the suite (None: all); `before` holds the results of either.
        """
        self._change = JudgedChange(
            trees=trees, tree=patch.tree, issue=issue, before=before, part=part, limits=limits
        )
        self._ties = ties
        self._is_asked = meant(asked)
        self._named = tuple(
            dict.fromkeys((*named, *(test for test, tie in (ties or {}).items() if tie != "identifier")))
        )
        self._first = first
        self._notes: list[str] = []
        self._aims: tuple[str, ...] = ()  # the same on both sides: no test can tell which one it is on
        self._greens: Mapping[str, TestResult] = {}
        self._reds: dict[str, TestResult] = {}
        self._worse: list[str] = []
        self._weak: tuple[TestResult, ...] = ()  # red on the change, weakly tied: count if no other is green
        self.runs = Runs(
            trees=trees,
            runner=runner,
            tree=patch.tree,
            sources=self._change.sources,
            before=before,
            progress=progress,
        )
        self.hashes: dict[str, str] = {}  # SHA-256 of the targets' files, by path
        self.after: TestReport | None = None  # the whole suite on the change

    def judge(self) -> Verdict:
        """Return the verdict, without what the caller knows (counts before, seconds, tree)."""
        problem = self._change.before.problem
        if problem is not None and problem.kind not in ("timeout", "no_tests"):
            return self._verdict(VerdictKind.INCONCLUSIVE, f"The base could not be tested: {problem.text}")
        if self._change.before.by_exit_code:
            return self._by_exit_code()
        if self._change.before.indirect:
            self._notes.append(
                f"known from the report of `{self._change.before.command}` alone: "
                "no test can be run by itself there"
            )
        greens, verdict = self._aimed()
        if verdict is not None:
            return verdict
        targets, verdict = self._red_before(greens)
        if verdict is None and not targets and self._weak:
            return self._not_fixed(self._weak)
        return verdict or self._suite(targets)

    def _aimed(self) -> tuple[Mapping[str, TestResult], Verdict | None]:
        """Run what the change is about; return the tests that pass, or a verdict that is certain already."""
        files = [path for path in self._change.tests if is_test_file(path)]
        about = [*self._named, *files, *self._first.suspects]
        self._aims = tuple(dict.fromkeys([*about, *(result.id for result in self._change.before.reds)]))
        if not self._aims:
            return {}, None
        report = self.runs.run("targets", self._change.tree, None, self._aims)
        if report.problem is not None and (
            report.problem.kind not in PARTIAL or report.problem.kind == "timeout"
        ):
            return {}, self._verdict(VerdictKind.INCONCLUSIVE, report.problem.text)
        is_about = meant(about)
        suspected = no_longer_passing(
            self._change.before, report, among=is_about, missing_counts=report.problem is None
        )
        if unmet := self._needs_packages(report):
            return {}, unmet
        broken = self._confirm(suspected, report)
        if broken:
            reason = (
                f"{_tests(len(broken))} that passed before: {sentence(broken)}; the whole suite was not run"
            )
            return {}, self._verdict(VerdictKind.BROKEN, f"The change breaks {reason}.", broken=broken)
        weakly = tuple(result.id for result in self._change.before.reds if self._is_weak(result.id))
        asked_for = (*self._named, *(test for test in weakly if test in (self._ties or {})))
        every = self._with_causes(still_red(self._change.before, report, named=asked_for, about=is_about))
        self._weak = tuple(result for result in every if result.id in weakly)
        reds = tuple(result for result in every if result not in self._weak)
        if reds and all(result.cause == "environment" for result in reds):
            lacking = triage(reds[0], before=reds[0])[1]
            judged = f"{_tests(len(reds))} that the change is judged by"
            reason = f"{judged} cannot run on this machine, {lacking}: {sentence(reds)}."
            return {}, self._verdict(VerdictKind.INCONCLUSIVE, reason, still_red=reds)
        if reds:
            return {}, self._not_fixed((*reds, *self._weak))
        if report.problem is not None and report.problem.kind == "crash":
            return {}, self._verdict(VerdictKind.INCONCLUSIVE, report.problem.text)
        self._notes += [
            f"{short(name)}, which was named, does not exist" for name in missing(self._named, report)
        ]
        self._greens = {result.id: result for result in report.results if result.outcome == "passed"}
        return self._greens, None

    def _needs_packages(self, report: TestReport) -> Verdict | None:
        """Return the verdict on a change that needs packages that are not installed; None for any other."""
        packages, reds = find_missing_packages(self._change, report)
        if not packages:
            return None
        lacking = f"{', '.join(packages)}, which {'are' if len(packages) > 1 else 'is'} not installed"
        reason = f"The change needs {lacking} for the project's interpreter: {sentence(reds)}."
        unmet = tuple(result.model_copy(update={"cause": "environment"}) for result in reds)
        return self._verdict(VerdictKind.INCONCLUSIVE, reason, still_red=unmet)

    def _not_fixed(self, reds: Sequence[TestResult]) -> Verdict:
        reason = f"{_tests(len(reds))} not green on the change: {sentence(reds)}; the whole suite was not run"
        return self._verdict(VerdictKind.PASSING, f"The issue is not fixed, {reason}.", still_red=tuple(reds))

    def _is_weak(self, test: str) -> bool:
        """Tell whether at most an identifier ties this test of the base to the issue."""
        if self._ties is None or self._is_asked(test) or file_of(test) in self._change.tests:
            return False
        return self._ties.get(test, "identifier") == "identifier"

    def _find_untied(self, targets: Sequence[str]) -> list[str]:
        """Return the targets if nothing ties any of them to the issue."""
        loose = [
            test
            for test in targets
            if self._is_weak(test)
            and test not in (self._ties or {})
            and self._change.before.of(test) is not None
        ]
        return loose if len(loose) == len(targets) else []

    def _with_causes(self, reds: Sequence[TestResult]) -> tuple[TestResult, ...]:
        return tuple(triaged(result, before=self._change.before.of(result.id)) for result in reds)

    def _red_before(self, greens: Mapping[str, TestResult]) -> tuple[tuple[str, ...], Verdict | None]:
        """Return those of the green tests that are red for the right reason on the base with the change's tests.

        A doctest of a changed source file counts where the file's examples are the same on both sides.
        """
        documented = [path for path in dict.fromkeys(map(file_of, greens)) if path in self._change.sources]
        kept = self._same_examples(documented) if documented else frozenset()
        same = [test for test in greens if file_of(test) not in self._change.sources or file_of(test) in kept]
        suspects = [
            test
            for test in same
            if file_of(test) in self._change.tests or not passes(self._change.before, test)
        ]
        if not suspects:
            return (), None
        report = self.runs.run("red check", self._change.tree, self._change.tests, self._aims)
        if report.problem is not None and report.problem.kind not in PARTIAL:
            return (), self._verdict(VerdictKind.INCONCLUSIVE, report.problem.text)
        targets: list[str] = []
        is_named = meant(self._named)
        known_suspects = frozenset(suspects)  # a file that cannot be collected stands for its tests
        checked = [
            result
            for result in report.results
            if result.id in known_suspects or (result.red and any(map(meant([result.id]), suspects)))
        ]
        self._reds = {result.id: result for result in checked}
        for result in checked:
            unchanged = file_of(result.id) not in self._change.tests
            reason = why_not(
                result,
                issue=self._change.issue,
                unchanged=unchanged,
                mended=self._change.sources,
                after=greens.get(result.id),
            )
            if not reason:
                # A file that cannot be collected stands for all of its tests.
                targets += filter(meant([result.id]), suspects)
            elif result.red or is_named(result.id):
                self._notes.append(f"{short(result.id)}: {reason}")
        known = {result.id.partition("[")[0] for result in self._change.before.results}
        idle = [
            result
            for result in checked
            if result.green and not is_named(result.id) and result.id.partition("[")[0] not in known
        ]
        if idle and self._change.before.problem is None:
            self._notes.append(f"new tests that pass already on the base: {sentence(idle)}")
        return self._red_again(targets), None

    def _same_examples(self, paths: Sequence[str]) -> frozenset[str]:
        with (
            self._change.trees.checkout(self._change.trees.base, ()) as old,
            self._change.trees.checkout(self._change.tree) as new,
        ):
            return same_examples(texts(old, paths), texts(new, paths))

    def _red_again(self, targets: Sequence[str]) -> tuple[str, ...]:
        """Return those that are red a second time: a flaky test proves nothing."""
        if not targets:
            return ()
        again = self.runs.run("red check, again", self._change.tree, self._change.tests, self._aims)
        flaky = [target for target in targets if (result := again.of(target)) is None or not result.red]
        self._notes += [
            f"{short(target)} is red by turns without the change, so it proves nothing" for target in flaky
        ]
        return tuple(target for target in targets if target not in flaky)

    def _suite(self, targets: Sequence[str]) -> Verdict:
        """Run everything on the change, or what stands for it, and compare it with the base."""
        self.after = after = self._run_suite()
        problem = after.problem
        if problem is not None and problem.kind not in PARTIAL:
            return self._verdict(VerdictKind.INCONCLUSIVE, problem.text)
        if unmet := self._needs_packages(after):
            return unmet
        whole = problem is None or problem.kind == "no_tests"
        suspected = no_longer_passing(self._change.before, after, missing_counts=whole)
        if broken := self._confirm(suspected, after):
            reason = f"The change breaks {_tests(len(broken))} that passed before: {sentence(broken)}."
            return self._verdict(
                VerdictKind.BROKEN, reason, targets=tuple(targets), broken=broken, after=after
            )
        if problem is not None and problem.kind == "crash":
            return self._verdict(VerdictKind.INCONCLUSIVE, problem.text, after=after)
        aims = meant(targets)
        if red := tuple(result for result in after.reds if aims(result.id) or self._is_new(result)):
            if flaky := recovered(
                red, [result.id for result in after.results], on_change=self.runs.on_change
            ):
                judged = f"{_tests(len(flaky))} that the change is judged by"
                reason = f"{judged} failed and passed in the same suite: {sentence(flaky)}."
                return self._verdict(VerdictKind.INCONCLUSIVE, reason, still_red=flaky, after=after)
            judged = f"{_tests(len(red))} that the change adds or is judged by"
            reason = f"{judged} fail in the whole suite: {sentence(red)}."
            return self._verdict(VerdictKind.PASSING, reason, still_red=red, after=after)
        if not targets and unable(self._change.before) and (lacking := unable(after)):
            return self._verdict(
                VerdictKind.INCONCLUSIVE,
                f"No test of the project can run on this machine: {lacking}.",
                after=after,
            )
        self._worse = failing_inside(self._change.before, after, self._change.sources)
        self._notes += [] if self._worse else failing_otherwise(self._change.before, after)
        if not targets:
            self._notes += failing_alike(self._change.before, after)
        return self._conclusion(targets, after)

    def _run_suite(self) -> TestReport:
        """Run the suite on the change, or the impacted tests that stand for it."""
        if self._change.part is None:
            return self.runs.on_change("suite", ())
        if files := self._change.impacted_files():
            seconds = self._change.limits.impacted_seconds
            return self.runs.on_change("impacted tests", files, seconds=seconds)
        return TestReport(command=self._change.before.command)

    def _is_new(self, result: TestResult) -> bool:
        return self._change.before.problem is None and self._change.before.of(result.id) is None

    def _conclusion(self, targets: Sequence[str], after: TestReport) -> Verdict:
        contradicted = [
            f"{short(test)}: {why}"
            for test in targets
            if (why := contradiction(self._greens[test], self._reds.get(test)))
        ]
        if contradicted:
            seen = "; ".join(contradicted[:3])
            reason = f"pytest says that it passed, and what was seen beside it says otherwise: {seen}."
            return self._verdict(VerdictKind.INCONCLUSIVE, reason, after=after)
        reached = newly_reached(self.runs.reached_on_base, self.runs.reached_on_change)
        weaknesses, self.hashes = find_weaknesses(self._change, targets, self._greens)
        found = [*reached, *self._worse, *weaknesses, *find_rewritten_tests(self._change, self.runs)]
        if self._change.part is not None and self._change.limits.whole_seconds is None:
            found.append("the whole suite takes longer than its limit")
        for report, where in ((self._change.before, "on the base"), (after, "on the change")):
            if report.problem is not None and report.problem.kind == "timeout":
                suite = "suite" if self._change.part is None else "impacted tests"
                found.append(f"only a part of the {suite} could be run {where}: {report.problem.text}")
        was_cut = after.problem is not None and after.problem.kind == "timeout"
        if not was_cut and (unseen := [short(target) for target in targets if after.of(target) is None]):
            found.append(f"the suite as it is run does not run {', '.join(unseen[:3])}")
        untied = self._find_untied(targets) if targets else []
        if not targets:
            found.insert(0, "no test went from red to green")
        elif untied:
            found.insert(0, f"nothing ties {', '.join(map(short, untied[:3]))} to this issue")
        if found:
            scope = self._change.describe_scope(self.after)
            reason = f"{scope[0].upper()}{scope[1:]}, but {'; '.join(found)}"
            verdict = self._verdict(
                VerdictKind.PASSING, reason.rstrip(".") + ".", targets=tuple(targets), after=after
            )
            return (
                verdict.model_copy(update={"untied": tuple(targets)})
                if untied and len(found) == 1
                else verdict
            )
        link = ", and" if self._change.part is None else ";"
        reason = (
            f"{_tests(len(targets))} went from red to green{link} {self._change.describe_scope(self.after)}."
        )
        return self._verdict(VerdictKind.PROVEN, reason, targets=tuple(targets), after=after)

    def _confirm(self, suspected: Sequence[TestResult], report: TestReport) -> tuple[TestResult, ...]:
        """Return the suspected tests that the change breaks, seen again on both sides."""
        broken, notes = confirm_broken(self._change, self.runs, suspected, report)
        self._notes += notes
        return broken

    def _by_exit_code(self) -> Verdict:
        after = self.runs.run("suite", self._change.tree, None, ())
        if after.problem is not None:
            return self._verdict(VerdictKind.INCONCLUSIVE, after.problem.text)
        command, before = f"`{after.command}`", self._change.before
        if broken := self._confirm(no_longer_passing(before, after, missing_counts=True), after):
            reason = f"{command} passed before the change and fails now."
            return self._verdict(VerdictKind.BROKEN, reason, broken=broken, after=after)
        if after.reds:
            reason = f"{command} fails on the change as before."
            return self._verdict(VerdictKind.PASSING, reason, still_red=after.reds, after=after)
        limit = "it gives an exit code only: which tests it ran, and why one failed, is not known"
        began = "failed before and passes now" if before.reds else "passes, as before"
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
        counts = after.counts if after is not None else None
        notes = tuple(dict.fromkeys(self._notes))
        return Verdict(
            kind=kind,
            reason=reason,
            notes=notes,
            targets=targets,
            broken=self._with_causes(broken),
            still_red=self._with_causes(still_red),
            after=counts,
            scope="whole" if self._change.part is None else "impacted",
        )


def _tests(count: int) -> str:
    return counted(count, "test")
