"""Assertions of existing tests that a change replaces, old against new."""

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest

from coder.core.paths import test_file_of, test_function_of
from coder.core.text import shorten_line
from coder.core.verdict import ReplacedAssertion
from coder.verify.review.tampering import dotted_name, parse_or_empty, read_check, read_tests
from coder.verify.test_files.successors import find_successions

MOST_SHOWN = 5
LONGEST = 100
"""Characters of one side of an assertion."""
_ASSERTION_LINE = re.compile(r"(?i)assert|expect|should|require|\bverify\b|\.(?:equal|same|is)\(")


def find_replaced_assertions(
    old: Mapping[str, str],
    new: Mapping[str, str],
    tests: Sequence[str],
    files_of: Callable[[str], Sequence[str]],
) -> tuple[ReplacedAssertion, ...]:
    """Return the replaced assertions of tests, the first few.

    `old` and `new` are the changed test files by path; `files_of` returns those that define a test. Cases of
    a parametrization count as assertions. Where no assertion differs, other lines of the files are returned.
    """
    found: dict[ReplacedAssertion, None] = {}
    for function in dict.fromkeys(map(test_function_of, tests)):
        pairs = list(_pair(*_claims_on_both_sides(old, new, function)))
        files = [path for path in files_of(function) if path in old]
        for pattern in (_ASSERTION_LINE, re.compile("")):
            if not pairs:
                pairs = [
                    pair
                    for path in files
                    for pair in _pair(_lines(old[path], pattern), _lines(new.get(path, ""), pattern))
                ]
        found |= {
            ReplacedAssertion(
                test=function,
                old=shorten_line(before.strip(), LONGEST),
                new=shorten_line(after.strip(), LONGEST),
            ): None
            for before, after in pairs
        }
    return tuple(found)[:MOST_SHOWN]


def _claims_on_both_sides(
    old: Mapping[str, str], new: Mapping[str, str], function: str
) -> tuple[list[str], list[str]]:
    """Return the assertions of a Python test and of those that take its place."""
    successions = find_successions(old, new, [function])
    removed = successions[0].removed if successions else [function]
    added = successions[0].successors if successions else [function]
    return (
        [claim for test in removed for claim in _claims(old, test)],
        [claim for test in added for claim in _claims(new, test)],
    )


def _claims(texts: Mapping[str, str], function: str) -> list[str]:
    """Return the source of each assertion of a test function and of each of its cases."""
    text = texts.get(test_file_of(function), "")
    test = read_tests(parse_or_empty(text)).get(function.partition("::")[2].replace("::", "."))
    if test is None:
        return []
    nodes = [node for node in ast.walk(test.function) if isinstance(node, ast.stmt | ast.expr)]
    checks: list[ast.stmt | ast.expr] = [node for node in nodes if read_check(node)]
    for decorator in test.function.decorator_list:
        if isinstance(decorator, ast.Call) and dotted_name(decorator).endswith("parametrize"):
            checks += [
                case
                for argument in decorator.args[1:2]
                if isinstance(argument, ast.List | ast.Tuple)
                for case in argument.elts
            ]
    checks.sort(key=lambda node: (node.lineno, node.col_offset))
    return [ast.get_source_segment(text, node) or "" for node in checks]


def _lines(text: str, pattern: re.Pattern[str]) -> list[str]:
    return [line for line in text.splitlines() if line.strip() and pattern.search(line)]


def _pair(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what of the old is replaced or removed, with what is in its place."""
    for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            pairs = zip_longest(old[start:end], new[new_start:new_end], fillvalue="")
            yield from ((before, after) for before, after in pairs if before)
