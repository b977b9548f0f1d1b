"""Successors of removed tests: renamed, merged, split or parametrized ones, found by their content."""

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from coder.core.paths import test_file_of, test_function_of
from coder.verify.review.tampering import (
    Function,
    ParsedTest,
    find_weakenings,
    parse_or_empty,
    read_tests,
)

ALIKE = 0.6
"""Similarity ratio (difflib, 0 to 1) of the syntax from which a test may be a successor."""
NAME = "name "
"""Prefix of words that are names."""
SHOWN = 2
SHARED_NAMES = 0.7
"""Share of the names used by a removed test that its successor uses too."""


class Succession(NamedTuple):
    """Tests of the base and those that take their place, as function ids (`path::Class::test`)."""

    removed: tuple[str, ...]
    """The missing tests, and tests whose edited versions are among the successors."""
    successors: tuple[str, ...]


def find_successions(
    old: Mapping[str, str], new: Mapping[str, str], gone: Collection[str]
) -> tuple[Succession, ...]:
    """Return the successions of the tests `gone`, by function id; tests without a successor are left out.

    `old` and `new` are the changed test files by path. A successor is a test that the change adds or edits,
    in the same file if one is there.
    """
    before, after = _read_all(old), _read_all(new)
    edited = [test for test in after if test not in before or not _is_same(before[test], after[test])]
    return group_successions(
        {test: _successors_of(test, before[test], after, edited) for test in gone if test in before}, before
    )


def group_successions(
    successors_of: Mapping[str, Sequence[str]], before: Collection[str]
) -> tuple[Succession, ...]:
    """Join the tests that share successors; `before` are the ids of all tests of the base."""
    groups: list[tuple[set[str], set[str]]] = []
    for test, successors in successors_of.items():
        if not successors:
            continue
        group = ({test, *(other for other in successors if other in before)}, {*successors})
        for other in [other for other in groups if other[0] & group[0] or other[1] & group[1]]:
            groups.remove(other)
            group = (group[0] | other[0], group[1] | other[1])
        groups.append(group)
    return tuple(Succession(tuple(sorted(removed)), tuple(sorted(added))) for removed, added in groups)


def find_removed_functions(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return the ids of test functions that are in `old` and not in `new`."""
    after = _read_all(new)
    return [test for test in _read_all(old) if test not in after]


def has_fewer_checks(
    succession: Succession,
    old: Mapping[str, str],
    new: Mapping[str, str],
    *,
    count_before: Callable[[str], int],
    count_after: Callable[[str], int],
) -> bool:
    """Tell whether the successors check less, counting each check in each case.

    `count_before` and `count_after` return how many cases of a function pass.
    """
    return _count_checks(_read_all(new), succession.successors, count_after) < _count_checks(
        _read_all(old), succession.removed, count_before
    )


def weakened_successors(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    """Yield how successors of removed tests are weaker than these, half a sentence each."""
    before, after = _read_all(old), _read_all(new)
    for succession in find_successions(old, new, find_removed_functions(old, new)):
        findings = find_weakenings(
            [before[test] for test in succession.removed], [after[test] for test in succession.successors]
        )
        place = f"{join_names(succession.successors)}, in the place of {join_names(succession.removed)},"
        yield from (f"{place} {finding}" for finding in findings)


def join_names(tests: Sequence[str]) -> str:
    """Return the names of tests, without their files, as a list: the first few, and how many more."""
    names = [test.partition("::")[2] for test in tests]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def names_used_by(texts: Mapping[str, str], test: str) -> set[str]:
    """Return the names that a Python test uses, without its parameters and variables; texts by path."""
    parsed = _read_all({path: text for path, text in texts.items() if path == test_file_of(test)})
    found = parsed.get(test_function_of(test))
    words = _syntax_words(found.function) if found else []
    return {word.removeprefix(NAME) for word in words if word.startswith(NAME)}


def _count_checks(
    tests: Mapping[str, ParsedTest], names: Sequence[str], count_cases: Callable[[str], int]
) -> int:
    return sum(sum(check.times for check in tests[name].checks) * count_cases(name) for name in names)


def _read_all(texts: Mapping[str, str]) -> dict[str, ParsedTest]:
    return {
        f"{path}::{name.replace('.', '::')}": test
        for path, text in texts.items()
        for name, test in read_tests(parse_or_empty(text)).items()
    }


def _is_same(old: ParsedTest, new: ParsedTest) -> bool:
    return ast.dump(old.function) == ast.dump(new.function)


def _successors_of(
    test: str, removed: ParsedTest, after: Mapping[str, ParsedTest], edited: Sequence[str]
) -> list[str]:
    """Return the tests that resemble a removed one: of its name, else in its file, else in any."""
    if test in after:  # only its cases are others
        return [test]
    alike = [other for other in edited if _is_alike(removed.function, after[other].function)]
    moved = [other for other in alike if other.rpartition("::")[2] == test.rpartition("::")[2]]
    in_same_file = [other for other in alike if test_file_of(other) == test_file_of(test)]
    return moved or in_same_file or alike


def _is_alike(old: Function, new: Function) -> bool:
    """Tell whether two tests use mostly the same names in mostly the same syntax.

    Literals, parameters and local variables are all the same, since parametrization turns one into another.
    """
    return are_alike(_syntax_words(old), _syntax_words(new))


def are_alike(old_words: Sequence[str], new_words: Sequence[str]) -> bool:
    """Tell whether two lists of syntax, in which names begin with `NAME`, are mostly the same."""
    names = {word for word in old_words if word.startswith(NAME)}
    shared = len(names & {*new_words})
    return shared >= SHARED_NAMES * len(names) and (
        SequenceMatcher(None, old_words, new_words, autojunk=False).ratio() >= ALIKE
    )


def _syntax_words(test: Function) -> list[str]:
    """Return the syntax of a test's body as a list of words."""
    local = {argument.arg for argument in ast.walk(test.args) if isinstance(argument, ast.arg)}
    nodes = [node for statement in test.body for node in ast.walk(statement)]
    local |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    words = []
    for node in nodes:
        match node:
            case ast.Attribute(attr=name) | ast.keyword(arg=str() as name):
                words.append(f"{NAME}{name}")
            case ast.Name(id=name) if name not in local:
                words.append(f"{NAME}{name}")
            case ast.Constant() | ast.Name():
                words.append("value")
            case ast.expr_context():
                pass
            case _:
                words.append(type(node).__name__)
    return words
