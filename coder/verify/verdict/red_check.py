"""Red check: the tests that a change is judged by must fail without its sources, for the right reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from coder.core.paths import match_test_ids
from coder.core.verdict import RunProblem, TestReport, TestResult
from coder.verify.change.judged_change import JudgedChange
from coder.verify.change.runs import Runs, is_long, patience_without_change
from coder.verify.results.comparison import join_test_ids, passes, shorten_test_id
from coder.verify.results.failure_reasons import lacks_added_name, rejection_reason
from coder.verify.results.new_names import find_missing_name

SHOWN = 3
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
