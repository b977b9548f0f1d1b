"""Regressions of a change: which seemingly broken tests it broke, and which tests it rewrote to pass."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from coder.core.paths import match_test_ids, test_file_of, test_function_of
from coder.core.verdict import TestReport, TestResult
from coder.verify.change.judged_change import JudgedChange
from coder.verify.change.runs import Runs
from coder.verify.impact.test_selection import find_test_files_naming
from coder.verify.languages.tables import SUFFIXES
from coder.verify.languages.test_changes import PROGRAM, RenamedTests, find_renamed_in
from coder.verify.results.comparison import (
    extended_tests,
    find_regressions,
    is_gone,
    passes,
    renumbered_cases,
    shorten_test_id,
)
from coder.verify.results.triage import missing_module, needed_packages
from coder.verify.review.change_review import read_texts
from coder.verify.test_files.locating import has_title, names_of
from coder.verify.test_files.successors import find_successions, has_fewer_checks, join_names
from coder.verify.verdict.flaky import classify_failures
from coder.workspace.workspace import format_count

SHOWN = 3
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
