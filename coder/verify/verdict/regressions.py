"""Regressions of a change: which seemingly broken tests it broke, and which tests it rewrote to pass."""

from collections.abc import Sequence

from coder.core.values.paths import is_test_file, match_test_ids
from coder.core.values.verdict import TestReport, TestResult
from coder.verify.impact.test_selection import find_test_files_naming
from coder.verify.results.comparison import find_regressions, is_gone, join_test_ids, passes, renumbered_cases
from coder.verify.results.triage import missing_module, needed_packages
from coder.verify.verdict.flaky import classify_failures
from coder.verify.verdict.judged_change import JudgedChange
from coder.verify.verdict.runs import Runs
from coder.workspace.files import format_count

MOST_RERUNS = 50
"""At most so many tests that seem broken are run again; with more of them, it is no flakiness."""


def confirm_broken(
    change: JudgedChange, runs: Runs, suspected: Sequence[TestResult], report: TestReport
) -> tuple[tuple[TestResult, ...], list[str]]:
    """Run again, on both sides, what seems broken; return what the change broke, and notes on the rest."""
    gone = [result.id for result in suspected if is_gone(result)]
    renamed, notes = _find_renamed(change, runs, gone, report)
    remaining = [result for result in suspected if result.id not in renamed]
    if not remaining or len(remaining) > MOST_RERUNS:
        return tuple(remaining), notes
    order = [result.id for result in report.results]
    examined = classify_failures(remaining, order, on_change=runs.on_change, on_base=runs.on_base)
    return examined.blamed, [*notes, *examined.notes]


def _find_renamed(
    change: JudgedChange, runs: Runs, gone: Sequence[str], report: TestReport
) -> tuple[frozenset[str], list[str]]:
    """Return missing ids that were renamed, not lost, and notes.

    As many cases pass as before, and where the change touched their file, the old cases pass too.
    """
    candidates = renumbered_cases(change.before, report, gone)
    touched = [test for test in candidates if change.changes_test(test)]
    old = runs.run("old cases", "sources", touched) if touched else None
    renamed = [test for test in candidates if test not in touched or (old is not None and passes(old, test))]
    functions = dict.fromkeys(test.partition("[")[0] for test in renamed)
    notes = [f"cases of {function} have other ids than before, and none is lost" for function in functions]
    return frozenset(renamed), notes


def find_rewritten_tests(change: JudgedChange, runs: Runs) -> list[str]:
    """Return sentences on the base's own tests that fail on the changed sources, or could not run there."""
    if not change.split.has_tests:
        return []
    part: tuple[str, ...] = ()
    if change.before.indirect:
        part = change.test_files if set(change.tests) <= set(change.test_files) else ()
    elif all(map(is_test_file, change.tests)):
        with change.trees.checkout(change.trees.base, ()) as base:
            part = find_test_files_naming(base, change.tests)
        if not part:
            return []
    elif change.part is not None:
        part = change.part.files
    old = runs.run("old tests", "sources", part)
    gaps = []
    if old.problem is not None and old.problem.kind == "timeout":
        gaps.append(f"the base's own tests could not all run on the changed sources: {old.problem.text}")
    lost = _find_lost(change, runs, old, part)
    if not lost:
        return gaps
    contradict = "contradicts" if len(lost) == 1 else "contradict"
    edited = f"{format_count(len(lost), 'existing test')} {contradict} the change, and the change edited"
    pronoun = "it" if len(lost) == 1 else "them"
    return [f"{edited} {pronoun}: review these edits ({join_test_ids(lost)})", *gaps]


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
