"""Edits of existing tests by a change: their sources on both sides, and what differs."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest

from coder.core.paths import test_file_of, test_function_of, test_name_of
from coder.core.text import shorten_line
from coder.core.verdict import ReplacedAssertion
from coder.index.parsers import definitions
from coder.python.source import Function, parse_or_empty
from coder.verify.test_files import TITLED, names_of

MOST_SHOWN = 5
LONGEST = 100
"""Characters of one side of an assertion."""


def find_replaced_assertions(
    old: Mapping[str, str], new: Mapping[str, str], tests: Sequence[str]
) -> tuple[ReplacedAssertion, ...]:
    """Return the lines of existing tests that a change replaces, the first few.

    `old` and `new` are the changed test files by path. Where the function of a test is the same on both
    sides, the lines of its file are compared.
    """
    found: dict[ReplacedAssertion, None] = {}
    for function in dict.fromkeys(map(test_function_of, tests)):
        path = test_file_of(function)
        before, after = (
            source_of_test(path, texts.get(path, ""), function).splitlines() for texts in (old, new)
        )
        if before == after:
            before, after = (texts.get(path, "").splitlines() for texts in (old, new))
        found |= {
            ReplacedAssertion(
                test=function, old=shorten_line(was.strip(), LONGEST), new=shorten_line(now.strip(), LONGEST)
            ): None
            for was, now in _pair(before, after)
            if was.strip() != now.strip()
        }
    return tuple(found)[:MOST_SHOWN]


def _pair(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what of the old is replaced or removed, with what is in its place."""
    for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            pairs = zip_longest(old[start:end], new[new_start:new_end], fillvalue="")
            yield from ((before, after) for before, after in pairs if before)


def source_of_test(path: str, text: str, test_id: str) -> str:
    """Return the lines of a test in its file: its function, or the block under its title; empty if none.

    Of functions of one name in a Python file these are all: a class may inherit its tests.
    """
    if path.endswith(".py"):
        name = test_name_of(test_id)
        nodes = ast.walk(parse_or_empty(text))
        functions = [node for node in nodes if isinstance(node, Function) and node.name == name]
        return "\n".join(ast.get_source_segment(text, node) or "" for node in functions)
    names, own, lines = names_of(test_id), test_id.rpartition("::")[2], text.split("\n")
    blocks = [
        (definition.start - 1, definition.end)
        for definition in definitions(path, text)
        if definition.kind != "variable" and definition.bare_name in names
    ]
    for match in TITLED.finditer(text):
        if match[2] in names or own.endswith(f" {match[2]}"):
            start = text.count("\n", 0, match.start())
            blocks.append((start, _end_of_block(lines, start)))
    return "\n".join(line for start, end in blocks for line in lines[start:end])


def _end_of_block(lines: Sequence[str], start: int) -> int:
    """Return where a block ends: after the line that closes it, indented no deeper, or its only line."""
    indent = len(lines[start]) - len(lines[start].lstrip())
    is_open = lines[start].rstrip().endswith(("{", "(", "[", ",", "=>", "do", "|"))
    for number, line in enumerate(lines[start + 1 :] if is_open else (), start + 1):
        code = line.lstrip()
        if code.startswith(("}", ")", "]", "end")) and len(line) - len(code) <= indent:
            return number + 1
    return len(lines) if is_open else start + 1
