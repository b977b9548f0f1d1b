"""Tests of the base that are not there on the change: renamed, moved, or removed with what they exercise."""

import re
from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property, partial
from typing import NamedTuple

from coder.core.paths import match_test_ids, test_file_of, test_function_of
from coder.core.text import join_first
from coder.core.verdict import Finding, TestReport
from coder.index.parsers import Definition, definitions
from coder.python.source import Function, dump_node, parse_or_empty
from coder.verify.base import Runs
from coder.verify.change import JudgedChange
from coder.verify.failures import find_words
from coder.verify.languages import SUFFIXES
from coder.verify.report import extended_tests, passes, renumbered_cases
from coder.verify.test_edits import (
    PROGRAM,
    RenamedTests,
    find_renamed_in,
    find_successions,
    has_fewer_checks,
    join_names,
    read_tests,
    source_of_test,
)
from coder.verify.test_files import find_changed_tests, find_tests_using, has_title, names_of
from coder.verify.trees import read_texts
from coder.verify.verdict import findings

SHOWN = 3


class MissingTests(NamedTuple):
    """Missing tests that the change does not break, and findings on them."""

    explained: frozenset[str]
    findings: list[Finding]


def explain_missing_tests(
    change: JudgedChange, runs: Runs, gone: Sequence[str], report: TestReport
) -> MissingTests:
    """Return which of the ids `gone` from a report on the change have successors, or no subject any more."""
    if not gone:
        return MissingTests(frozenset(), [])
    removals = CodeRemovals(change)
    explained: set[str] = set()
    notes: list[str] = []
    rest = [*gone]
    for find in (
        partial(_find_renumbered, change, runs),
        partial(_find_renamed, change, {}),
        partial(_find_renamed, change, removals.new_names),
        partial(_find_renamed_generated, change, runs),
    ):
        tests, more = find(rest, report)
        explained |= tests
        rest = [test for test in rest if test not in tests]
        notes += more
    found = findings("confirmation", notes, effect="note")
    for names, without in removals.group(rest):
        explained |= {*without}
        found.append(_describe_removal(change.issue, names, without, removals.new_names))
    return MissingTests(frozenset(explained), found)


def _describe_removal(
    issue: str, names: Sequence[str], tests: Sequence[str], renamed: Mapping[str, str]
) -> Finding:
    """Return the finding that tests went with what they exercise; a cap where nobody asked for that."""
    subject = f"{', '.join(names)}, and the tests of it ({join_names([*map(test_function_of, tests)])})"
    if places := [renamed[name] for name in names if name in renamed]:
        text = f"the change removes {subject}, and none tests {', '.join(places)}, in its place, as much"
        return Finding(rule="removed-test", effect="cap", text=text)
    if all(name.startswith("_") for name in names) or find_words(issue) & {*names}:
        return Finding(rule="removed-test", effect="note", text=f"the change removes {subject}")
    text = f"the change removes {subject}, which the issue does not mention"
    return Finding(rule="removed-test", effect="cap", text=text)


class CodeRemovals:
    """The definitions that a change removes, and the tests that cannot do without them."""

    def __init__(self, change: JudgedChange) -> None:
        self._change = change
        with change.split.read("base") as base, change.split.read("change") as changed:
            self._old = read_texts(base, change.tests, (".py", *SUFFIXES))
            self._new = read_texts(changed, change.tests, (".py", *SUFFIXES))

    @cached_property
    def _definitions(self) -> dict[str, tuple[str, Definition]]:
        """Path and definition of each name that no source of the change defines any more."""
        old, new = self._change.source_texts
        now = {path: {found.bare_name for found in definitions(path, text)} for path, text in new.items()}
        removed = {
            found.bare_name: (path, found)
            for path, text in old.items()
            for found in definitions(path, text)
            if found.kind != "variable" and found.bare_name not in now.get(path, ())
        }
        kept = self._change.find_definitions("change") if removed else frozenset()
        return {
            name: place
            for name, place in removed.items()
            if name not in kept and not any(name in names for names in now.values())
        }

    @cached_property
    def new_names(self) -> dict[str, str]:
        """The likely new name of each removed definition, where the change adds one to its file."""
        old, new = self._change.source_texts
        renamed: dict[str, str] = {}
        for name, (path, removed) in self._definitions.items():
            text = old[path]
            known = {found.bare_name for found in definitions(path, text)}
            source = _source(text, removed)
            ratios = {
                found.bare_name: SequenceMatcher(None, source, _source(new[path], found)).ratio()
                for found in definitions(path, new.get(path, ""))
                if found.bare_name not in known and found.kind == removed.kind
            }
            if ratios:
                renamed[name] = max(ratios, key=lambda other: ratios[other])
        return renamed

    def group(self, tests: Sequence[str]) -> list[tuple[tuple[str, ...], list[str]]]:
        """Return tests that need removed definitions with the names of these, and no others."""
        groups: dict[tuple[str, ...], list[str]] = {}
        for test in tests:
            if names := tuple(sorted(self._names_needed_by(test))):
                groups.setdefault(names, []).append(test)
        return list(groups.items())

    def _names_needed_by(self, test: str) -> Collection[str]:
        names: set[str] = set()
        function = test_function_of(test)
        for path in self._change.files_of(test) or (test_file_of(test),):
            text = self._old.get(path, "")
            if path.endswith(".py"):
                names |= {
                    name for name in self._definitions if function in find_tests_using(path, text, {name})
                }
            elif text:
                names |= find_words(source_of_test(path, text, test)) & self._definitions.keys()
        return names

    def explains(self, test: str) -> bool:
        """Tell whether a test of the base fails on the changed sources for nothing but removed names.

        It is the same on the change where renamed code is called by its new name, or has gone with its
        subject.
        """
        path, function = test_file_of(test), test_function_of(test)
        names = self._names_needed_by(test)
        if not names or not path.endswith(".py"):
            return False
        old, new = _rename(self._old.get(path, ""), self.new_names), self._new.get(path, "")
        name = function.partition("::")[2].replace("::", ".")
        before, after = read_tests(parse_or_empty(old)), read_tests(parse_or_empty(new))
        if name in after:
            changed = find_changed_tests(path, old, new)
            return not changed.is_whole and function not in changed.edited
        if not {*names} & self.new_names.keys():
            return True
        same = {_dump_unnamed(other.function) for other in after.values()}
        return name in before and _dump_unnamed(before[name].function) in same


def _dump_unnamed(function: Function) -> str:
    return dump_node(function).replace(f"name={function.name!r}", "", 1)


def _source(text: str, definition: Definition) -> list[str]:
    return text.splitlines()[definition.start - 1 : definition.end]


def _rename(text: str, names: Mapping[str, str]) -> str:
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b") if names else None
    return pattern.sub(lambda match: names[match[0]], text) if pattern else text


def _find_renamed(
    change: JudgedChange, names: Mapping[str, str], gone: Sequence[str], report: TestReport
) -> tuple[frozenset[str], list[str]]:
    """Return missing ids whose place passing tests of the change take that check as much, and notes.

    `names` are the new ones of what the tests exercise, by the old.
    """
    if not gone:
        return frozenset(), []
    with change.split.read("base") as base, change.split.read("change") as changed:
        old, new = read_texts(base, change.tests), read_texts(changed, change.tests)
        paths = (*change.tests, *change.split.inline_tests)
        old_others, new_others = (read_texts(tree, paths, SUFFIXES) for tree in (base, changed))
    old, old_others = (
        {path: _rename(text, names) for path, text in texts.items()} for texts in (old, old_others)
    )
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
    removed, added = (
        join_first([f"'{title}'" for title in titles], SHOWN)
        for titles in (renamed.removed, renamed.successors)
    )
    if renamed.path != renamed.new_path:
        return f"{removed} moved from {renamed.path} to {renamed.new_path}"
    return f"{removed} became {added}"


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
        with change.split.read("base") as base:
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
