"""First stage of a verdict: runs of a change's tests on four contents, and the facts that they show.

The four contents are the base, the base with the tests of the change, the sources of the change with the
base's tests, and the change; `ChangeSplit` checks them out as the sides `base`, `tests`, `sources` and
`change`.
"""

import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath

from coder.core.events import TargetsGreen
from coder.core.paths import match_test_ids, test_file_of, test_function_of, test_name_of
from coder.core.verdict import (
    ISSUE_EXAMPLE,
    Cause,
    Effect,
    Failure,
    IssueTie,
    RunProblem,
    TestReport,
    TestResult,
)
from coder.core.verdict_summary import condense_tests
from coder.verify.base import (
    AS_BEFORE,
    CONFIRMATION,
    CONFIRMATION_ON_BASE,
    LEAST_FILE,
    OLD_ON_BASE,
    OLD_ON_CHANGE,
    REACHING,
    SUITE,
    TARGETS,
    TARGETS_AGAIN,
    TARGETS_ON_BASE,
    TARGETS_ON_BASE_AGAIN,
    WITH_HELPERS,
    WITH_HELPERS_ALONE,
    BaseTests,
    Runs,
    Scope,
    SideRun,
    next_chunk_size,
)
from coder.verify.change import JudgedChange, Side
from coder.verify.checks import add_weaknesses, contradicting_observation, find_harness, new_harness_access
from coder.verify.example import ExampleAnswer
from coder.verify.results import (
    NEVER_ENDING,
    describe_lack,
    describe_missing_tests,
    describe_old_failures,
    environment_problem_of_all,
    find_missing_name,
    find_regressions,
    has_found_port_taken,
    is_excluded,
    is_gone,
    is_unbuilt,
    join_test_ids,
    lacks_added_name,
    limit_notes,
    match_result,
    merge_reports,
    missing_module,
    needed_packages,
    passes,
    shorten_test_id,
    tests_among,
    unmatched_names,
    with_cause,
)
from coder.verify.run import OUT_OF_TIME
from coder.verify.select import names_packages
from coder.verify.verdict import UNSEEN, UNTIED, Facts, count_reaching, findings
from coder.workspace.workspace import format_count

SHOWN = 3
PARTIAL = ("timeout", "crash", "no_tests")
"""Problems of a run whose results so far can still be read; any other means that nothing was learnt."""
MOST_RERUNS = 20
"""At most so many tests that seem broken are run again."""
QUICK_TARGETS = 10.0
"""Targets that take less than so many seconds are run twice in the first stage."""
NAMES_A_FAILURE = re.compile(
    r"\b(?:not ok \d|[Aa]ssert\w*|[Ee]xpected|FAIL(?:ED|URES?)?\b)|[\u2717\u2718\u2715]"
)
"""Matches the output of a command in which a test or an assertion failed, not just a build."""
ALREADY_GREEN = "passes on the untouched code already"


@dataclass(kw_only=True)
class OldVersions:
    """Results of tests that the change edits or removes, as the base has them."""

    on_base: TestReport
    """Those that do not pass on `on_sources`, or all."""
    on_sources: TestReport

    def is_still_red(self, test: str) -> bool:
        before, now = match_result(self.on_base, test), match_result(self.on_sources, test)
        return before is not None and before.red and now is not None and now.red

    def is_contradicted(self, test: str) -> bool:
        """Tell whether a test passed before, and its old version does not on the changed sources."""
        before, now = match_result(self.on_base, test), match_result(self.on_sources, test)
        return before is not None and before.outcome == "passed" and (now is None or not now.green)


@dataclass(kw_only=True)
class Targets:
    on_change: TestReport
    on_base: TestReport
    green: list[str] = field(default_factory=list)
    reds: dict[str, TestResult] = field(default_factory=dict)
    """Results of the green ones without the change, by id."""
    contradicted: list[str] = field(default_factory=list)
    """Edited and removed tests whose old versions passed and contradict the change."""


class Judge:
    """Procedure that runs tests of one change until its verdict is clear, and collects the facts."""

    def __init__(
        self,
        change: JudgedChange,
        runs: Runs,
        base: BaseTests,
        *,
        knows_base: bool,
        named: Sequence[str],
        mentioned: Sequence[str] = (),
        choose_scope: Callable[[float], Scope],
        find_ties: Callable[[TestReport, str], Mapping[str, IssueTie]] | None,
        answer_example: Callable[[], ExampleAnswer | None],
        find_lost_imports: Callable[[], Sequence[str]],
        started: float,
    ) -> None:
        """Judge a change by the tests `named`; what is red of those `mentioned` is an old failure.

        Tests of the base run on demand, unless `change` has all of its results, as `knows_base` tells.
        `started` is a reading of the monotonic clock; no ties to the issue are needed if `find_ties` is None.
        """
        self.runs = runs
        self._started = started
        self._change = change
        self._base, self._knows_base = base, knows_base
        strong = (test for test, tie in (change.ties or {}).items() if tie != "identifier")
        self._named = tuple(dict.fromkeys((*named, *strong)))
        self._is_named = match_test_ids(self._named)
        self._mentioned = frozenset(mentioned)
        self._choose_scope = choose_scope
        self._find_ties = find_ties
        self._answer_example = answer_example
        self._find_lost_imports = find_lost_imports
        self._facts = Facts(before=change.before)
        nothing = TestReport(command=change.before.command)
        self._targets = Targets(on_change=nothing, on_base=nothing)
        self._first_tests: tuple[str, ...] = ()
        """The tests and test files that ran first, on the change and on the base."""
        self._old: OldVersions | None = None
        self._green_before: list[str] = []
        """Notes on named and new tests that are green without the change, too."""
        self._again: Future[tuple[TestReport, TestReport]] | None = None
        """The second run of the targets, begun beside the tests that reach the change."""
        self._known_ties: dict[str, IssueTie | None] = {}

    def collect_facts(self) -> Facts:
        """Run what is needed for a verdict, and return what it has shown."""
        if excluded := self._change.excluded:
            self._facts.note("excluded", f"not about the issue, as was said: {', '.join(excluded[:SHOWN])}")
        steps = (
            (self._run_command,)
            if self._change.before.by_exit_code
            else (
                self._run_targets,
                self._run_reaching,
                self._confirm_reds,
                self._check_imports,
                self._confirm_targets,
                self._check_harness,
                self._apply_rules,
            )
        )
        if self._has_packages_alone():
            return self._facts
        if self._change.is_prose:
            self._facts.note(UNSEEN, "nothing that tests can see has changed")
            return self._facts
        for step in (self._check_base, *steps):
            step()
            if self._facts.obstacle:
                break
        self._facts.before = self._change.before
        return self._facts

    def _has_packages_alone(self) -> bool:
        """Tell whether nothing but the needed packages has changed; note it where other files have, too."""
        packages = [path for path in self._change.changed if names_packages(path)]
        names = ", ".join(packages[:SHOWN])
        if packages and len(packages) == len(self._change.changed):
            self._facts.obstacle = (
                f"Only the packages that the project needs have changed ({names}), and tests run with "
                "those that are installed: install them and run the tests."
            )
        elif packages:
            self._facts.note("packages", f"tests ran with the installed packages, not with those of {names}")
        return bool(self._facts.obstacle)

    def _check_base(self) -> None:
        """Stop where the base cannot be tested."""
        problem = self._change.before.problem
        if problem is not None and problem.kind not in ("timeout", "no_tests"):
            self._facts.obstacle = f"The base could not be tested: {problem.text}"

    def _run_command(self) -> None:
        """Run a command of which only the exit code is known, on the change and on the base."""
        change, facts = self._change, self._facts
        after = facts.after = self.runs.run(SUITE, "change", ())
        if after.problem is not None:
            facts.obstacle = after.problem.text
            return
        suspected = find_regressions(change.before, after, missing_counts=True)
        facts.broken = self._confirm_broken(suspected, "change")
        has_tests = change.split.has_tests
        on_base = self.runs.run(TARGETS_ON_BASE, "tests", ()) if has_tests else change.before
        reds = [red for red in on_base.failures if red.failure and NAMES_A_FAILURE.search(red.failure.text)]
        if not (has_tests or self._find_ties is None or self._ties_of(reds)):
            reds = []
        if self._find_ties is not None or not change.before.failures:
            facts.still_red = after.failures  # else an old failure, and no issue is about it
        unknown = "which tests it ran, and why one failed, is not known"
        if reds and not after.failures and on_base.problem is None:
            facts.targets = tuple(red.id for red in reds)
            add_weaknesses(change, facts)
            facts.leave_open("exit-code", f"`{after.command}` gives an exit code only: {unknown}")
            if self._harness:
                self._cap_runner_files()
        else:
            facts.cap("exit-code", f"`{after.command}` gives an exit code only: {unknown}")

    def _stop_for(self, problem: RunProblem) -> None:
        """Take the problem of a run for what keeps the change from being tested, unless the change causes it.

        It does where a changed module cannot be imported any more, and not for want of a package.
        """
        lost = self._find_lost_imports()
        if not lost or any("ModuleNotFoundError" in line for line in lost):
            self._facts.obstacle = problem.text

    def _check_imports(self) -> None:
        """Hold against the change that a module which it edits can no longer be imported."""
        if lost := self._find_lost_imports():
            broken = f"the change breaks the import of {', '.join(lost)}"
            self._facts.findings += findings("lost-import", [broken], effect="break")

    # Targets

    def _run_targets(self) -> None:
        """Run the tests that the change is about with and without it, and edited ones as they were."""
        change, facts = self._change, self._facts
        if change.before.whole_only:
            facts.note(
                "whole-only",
                f"known from the report of `{change.before.command}` alone: "
                "no test can be run by itself there",
            )
        first = self._first_tests = change.first_tests((*self._named, *self._mentioned))
        if not (first or change.before.whole_only):
            self._run_old_versions()
            self._classify()
            return
        with ThreadPoolExecutor(1) as beside:
            old_versions = beside.submit(self._run_old_versions)
            on_change, on_base = self.runs.run_both(
                SideRun(TARGETS, "change", first), SideRun(TARGETS_ON_BASE, "tests", first)
            )
            old_versions.result()
        if self._old and any(map(has_found_port_taken, self._old.on_sources.failures)):
            self._run_old_versions()  # it ran beside the targets, which listened at the same port
        for report, is_cut in ((on_change, False), (on_base, True)):
            problem = report.problem
            if problem is not None and (problem.kind not in PARTIAL or (report.is_cut and not is_cut)):
                self._stop_for(problem)
                return
        known_files = change.test_files
        change.learn_tests(on_change)
        if change.test_files != known_files:
            self._run_targets()  # more of the changed files are tests: the base gets them, too
            return
        facts.target_seconds = on_change.seconds
        if missing := _find_endless(on_base, on_change):
            again = self.runs.run(TARGETS_ON_BASE, "tests", (missing,))  # what had to be built is there now
            on_base = _with_endless_test(merge_reports(on_base, again), again, missing)
        self._targets = Targets(on_change=on_change, on_base=on_base)
        if self._check_packages(on_change, merge_reports(change.before, on_base)):
            self._classify()

    def _run_old_versions(self) -> None:
        """Run the tests that the change edits or removes as the base has them, on both sources."""
        change = self._change
        if not change.split.has_tests:
            return
        if change.before.whole_only:
            tests: tuple[str, ...] = ()
        else:
            with change.split.read("base") as base:
                tests = tuple(test for test in change.replaced_tests if (base / test_file_of(test)).is_file())
            if not tests:
                return
        if not change.sources:
            before = self._run_on_base(tests)
            self._old = OldVersions(on_base=before, on_sources=before)
            return
        now = self.runs.run(OLD_ON_CHANGE, "sources", tests)
        if not self._knows_base:
            ids = tuple(result.id for result in now.results if result.when != "collect")
            change.before = merge_reports(change.before, TestReport(command=now.command, collected=ids))
        before = now.model_copy(update={"results": tuple(result for result in now.results if result.green)})
        if self._knows_base or now.problem is not None or len(before.results) < len(now.results):
            before = self._run_on_base(tests)
        self._old = OldVersions(on_base=before, on_sources=now)

    def _run_on_base(self, tests: Sequence[str]) -> TestReport:
        """Return the results of tests (none: all) on the base; they run unless these are known."""
        if self._knows_base:
            return tests_among(self._change.before, tests) if tests else self._change.before
        report = self.runs.run(OLD_ON_BASE, "base", tests)
        self._learn_base(report)
        return report

    def _learn_base(self, report: TestReport) -> None:
        """Count the results of a run on the base among what is known of it."""
        self._base.learn(report)
        known = report.model_copy(update={"problem": None, "collected": ()})
        self._change.before = merge_reports(self._change.before, known)

    def _classify(self) -> None:
        """Sort the tests that the change is about into targets, tests that it leaves red, and others."""
        change, facts, targets = self._change, self._facts, self._targets
        stable = frozenset(
            change.find_stable_tests([result.id for result in targets.on_change.results if result.green])
        )
        self._ties_of(targets.on_base.failures)  # all at once: it reads many files
        is_left_out = match_test_ids(change.excluded)
        still_red: list[TestResult] = []
        weak: list[TestResult] = []
        for result in targets.on_change.results:
            test = result.id
            if is_left_out(test) or not (self._is_judged_by(test) or self._is_old_red(test)):
                continue
            is_switched_off = not result.red and result.outcome != "passed"
            if is_switched_off and self._old and self._old.is_still_red(test):
                self._refuse_edited_red(test)
            elif result.red or (self._is_named(test) and is_switched_off):
                is_weak = change.is_weak(test) and test not in self._mentioned
                (weak if is_weak else still_red).extend(self._check_red(result))
            elif result.outcome == "passed" and test in stable:
                self._check_green(result)
        targets.contradicted += [test for test in self._find_contradicted() if not is_left_out(test)]
        for test in change.removed_tests:
            self._check_removed(test)
        if still_red and all(result.cause == "environment" for result in still_red):
            facts.obstacle = describe_lack(still_red, join_test_ids(still_red))
        elif weak and not targets.green and change.purpose.requires_identifier_ties:
            still_red += weak
        facts.still_red = tuple({result.id: result for result in (*facts.still_red, *still_red)}.values())
        facts.targets = tuple(_leaves(targets.green))
        facts.note(
            "unknown-test",
            *(
                f"{shorten_test_id(name)}, which was named, does not exist"
                for name in unmatched_names(self._named, targets.on_change)
            ),
        )
        if facts.targets:
            self.runs.tell(TargetsGreen(targets=facts.targets, seconds=time.monotonic() - self._started))

    def _is_judged_by(self, test: str) -> bool:
        return self._is_named(test) or self._change.changes_test(test)

    def _is_old_red(self, test: str) -> bool:
        """Tell whether a test that the change leaves as it is was red on the base, as far as is known."""
        known = self._targets.on_base if test in self._mentioned else self._change.before
        earlier = match_result(known, test)
        return earlier is not None and earlier.red

    def _check_red(self, result: TestResult) -> list[TestResult]:
        """Return the result of a test that is not green on the change if it has to be."""
        without = match_result(self._targets.on_base, result.id)
        if is_excluded(self._targets.on_base, result):
            return []
        marked = with_cause(self._mark_unbuilt(result, without), before=without)
        if self._is_named(result.id) or self._change.is_new(result.id):
            return [marked]
        if not self._change.changes_test(result.id):
            return [marked] if result.id in self._mentioned or result.id in (self._change.ties or {}) else []
        before = match_result(self._old.on_base, result.id) if self._old else None
        if before is None and result.when == "collect" and marked.cause != "environment":
            before = self._collect_on_base(result.id)
        if before is None or not before.red or self._is_tied(before):
            return [marked]
        if result.when == "collect" and result.failure:
            why = f"cannot be imported, with or without the change: {result.failure.headline}"
            self._facts.note("red-check", f"{result.id} {why}")
        return []

    def _mark_unbuilt(self, result: TestResult, without: TestResult | None) -> TestResult:
        """Return a red result, blamed on the environment if it lacks a module with and without the change."""
        failure, earlier = result.failure, without.failure if without else None
        if failure is None or earlier is None or failure.headline != earlier.headline:
            return result
        with self._change.split.read("change") as tree:
            cause: Cause | None = "environment" if is_unbuilt(failure, tree) else result.cause
        return result.model_copy(update={"cause": cause})

    def _collect_on_base(self, file: str) -> TestResult | None:
        """Return how the base's version of a file that cannot be collected ends there; None if it is new."""
        change = self._change
        with change.split.read("base") as base:
            if not (base / file).is_file():
                return None
        return self._run_on_base((file,)).result_for(file)

    def _check_green(self, result: TestResult) -> None:
        """Count a test that passes on the change as a target if it is red without it for the right reason."""
        change, facts, test, targets = self._change, self._facts, result.id, self._targets
        red = match_result(targets.on_base, test)
        earlier = self._find_earlier(test) if change.changes_test(test) and self._old is not None else ""
        is_still_red = bool(earlier and self._old and self._old.is_still_red(earlier))
        if is_still_red and not change.purpose.accepts_test_edits:
            self._refuse_edited_red(earlier)
            return
        if red is None or not red.red:
            if red is not None and red.green and (self._is_named(test) or change.is_new(test)):
                self._green_before.append(f"{shorten_test_id(test)} {ALREADY_GREEN}")
            return
        if reason := change.rejection_reason(test, red, after=result):
            facts.note("red-check", f"{shorten_test_id(test)}: {reason}")
            return
        if self._old is not None and earlier:
            is_accepted = change.purpose.accepts_test_edits or self._is_tied(red)
            if self._old.is_contradicted(earlier) and not is_accepted:
                return
            is_as_before = earlier != test or (red.when == "collect" and change.edits_only_imports(test))
            if (
                is_as_before
                and passes(self._old.on_base, earlier)
                and lacks_added_name(red, change.added_names)
            ):
                return  # it passed before, elsewhere or under other imports
        targets.green.append(test)
        targets.reds[test] = red.model_copy(update={"id": test})

    def _find_earlier(self, test: str) -> str:
        """Return the id that a test of the change has on the base, where it may have moved; empty if new.

        A case of other data is its function's: the base's cases of that say what the edit of the data hides.
        """
        is_case = self._old is not None and match_result(self._old.on_sources, test) is not None
        if is_case or not self._change.is_new(test):
            return test
        name = test_name_of(test)
        removed = self._change.removed_tests
        return next((other for other in removed if other.rpartition("::")[2] == name), "")

    def _find_contradicted(self) -> list[str]:
        """Return the edited tests that passed before, and whose old versions the changed sources fail."""
        if self._old is None:
            return []
        is_removed = match_test_ids(self._change.removed_tests)
        return [
            result.id
            for result in self._old.on_base.results
            if self._old.is_contradicted(result.id) and not is_removed(result.id)
        ]

    def _refuse_edited_red(self, test: str) -> None:
        """Hold against the change that it edits or removes a red test which its sources leave red."""
        assert self._old is not None
        now = match_result(self._old.on_sources, test)
        assert now is not None
        if self._is_named(test) or self._is_tied(now):
            red = with_cause(now.model_copy(update={"id": test}), before=None)
            self._facts.still_red = (*self._facts.still_red, red)
        self._facts.note("edited-red", f"{shorten_test_id(test)} is still red as it was before its edit")

    def _check_removed(self, test: str) -> None:
        """Look at what a test that the change removes says of the changed sources."""
        if self._old is None:
            return
        is_moved = self._is_moved(test, self._targets.on_change)
        if self._old.is_still_red(test):
            if not is_moved:
                self._refuse_edited_red(test)
        elif self._old.is_contradicted(test):
            now = match_result(self._old.on_sources, test)
            name = find_missing_name(now.failure) if now and now.failure else ""
            if name.rstrip("()") not in self._change.removed_names:
                self._targets.contradicted.append(test)
            elif not is_moved:
                self._facts.note("removed-test", f"{shorten_test_id(test)} went with {name}, which it tests")

    def _is_moved(self, test: str, report: TestReport) -> bool:
        """Tell whether a test of the same name passes in another file."""
        name = test_name_of(test)
        return any(
            result.outcome == "passed" and test_name_of(result.id) == name for result in report.results
        )

    def _is_tied(self, red: TestResult) -> bool:
        if self._is_named(red.id):
            return True
        return bool(self._ties_of([red]))

    def _ties_of(self, reds: Sequence[TestResult]) -> Mapping[str, IssueTie]:
        """Return how red tests are tied to the issue; empty where there is no issue."""
        if self._find_ties is None:
            return {}
        for tree, is_here in (
            (self._change.tree, self._change.changes_test),
            (self._change.trees.base, lambda test: not self._change.changes_test(test)),
        ):
            unknown = tuple(red for red in reds if is_here(red.id) and red.id not in self._known_ties)
            if unknown:
                found = self._find_ties(TestReport(command="", results=unknown), tree)
                self._known_ties |= {red.id: found.get(red.id) for red in unknown}
        return {red.id: tie for red in reds if (tie := self._known_ties.get(red.id)) is not None}

    # Tests that reach the change

    def _run_reaching(self) -> None:
        """Run the tests that reach the change, and compare them with the base."""
        change, facts = self._change, self._facts
        with ThreadPoolExecutor(1) as beside:
            if self._repeats_targets:
                self._again = beside.submit(self._run_targets_again)
            side, after = self._run_as_before()
        if after.problem is not None and after.problem.kind not in PARTIAL:
            self._stop_for(after.problem)
            return
        if not self._knows_base:
            change.before = self._base.complete(change.before, after, self._scope_tests, self.runs)
        self._check_base()
        if facts.obstacle or not self._check_packages(after, change.before):
            return
        own = tests_among(self._targets.on_change, change.own_tests).model_copy(update={"problem": None})
        facts.after = after if side == "change" and after.results else merge_reports(after, own)
        if self._has_no_result(facts.after):
            return
        left_out = (*change.own_tests, *change.removed_tests)
        before = tests_among(change.before, self._scope_tests) if facts.reaching else change.before
        lost = find_regressions(before, after, left_out=left_out, missing_counts=after.is_complete)
        suspected = [
            result for result in lost if not (is_gone(result) and self._has_successor(result, after))
        ]
        facts.broken = self._confirm_broken(suspected, side)
        self._leave_lost_cases_open(after)
        is_crash = after.problem is not None and after.problem.kind == "crash"
        if is_crash and after.problem and not (facts.broken or facts.still_red):
            facts.obstacle = after.problem.text
            return
        known = {result.id for result in facts.still_red}
        new_reds = tuple(
            result
            for result in after.failures
            if result.id not in known and side == "change" and self._is_new_red(result)
        )
        facts.still_red = (*facts.still_red, *(with_cause(result, before=None) for result in new_reds))
        if facts.still_red or facts.broken or any(map(change.changes_test, facts.targets)):
            return
        known_files = change.test_files
        change.learn_tests(after)
        if change.test_files != known_files or self._finds_users(after):
            self._again = None  # it ran the targets that were known then
            self._run_targets()
        elif not facts.targets:
            self._check_missing_tests(after)

    def _finds_users(self, after: TestReport) -> bool:
        """Tell whether tests that reach the change are red with nothing but the change's helpers and data."""
        if not self._change.helpers or not self._change.sources:
            return False
        seconds = max(20.0, 2 * after.seconds)
        report = self.runs.run(WITH_HELPERS_ALONE, "tests", self._scope_tests, seconds)
        return self._change.learn_users(report)

    def _run_as_before(self) -> tuple[Side, TestReport]:
        """Run the tests with what the base has beside sources and tests; return the side that ran, too.

        Where no test can be run with the base's configuration, it is the change's own.
        """
        change = self._change
        if change.edits_helpers and change.sources:
            return "sources", self._run_scope("sources")
        if self._harness and not change.before.whole_only:
            report = self._run_scope("harness")
            if not _has_started_nothing(report):
                return "harness", report
            self._cap_runner_files()
        return "change", self._run_scope("change")

    def _has_no_result(self, after: TestReport) -> bool:
        """Tell whether a run was cut before any test of the change had ended; leave open that it was cut."""
        if not after.is_cut:
            return False
        ran = sum(result.when != "collect" for result in after.results)
        if not (ran or self._targets.on_change.results):
            self._facts.obstacle = (
                f"No test ended within {after.seconds:.0f} s with the change: the tests are slow, or the "
                "machine is busy. All their time: coder verify --wait."
            )
        elif self._facts.reaching is None or ran >= count_reaching(after, self._facts.reaching):
            self._facts.leave_open("part", f"{format_count(ran, 'test')} ran in time, and there are more")
        return bool(self._facts.obstacle)

    def _run_scope(self, side: Side) -> TestReport:
        """Run the tests that reach the change, nearest first; on the base, too, while no target is known."""
        change, facts = self._change, self._facts
        self._scope_tests: tuple[str, ...] = ()
        if change.before.whole_only:
            return self._targets.on_change
        scope = self._choose_scope(facts.target_seconds)
        whole = TestReport(command=change.before.command)
        if scope.whole or scope.selection is None:
            whole = self._run_chunk((), side, scope.seconds)
            if scope.selection is None or not whole.is_cut or self.runs.is_cut:
                return whole
        facts.reaching = scope.selection
        tests = self._scope_tests = change.find_existing_tests(scope.selection)
        if not tests:
            if change.has_tests_in_tree():
                return TestReport(command=change.before.command)
            facts.reaching = None
            return self._run_chunk((), side, scope.seconds)
        deadline = time.monotonic() + scope.seconds
        report, rest = self._take_from_targets(tests, side)
        report = merge_reports(report, tests_among(whole, tests).model_copy(update={"problem": None}))
        is_one = scope.at_once and not scope.whole
        position, size = 0, len(rest) if is_one else self._first_chunk_size(scope.seconds)
        while position < len(rest):
            left = deadline - time.monotonic()
            if position and left < 1.0:
                return report.model_copy(update={"problem": OUT_OF_TIME})
            last = self._run_chunk(rest[position : position + size], side, max(left, 1.0))
            position += size
            left = deadline - time.monotonic()
            size = next_chunk_size(size, last, left=left, file_seconds=self._file_seconds)
            selected = None if last.selected is None else last.selected + (report.selected or 0)
            problem = None if last.is_complete else last.problem
            report = merge_reports(report, last).model_copy(update={"selected": selected, "problem": problem})
            if problem is not None:
                is_late = last.is_cut and not self.runs.is_cut
                return report.model_copy(update={"problem": OUT_OF_TIME}) if is_late else report
        return report

    def _take_from_targets(self, tests: Sequence[str], side: Side) -> tuple[TestReport, list[str]]:
        """Return results of files that have run as a whole with the targets, and what is left to run."""
        ran = self._targets.on_change
        is_known = side == "change" and ran.problem is None
        known = [test for test in tests if test in self._first_tests] if is_known else []
        results = tests_among(ran, known).results if known else ()
        report = TestReport(command=ran.command, results=results)
        return report, [test for test in tests if test not in known]

    def _first_chunk_size(self, seconds: float) -> int:
        """Return how many files to begin with: all that pytest runs, since it ends between any two."""
        if self.runs.runner.collects_file_by_file:
            return sys.maxsize
        ran = self._targets.on_change
        files = len({test_file_of(result.id) for result in ran.results})
        return next_chunk_size(files, ran, left=seconds, file_seconds=self._file_seconds)

    @property
    def _file_seconds(self) -> float:
        """Seconds of a test file, at least those that one took on the base, where all of them ran."""
        before = self._change.before
        files = {test_file_of(result.id) for result in before.results}
        return max(LEAST_FILE, before.seconds / len(files) if files else 0.0)

    def _run_chunk(self, tests: Sequence[str], side: Side, seconds: float) -> TestReport:
        """Run some tests on the change, and beside them what the comparison needs of the base."""
        change = self._change
        kind = REACHING if tests else SUITE
        run = SideRun(kind, side, tests, seconds)
        if self._knows_base:
            report, before = self.runs.run(*run), change.before
        elif not (self._facts.targets or self._facts.still_red) or not self.runs.runner.is_recorded:
            report, before = self.runs.run_both(run, SideRun(kind.on_base, "base", tests, seconds))
            self._learn_base(before)
        else:
            files = tuple(dict.fromkeys(map(test_file_of, tests)))
            with ThreadPoolExecutor(1) as beside:
                listing = beside.submit(self._base.collect, files, self.runs, seconds=seconds)
                report = self.runs.run(*run)
                listing.result()
            return report
        self._find_existing_targets(report, before)
        return report

    def _find_existing_targets(self, after: TestReport, before: TestReport) -> None:
        """Take red tests of the base that are green on the change for targets, if the issue is about them."""
        change, facts = self._change, self._facts
        if facts.targets or facts.still_red:
            return
        is_left_out = match_test_ids((*change.excluded, *change.own_tests))
        stable = frozenset(change.find_stable_tests([result.id for result in before.failures]))
        reds = {}
        for result in before.failures:
            now = after.result_for(result.id)
            if now is None or result.id not in stable or is_left_out(result.id):
                continue
            if not change.rejection_reason(result.id, result, after=now):
                reds[result.id] = result
        ties = self._ties_of([*reds.values()]) if self._find_ties else dict.fromkeys(reds, "example")
        strong = {test for test, tie in ties.items() if tie != "identifier"}
        green = [test for test in reds if passes(after, test)]
        chosen = [test for test in green if test in strong] or [test for test in green if test in ties]
        if self._find_ties:
            facts.still_red = tuple(
                with_cause(now, before=reds[test])
                for test in reds
                if test in strong and test not in green and (now := after.result_for(test)) is not None
            )
        facts.targets = tuple(_leaves(chosen))
        self._targets.on_change = merge_reports(self._targets.on_change, after)
        self._targets.on_base = merge_reports(self._targets.on_base, before)
        self._targets.reds |= {test: reds[test] for test in facts.targets}
        facts.target_seconds = facts.target_seconds or after.seconds
        if facts.targets:
            self.runs.tell(TargetsGreen(targets=facts.targets, seconds=time.monotonic() - self._started))

    def _has_successor(self, lost: TestResult, after: TestReport) -> bool:
        """Tell whether a missing test has another id now: its function has as many cases, or has moved."""
        function = test_function_of(lost.id)
        cases = [result for result in after.results if test_function_of(result.id) == function]
        if "[" in lost.id and cases:
            return _count_cases(after, function) >= _count_cases(self._change.before, function)
        return any(self._is_moved(lost.id, report) for report in (after, self._targets.on_change))

    def _leave_lost_cases_open(self, after: TestReport) -> None:
        """Leave open that fewer tests of the edited files pass than before."""
        if self._old is None:
            return
        ran = merge_reports(after, self._targets.on_change)
        before, now = _count_passing_by_file(self._old.on_base), _count_passing_by_file(ran)
        known = self._change.before
        others = {*map(test_function_of, (*known.collected, *(result.id for result in known.results)))}
        lost = {
            file: [name for name in names if name not in now[file] and not self._is_moved(name, ran)]
            for file, names in before.items()
            if sum(now[file][name] for name in now[file] if name in names or name not in others)
            < names.total()
        }
        if names := [name for functions in lost.values() for name in functions]:
            were = "test that passed before was" if len(names) == 1 else "tests that passed before were"
            text = f"{len(names)} {were} removed or skipped: {condense_tests(names)}"
            self._facts.leave_open("removed-test", text)

    def _is_new_red(self, result: TestResult) -> bool:
        """Tell whether a red test of the change is none of the base's, as far as its file was collected."""
        before = self._change.before
        if before.has_test(result.id) or result.when == "collect":
            return False
        file = test_file_of(result.id)
        ids = (*before.collected, *(known.id for known in before.results))
        return before.problem is None and any(test_file_of(test) == file for test in ids)

    def _check_missing_tests(self, after: TestReport) -> None:
        """Find out whether no test could run on either side."""
        before = self._change.before
        ran = merge_reports(after, self._targets.on_change)
        lacking = environment_problem_of_all(before) and environment_problem_of_all(ran)
        if lacking:
            self._facts.obstacle = f"No test of the project can run on this machine: {lacking}."
        elif self._answer_example() is None and (missing := describe_missing_tests(before, ran)):
            reds = tuple(self._mark_unbuilt(red, before.result_for(red.id)) for red in ran.failures)
            if reds and all(red.cause == "environment" for red in reds):
                missing = describe_lack(reds, join_test_ids(reds))
            self._facts.obstacle = missing
            self._facts.still_red = reds

    def _check_packages(self, report: TestReport, before: TestReport) -> bool:
        """Tell whether all packages that the change needs are installed."""
        packages, reds = find_missing_packages(self._change, report, before)
        if packages:
            lacking = f"{', '.join(packages)}, which {'are' if len(packages) > 1 else 'is'} not installed"
            self._facts.obstacle = f"The change needs {lacking}: {join_test_ids(reds)}."
            self._facts.still_red = tuple(
                result.model_copy(update={"cause": "environment"}) for result in reds
            )
        return not packages

    # Second looks

    def _confirm_broken(self, suspected: Sequence[TestResult], side: Side) -> tuple[TestResult, ...]:
        """Return the suspected tests that the change breaks, seen again on both sides."""
        if not suspected:
            return ()
        tests = [result.id for result in suspected[:MOST_RERUNS]]
        again, on_base = self.runs.run_both(
            SideRun(CONFIRMATION, side, tests), SideRun(CONFIRMATION_ON_BASE, "base", tests)
        )
        blamed = [test for test in tests if not passes(again, test) and passes(on_base, test)]
        headlines = {result.id: result.failure and result.failure.headline for result in suspected}
        if measured := [
            red.id
            for red in again.failures
            if red.id in blamed and red.failure and red.failure.headline != headlines[red.id]
        ]:
            alone = self.runs.run(CONFIRMATION, side, measured)  # as a time does, which depends on load
            blamed = [test for test in blamed if not passes(alone, test)]
        if flaky := [test for test in tests if test not in blamed]:
            names = condense_tests(flaky)
            self._facts.note("flaky", f"flaky, or depends on order: {names}")
        if blamed and side != "change":
            with_helpers = self.runs.run(WITH_HELPERS, "change", blamed)
            if helped := [test for test in blamed if passes(with_helpers, test)]:
                if self._harness:
                    self._cap_runner_files()
                else:
                    helpers = ", ".join(self._change.helpers[:SHOWN])
                    pass_, fail = ("passes", "fails") if len(helped) == 1 else ("pass", "fail")
                    names = condense_tests(helped)
                    text = f"{names} {pass_} with the change's {helpers} and {fail} with the old one"
                    self._facts.leave_open("helpers", text)
                blamed = [test for test in blamed if test not in helped]
                if self._facts.after:
                    self._facts.after = merge_reports(self._facts.after, with_helpers)
        broken = tuple(result for result in suspected if result.id in blamed)
        if broken and len(suspected) > MOST_RERUNS:
            more = len(suspected) - MOST_RERUNS
            self._facts.note("confirmation", f"{format_count(more, 'more test')} that passed before fail now")
        return broken

    def _confirm_reds(self) -> None:
        """Run red tests of the change again: one that passes then, or beside others, shows nothing."""
        facts, change = self._facts, self._change
        if facts.broken or change.before.whole_only:
            return
        ran = merge_reports(facts.after or self._targets.on_change, self._targets.on_change)
        reds = [red.id for red in facts.still_red if (now := match_result(ran, red.id)) and not now.green]
        if not reds:
            return
        again = self.runs.run(CONFIRMATION, "change", reds[:MOST_RERUNS])
        flaky = [test for test in reds if passes(again, test) or (facts.after and passes(facts.after, test))]
        facts.still_red = tuple(red for red in facts.still_red if red.id not in flaky)
        if flaky:
            self._say_unsteady(flaky)

    @property
    def _repeats_targets(self) -> bool:
        """Whether the targets run a second time before the first verdict, which only quick ones do."""
        facts = self._facts
        return bool(facts.targets) and not facts.still_red and facts.target_seconds < QUICK_TARGETS

    def _run_targets_again(self) -> tuple[TestReport, TestReport]:
        targets = self._facts.targets
        return self.runs.run_both(
            SideRun(TARGETS_AGAIN, "change", targets), SideRun(TARGETS_ON_BASE_AGAIN, "tests", targets)
        )

    def _confirm_targets(self) -> None:
        """Look at the second run of the targets on both sides; one that does not end alike is no target.

        One that a run which was cut did not come to shows nothing else.
        """
        facts, targets = self._facts, self._targets
        if not self._repeats_targets or facts.broken:
            return
        on_change, on_base = self._again.result() if self._again else self._run_targets_again()
        targets.on_change = merge_reports(targets.on_change, on_change)
        targets.reds |= {result.id: result for result in on_base.failures if result.id in targets.reds}
        unsteady = [
            test
            for test in facts.targets
            if (not passes(on_change, test) and (on_change.problem is None or match_result(on_change, test)))
            or ((red := match_result(on_base, test)) is not None and not red.red)
        ]
        if not unsteady:
            return
        facts.targets = tuple(test for test in facts.targets if test not in unsteady)
        self._say_unsteady(unsteady)

    def _say_unsteady(self, tests: Sequence[str]) -> None:
        """Tell that tests of the change end in different ways; alone they show nothing."""
        facts = self._facts
        names = f"{condense_tests(tests)} {'is' if len(tests) == 1 else 'are'} flaky"
        if facts.targets or facts.still_red:
            facts.note("unsteady-target", f"{names} and {'shows' if len(tests) == 1 else 'show'} nothing")
        else:
            facts.cap("unsteady-target", f"{names}, so nothing shows that the issue is fixed")

    @cached_property
    def _harness(self) -> tuple[str, ...]:
        """Changed files that decide how tests run."""
        runs, split = self.runs, self._change.split
        split.harness = find_harness(
            self._change, runs.runner.command, is_indirect=not runs.runner.is_recorded
        )
        return split.harness

    def _check_harness(self) -> None:
        """Find out whether targets of a change that touches how tests run are green without that, too."""
        facts = self._facts
        if not self._harness or facts.broken or facts.still_red:
            return
        files = ", ".join(self._harness[:SHOWN])
        if facts.targets and not self._change.before.whole_only:
            report = self.runs.run(AS_BEFORE, "harness", facts.targets)
            if all(passes(report, test) for test in facts.targets):
                facts.note("runner-files", f"the targets are green without the change of {files}, too")
                return
        self._cap_runner_files()

    def _cap_runner_files(self) -> None:
        """Hold against the change that it alters how tests run."""
        files = ", ".join(self._harness[:SHOWN])
        self._facts.cap("runner-files", f"how tests run was changed ({files})")

    # Rules beside the results of tests

    def _apply_rules(self) -> None:
        """Add what reports and sources say beside the results of tests."""
        facts, change = self._facts, self._change
        targets = self._targets
        after = facts.after or TestReport(command=change.before.command)
        greens = {result.id: result for result in targets.on_change.results if result.outcome == "passed"}
        seen = [
            f"{shorten_test_id(test)}: {why}"
            for test in facts.targets
            if (why := contradicting_observation(greens[test], targets.reds.get(test)))
        ]
        if seen:
            said = "; ".join(seen[:SHOWN])
            facts.obstacle = (
                f"pytest says that it passed, and what was seen beside it says otherwise: {said}."
            )
            return
        add_weaknesses(change, facts)
        self._leave_contradictions_open()
        self._check_example()
        self._facts.note("green-before", *limit_notes(self._green_before))
        self._check_ties()
        on_base = {*change.before.reached, *self.runs.reached_on_base}
        facts.cap("harness-access", *new_harness_access(on_base, self.runs.reached_on_change))
        facts.note("old-failure", *describe_old_failures(change.before, after, facts.still_red))
        facts.target_kinds = {test: change.target_kind(test) for test in facts.targets}
        facts.replaced_assertions = change.find_replaced_assertions(targets.contradicted)
        facts.accepted_test_edits = change.purpose.accepts_test_edits and bool(targets.contradicted)

    def _leave_contradictions_open(self) -> None:
        """Leave open that old tests contradict the change, which edits or removes them."""
        targets = self._targets
        if not targets.contradicted:
            return
        count = format_count(len(targets.contradicted), "test")
        names = condense_tests(targets.contradicted)
        is_removed = [*map(match_test_ids(self._change.removed_tests), targets.contradicted)]
        edits = "removes" if all(is_removed) else "edits or removes" if any(is_removed) else "edits"
        versions = "version fails" if len(is_removed) == 1 else "versions fail"
        if self._facts.targets or self._change.purpose.accepts_test_edits:
            add = self._facts.note if self._change.purpose.accepts_test_edits else self._facts.leave_open
            add("contradicted-test", f"the change {edits} {names}, whose old {versions} now")
        else:
            text = f"the change and {count} were edited to agree: {names} (the old {versions} now)"
            self._facts.cap("contradicted-test", text)

    def _check_example(self) -> None:
        """Take the issue's own example, which is wrong on the base, as a target: alone FIXED at most."""
        found, facts = self._answer_example(), self._facts
        if found is None:
            return
        if found.is_right:
            facts.example = found.summary
            if not facts.targets:
                facts.leave_open("issue-example", "no test checks what the issue's example shows")
        elif found.is_wrong:
            failure = Failure(type="AssertionError", message=found.summary)
            red = TestResult(id=ISSUE_EXAMPLE, outcome="failed", failure=failure)
            facts.still_red = (*facts.still_red, red)

    def _check_ties(self) -> None:
        """Find out whether anything ties the targets to the issue."""
        tests = self._facts.targets
        if not tests:
            told = {cap.rule for cap in self._facts.with_effect("cap")}
            if not self._facts.example and not told & {"unsteady-target", "contradicted-test"}:
                wrong = [found.text for found in self._facts.findings if found.rule == "red-check"]
                because = f" by what it asserts (red before for another reason: {wrong[0]})" if wrong else ""
                if self._green_before and not wrong:
                    others = f", as {len(self._green_before) - 1} more" if self._green_before[1:] else ""
                    because = f" ({self._green_before[0]}{others})"
                untied = [] if wrong or self._find_ties is None else self._find_untied()
                if untied:
                    text = f"nothing ties what went from red to green to the issue: {condense_tests(untied)}"
                    self._facts.cap(UNTIED, text)
                    return
                if files := ", ".join(self._change.uncollected_tests[:SHOWN]):
                    command = self._change.before.command
                    self._facts.cap("uncollected", f"`{command}` collects no test of {files}")
                elif not wrong and (skipped := self._find_skipped()):
                    verb = "is" if len(skipped) == 1 else "are"
                    text = f"{condense_tests(skipped)}, added or edited by the change, {verb} skipped here"
                    self._facts.cap("skipped-test", text)
                else:
                    self._facts.cap("no-target", f"no test went from red to green{because}")
            return
        if self._find_ties is None or any(map(self._is_named, tests)):
            return
        reds = [self._targets.reds.get(test) or TestResult(id=test, outcome="failed") for test in tests]
        if self._ties_of(reds):
            return
        verb = "does" if len(tests) == 1 else "do"
        text = f"{condense_tests(tests)} {verb} not mention anything from the issue"
        is_own = any(map(self._change.changes_test, tests))
        effect: Effect = "cap" if not is_own or self._change.is_off_topic(reds) else "open"
        self._facts.findings += findings(UNTIED, [text], effect=effect)

    def _find_skipped(self) -> list[str]:
        """Return the tests that the change adds or edits and that are skipped on it.

        One that was skipped before counts where its id names data that the change edits.
        """
        data = [PurePosixPath(path).name for path in self._change.helpers]
        skipped = {result.id for result in self._change.before.results if result.outcome == "skipped"}
        return [
            result.id
            for result in self._targets.on_change.results
            if result.outcome == "skipped"
            and (result.id not in skipped or any(name in result.id for name in data))
            and self._change.changes_test(result.id)
        ]

    def _find_untied(self) -> list[str]:
        """Return the red tests of the base that are green on the change, which nothing ties to the issue."""
        ran = merge_reports(self._targets.on_change, self._facts.after or self._targets.on_change)
        is_excluded = match_test_ids(self._change.excluded)
        reds = [red.id for red in self._change.before.failures if not is_excluded(red.id)]
        return [test for test in reds if passes(ran, test)]


def _leaves(targets: Sequence[str]) -> list[str]:
    """Return the targets without those of which another one is a subtest, as Go names it: `test/subtest`."""
    parents = {target[:end] for target in targets for end, mark in enumerate(target) if mark == "/"}
    return [target for target in dict.fromkeys(targets) if target not in parents]


def _has_started_nothing(report: TestReport) -> bool:
    """Tell whether no test could be run at all, for another reason than time."""
    has_failed = report.problem is not None or bool(report.results)
    return has_failed and not report.is_cut and all(result.when == "collect" for result in report.results)


def _count_passing_by_file(report: TestReport) -> defaultdict[str, Counter[str]]:
    """Return how many cases of each test function pass, by file."""
    passing: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for result in report.results:
        if result.outcome == "passed":
            passing[test_file_of(result.id)][test_function_of(result.id)] += 1
    return passing


def _count_cases(report: TestReport, function: str) -> int:
    """Return how many cases of a test function pass, or were collected and did not have to run."""
    outcomes = {result.id: result.green for result in report.results}
    ids = {*outcomes, *report.collected}
    return sum(outcomes.get(test, True) for test in ids if test_function_of(test) == function)


def find_missing_packages(
    change: JudgedChange, report: TestReport, before: TestReport
) -> tuple[tuple[str, ...], tuple[TestResult, ...]]:
    """Return packages that the change needs and are not installed, and the tests that fail without them.

    Both are empty where a test that was green in `before` fails in any other way.
    """
    was = {result.id: result.failure.message if result.failure else "" for result in before.failures}
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


def _find_endless(cut: TestReport, whole: TestReport) -> str:
    """Return the test that a run did not end for, if it alone has no result among those that pass
    in the `whole` run; empty where the runner itself tells, or several may be it.
    """
    missing = [test.id for test in whole.results if test.green and match_result(cut, test.id) is None]
    is_known = cut.is_cut and cut.indirect and whole.problem is None and len(missing) == 1
    return missing[0] if is_known else ""


def _with_endless_test(report: TestReport, again: TestReport, test: str) -> TestReport:
    """Return a report with a red result of a test whose own run, after all builds, was cut, too."""
    if not again.is_cut or match_result(report, test) is not None:
        return report
    text = f"the test did not end within {again.seconds:.0f} s"
    failure = Failure(type=NEVER_ENDING, message=text, text=text)
    red = TestResult(id=test, outcome="failed", seconds=again.seconds, failure=failure)
    return report.model_copy(update={"results": (*report.results, red)})
