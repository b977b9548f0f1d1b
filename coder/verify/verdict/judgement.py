"""The judging of one change, step by step; each run gets a clean worktree of its own."""

from collections.abc import Mapping, Sequence

from coder.core.ports.sandbox import Progress
from coder.core.ports.tests import TestRunner
from coder.core.values.candidate import Patch
from coder.core.values.paths import file_of, is_test_file, is_test_path, meant
from coder.core.values.verdict import TestReport, TestResult, Tie, Verdict, VerdictKind
from coder.verify.impact.test_selection import Impacted, naming
from coder.verify.results.comparison import (
    failing_alike,
    failing_inside,
    failing_otherwise,
    is_gone,
    missing,
    no_longer_passing,
    passes,
    renumbered,
    sentence,
    short,
    still_red,
)
from coder.verify.results.failure_reasons import why_not
from coder.verify.results.triage import needed_packages, triage, triaged, unable
from coder.verify.review.change_review import doubts, texts
from coder.verify.review.doctests import same_examples
from coder.verify.review.weak_tests import definitions_changed, weak_tests
from coder.verify.verdict.caps import contradiction, newly_reached, runner_files, vacuous
from coder.verify.verdict.evidence import hash_of
from coder.verify.verdict.flaky import examine, recovered
from coder.verify.verdict.runs import WHOLE, Runs, SuiteLimits, Trees, lost_by_old_tests
from coder.verify.warm.warm_base import FirstLook
from coder.workspace.files import counted

PARTIAL = ("timeout", "crash", "no_tests")
"""Problems of a run whose results so far can still be read; any other means that nothing was learnt."""
NOTHING_YET = FirstLook()
RERUN = (
    50  # at most so many tests that seem broken are run again one more time; with more, it is no flakiness
)


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
        """`ties` are those of the base's red tests to the issue, None where none is needed; `asked` are tests that the user named.

        `part` are the test files that stand for the suite; None is the whole, and `before` holds the results of either.
        """
        self._trees = trees
        self._issue = issue
        self._tree = patch.tree
        self._ties = ties
        self._is_asked = meant(asked)
        self._named = tuple(
            dict.fromkeys((*named, *(test for test, tie in (ties or {}).items() if tie != "identifier")))
        )
        self._before = before
        self._first = first
        self._changed = trees.changed(patch.tree)
        self._tests = tuple(path for path in self._changed if is_test_path(path))
        self._sources = tuple(path for path in self._changed if not is_test_path(path))
        self._notes: list[str] = []
        self._part = part
        self._limits = limits
        self._aims: tuple[
            str, ...
        ] = ()  # the same selection on both sides: nothing tells a test on which one it is
        self._greens: Mapping[str, TestResult] = {}
        self._reds: dict[str, TestResult] = {}
        self._worse: list[str] = []
        self._weak: tuple[
            TestResult, ...
        ] = ()  # red on the change, and tied weakly: they count while no other test turned green
        self.runs = Runs(
            trees=trees,
            runner=runner,
            tree=patch.tree,
            sources=self._sources,
            before=before,
            progress=progress,
        )
        self.hashes: dict[str, str] = {}  # SHA-256 of the targets' files, by path
        self.after: TestReport | None = None  # the whole suite on the change

    def judge(self) -> Verdict:
        """The verdict, without what the caller knows (counts before, seconds, tree)."""
        problem = self._before.problem
        if problem is not None and problem.kind not in ("timeout", "no_tests"):
            return self._verdict(VerdictKind.INCONCLUSIVE, f"The base could not be tested: {problem.text}")
        if self._before.by_exit_code:
            return self._by_exit_code()
        if self._before.indirect:
            self._notes.append(
                f"known from the report of `{self._before.command}` alone: no test can be run by itself there"
            )
        greens, verdict = self._aimed()
        if verdict is not None:
            return verdict
        targets, verdict = self._red_before(greens)
        if verdict is None and not targets and self._weak:
            return self._not_fixed(self._weak)
        return verdict or self._suite(targets)

    def _aimed(self) -> tuple[Mapping[str, TestResult], Verdict | None]:
        """Run what the change is about, on the change: the tests that pass, or a verdict if that is one already."""
        files = [path for path in self._tests if is_test_file(path)]
        about = [*self._named, *files, *self._first.suspects]
        self._aims = tuple(dict.fromkeys([*about, *(result.id for result in self._before.reds)]))
        if not self._aims:
            return {}, None
        report = self.runs.run("targets", self._tree, None, self._aims)
        if report.problem is not None and (
            report.problem.kind not in PARTIAL or report.problem.kind == "timeout"
        ):
            return {}, self._verdict(VerdictKind.INCONCLUSIVE, report.problem.text)
        is_about = meant(about)
        suspected = no_longer_passing(
            self._before, report, among=is_about, missing_counts=report.problem is None
        )
        if unmet := self._needs_packages(report):
            return {}, unmet
        broken = self._confirmed(suspected, report)
        if broken:
            reason = (
                f"{_tests(len(broken))} that passed before: {sentence(broken)}; the whole suite was not run"
            )
            return {}, self._verdict(VerdictKind.BROKEN, f"The change breaks {reason}.", broken=broken)
        weakly = tuple(result.id for result in self._before.reds if self._is_weak(result.id))
        asked_for = (*self._named, *(test for test in weakly if test in (self._ties or {})))
        every = self._with_causes(still_red(self._before, report, named=asked_for, about=is_about))
        self._weak = tuple(result for result in every if result.id in weakly)
        reds = tuple(result for result in every if result not in self._weak)
        if reds and all(result.cause == "environment" for result in reds):
            lacking = triage(reds[0], before=reds[0])[1]
            reason = f"{_tests(len(reds))} that the change is judged by cannot run on this machine, {lacking}: {sentence(reds)}."
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
        """Return the verdict on a change that needs packages which nobody has installed; None where anything else fails anew."""
        was = {result.id: result.failure.message if result.failure else "" for result in self._before.reds}
        anew = [
            result
            for result in report.reds
            if result.failure is None or was.get(result.id) != result.failure.message
        ]
        reds = [result for result in anew if result.failure and result.failure.type == "ModuleNotFoundError"]
        if not reds or any(result not in reds for result in anew if result.id not in was):
            return None
        with self._trees.checkout(self._tree) as tree:
            packages = needed_packages(reds, tree)
        if not packages:
            return None
        are = "are" if len(packages) > 1 else "is"
        reason = f"The change needs {', '.join(packages)}, which {are} not installed for the project's interpreter: {sentence(reds)}."
        lacking = tuple(result.model_copy(update={"cause": "environment"}) for result in reds)
        return self._verdict(VerdictKind.INCONCLUSIVE, reason, still_red=lacking)

    def _not_fixed(self, reds: Sequence[TestResult]) -> Verdict:
        reason = f"{_tests(len(reds))} not green on the change: {sentence(reds)}; the whole suite was not run"
        return self._verdict(VerdictKind.PASSING, f"The issue is not fixed, {reason}.", still_red=tuple(reds))

    def _is_weak(self, test: str) -> bool:
        """Does at most an identifier tie this test of the base to the issue?"""
        if self._ties is None or self._is_asked(test) or file_of(test) in self._tests:
            return False
        return self._ties.get(test, "identifier") == "identifier"

    def _find_untied(self, targets: Sequence[str]) -> list[str]:
        """Return the targets if nothing ties any of them to the issue."""
        loose = [
            test
            for test in targets
            if self._is_weak(test) and test not in (self._ties or {}) and self._before.of(test) is not None
        ]
        return loose if len(loose) == len(targets) else []

    def _with_causes(self, reds: Sequence[TestResult]) -> tuple[TestResult, ...]:
        return tuple(triaged(result, before=self._before.of(result.id)) for result in reds)

    def _red_before(self, greens: Mapping[str, TestResult]) -> tuple[tuple[str, ...], Verdict | None]:
        """Which of the green tests are red for the right reason on the base with the change's tests.

        A test inside of a changed source file (a doctest) counts where the file's examples are the same on both sides.
        """
        documented = [path for path in dict.fromkeys(map(file_of, greens)) if path in self._sources]
        kept = self._same_examples(documented) if documented else frozenset()
        same = [test for test in greens if file_of(test) not in self._sources or file_of(test) in kept]
        suspects = [test for test in same if file_of(test) in self._tests or not passes(self._before, test)]
        if not suspects:
            return (), None
        report = self.runs.run("red check", self._tree, self._tests, self._aims)
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
            unchanged = file_of(result.id) not in self._tests
            reason = why_not(
                result,
                issue=self._issue,
                unchanged=unchanged,
                mended=self._sources,
                after=greens.get(result.id),
            )
            if not reason:
                targets += filter(
                    meant([result.id]), suspects
                )  # of a file that cannot be collected its tests are meant
            elif result.red or is_named(result.id):
                self._notes.append(f"{short(result.id)}: {reason}")
        known = {result.id.partition("[")[0] for result in self._before.results}
        idle = [
            result
            for result in checked
            if result.green and not is_named(result.id) and result.id.partition("[")[0] not in known
        ]
        if idle and self._before.problem is None:
            self._notes.append(f"new tests that pass already on the base: {sentence(idle)}")
        return self._red_again(targets), None

    def _same_examples(self, paths: Sequence[str]) -> frozenset[str]:
        with self._trees.checkout(self._trees.base, ()) as old, self._trees.checkout(self._tree) as new:
            return same_examples(texts(old, paths), texts(new, paths))

    def _red_again(self, targets: Sequence[str]) -> tuple[str, ...]:
        """Those that are red a second time: one that is red by turns proves nothing."""
        if not targets:
            return ()
        again = self.runs.run("red check, again", self._tree, self._tests, self._aims)
        flaky = [target for target in targets if (result := again.of(target)) is None or not result.red]
        self._notes += [
            f"{short(target)} is red by turns without the change, so it proves nothing" for target in flaky
        ]
        return tuple(target for target in targets if target not in flaky)

    def _suite(self, targets: Sequence[str]) -> Verdict:
        """Run everything on the change, or what stands for it, and compare it with the base."""
        self.after = after = self._everything()
        problem = after.problem
        if problem is not None and problem.kind not in PARTIAL:
            return self._verdict(VerdictKind.INCONCLUSIVE, problem.text)
        if unmet := self._needs_packages(after):
            return unmet
        whole = problem is None or problem.kind == "no_tests"
        suspected = no_longer_passing(self._before, after, missing_counts=whole)
        if broken := self._confirmed(suspected, after):
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
                reason = f"{_tests(len(flaky))} that the change is judged by failed and passed in the same suite: {sentence(flaky)}."
                return self._verdict(VerdictKind.INCONCLUSIVE, reason, still_red=flaky, after=after)
            reason = f"{_tests(len(red))} that the change adds or is judged by fail in the whole suite: {sentence(red)}."
            return self._verdict(VerdictKind.PASSING, reason, still_red=red, after=after)
        if not targets and unable(self._before) and (lacking := unable(after)):
            return self._verdict(
                VerdictKind.INCONCLUSIVE,
                f"No test of the project can run on this machine: {lacking}.",
                after=after,
            )
        self._worse = failing_inside(self._before, after, self._sources)
        self._notes += [] if self._worse else failing_otherwise(self._before, after)
        if not targets:
            self._notes += failing_alike(self._before, after)
        return self._conclusion(targets, after)

    def _everything(self) -> TestReport:
        """Run the suite on the change, or the impacted tests that stand for it."""
        if self._part is None:
            return self.runs.on_change("suite", ())
        with self._trees.checkout(self._tree) as new:
            files = [path for path in self._part.files if (new / path).is_file()]
        return (
            self.runs.on_change("impacted tests", files, seconds=self._limits.impacted_seconds)
            if files
            else TestReport(command=self._before.command)
        )

    def _scope(self) -> str:
        """Return what was looked at for new failures, as the end of a sentence."""
        if self._part is None or self.after is None:
            return "nothing that passed before fails now"
        files = f"{len(self._part.files)} of {self._part.total} test files"
        return f"no new failures in {counted(len(self.after.results), 'impacted test')} ({files})"

    def _is_new(self, result: TestResult) -> bool:
        return self._before.problem is None and self._before.of(result.id) is None

    def _conclusion(self, targets: Sequence[str], after: TestReport) -> Verdict:
        if told := [
            f"{short(test)}: {why}"
            for test in targets
            if (why := contradiction(self._greens[test], self._reds.get(test)))
        ]:
            reason = f"pytest says that it passed, and what was seen beside it says otherwise: {'; '.join(told[:3])}."
            return self._verdict(VerdictKind.INCONCLUSIVE, reason, after=after)
        reached = newly_reached(self.runs.reached_on_base, self.runs.reached_on_change)
        found = [*reached, *self._worse, *self._doubts(targets), *self._rewritten()]
        if self._part is not None and self._limits.whole_seconds is None:
            found.append("the whole suite takes longer than its limit")
        for report, where in ((self._before, "on the base"), (after, "on the change")):
            if report.problem is not None and report.problem.kind == "timeout":
                suite = "suite" if self._part is None else "impacted tests"
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
            scope = self._scope()
            reason = f"{scope[0].upper()}{scope[1:]}, but {'; '.join(found)}"
            verdict = self._verdict(
                VerdictKind.PASSING, reason.rstrip(".") + ".", targets=tuple(targets), after=after
            )
            return (
                verdict.model_copy(update={"untied": tuple(targets)})
                if untied and len(found) == 1
                else verdict
            )
        link = ", and" if self._part is None else ";"
        reason = f"{_tests(len(targets))} went from red to green{link} {self._scope()}."
        return self._verdict(VerdictKind.PROVEN, reason, targets=tuple(targets), after=after)

    def _rewritten(self) -> list[str]:
        """Tests that passed before and do not pass on the changed sources when the tests stay as they were."""
        if not self._tests:
            return []
        part: tuple[str, ...] = ()
        if all(map(is_test_file, self._tests)):
            with self._trees.checkout(self._trees.base, ()) as old:
                part = naming(old, self._tests)
            if not part:
                return []
        elif self._part is not None:
            part = self._part.files
        lost = lost_by_old_tests(self.runs, self._before, self._tree, self._sources, part)
        return (
            [
                f"{_tests(len(lost))} that passed before fail where the change's own tests are left out: {sentence(lost)}"
            ]
            if lost
            else []
        )

    def _doubts(self, targets: Sequence[str]) -> list[str]:
        """What the change itself gives reason to doubt."""
        with self._trees.checkout(self._trees.base, ()) as old, self._trees.checkout(self._tree) as new:
            self.hashes = {path: hash_of(new / path) for path in sorted(set(map(file_of, targets)))}
            red_before = [result.id for result in self._before.reds]
            found = list(
                doubts(old, new, self._changed, red_before=red_before, targets=targets, issue=self._issue)
            )
            greens = [self._greens[test] for test in targets]
            found += vacuous(texts(new, self.hashes), greens, self._before)
            changed = definitions_changed(texts(old, self._sources), texts(new, self._sources))
            found += weak_tests(
                texts(new, self.hashes), greens, self._before, changed=changed, issue=self._issue
            )
        if self._before.indirect and (files := runner_files(self._before.command, self._changed)):
            found.append(f"the change touches how tests run ({', '.join(files[:3])})")
        return found

    def _confirmed(self, seeming: Sequence[TestResult], report: TestReport) -> tuple[TestResult, ...]:
        """Run what seems broken again on both sides: only what fails again, and only on the change, is its fault."""
        renamed = self._renamed([result.id for result in seeming if is_gone(result)], report)
        suspected = [result for result in seeming if result.id not in renamed]
        if not suspected or len(suspected) > RERUN:
            return tuple(suspected)
        order = [result.id for result in report.results]
        examined = examine(suspected, order, on_change=self.runs.on_change, on_base=self.runs.on_base)
        self._notes += examined.notes
        return examined.blamed

    def _renamed(self, gone: Sequence[str], report: TestReport) -> frozenset[str]:
        """Missing ids that stand for nothing lost: as many cases pass; where the change touched their file, the old cases pass too."""
        candidates = renumbered(self._before, report, gone)
        asked = [test for test in candidates if file_of(test) in self._tests]
        old = self.runs.run("old cases", self._tree, self._sources, asked) if asked else None
        renamed = [
            test for test in candidates if test not in asked or (old is not None and passes(old, test))
        ]
        for function in dict.fromkeys(test.partition("[")[0] for test in renamed):
            self._notes.append(f"cases of {function} have other ids than before, and none is lost")
        return frozenset(renamed)

    def _by_exit_code(self) -> Verdict:
        after = self.runs.run("suite", self._tree, None, ())
        if after.problem is not None:
            return self._verdict(VerdictKind.INCONCLUSIVE, after.problem.text)
        if broken := self._confirmed(no_longer_passing(self._before, after, missing_counts=True), after):
            return self._verdict(
                VerdictKind.BROKEN,
                f"`{after.command}` passed before the change and fails now.",
                broken=broken,
                after=after,
            )
        limit = "it gives an exit code only: which tests it ran, and why one failed, is not known"
        if after.reds:
            return self._verdict(
                VerdictKind.PASSING,
                f"`{after.command}` fails on the change as before.",
                still_red=after.reds,
                after=after,
            )
        began = "failed before and passes now" if self._before.reds else "passes, as before"
        return self._verdict(VerdictKind.PASSING, f"`{after.command}` {began}, but {limit}.", after=after)

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
            scope="whole" if self._part is None else "impacted",
        )


def _tests(count: int) -> str:
    return counted(count, "test")
