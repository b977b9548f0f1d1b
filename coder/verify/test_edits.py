"""Edits of existing tests by a change: their sources on both sides, and what differs."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest

from coder.core.paths import test_file_of, test_function_of
from coder.core.text import shorten_line
from coder.core.verdict import ReplacedAssertion
from coder.index.parsers import SyntaxNode, node_text, parse_syntax, walk_syntax
from coder.python.source import Function, parse_or_empty
from coder.verify.languages import (
    SYNTAX_TABLES,
    SyntaxTable,
    called_name,
    extension_of,
    function_name,
    string_value,
)
from coder.verify.test_files import has_title

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
        before, after = (_lines_of_test(texts.get(path, ""), function) for texts in (old, new))
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


def _lines_of_test(text: str, test: str) -> list[str]:
    """Return the lines of a test function in the text of its file; none if it is not found."""
    path = test_file_of(test)
    if path.endswith(".py"):
        function = _find_function(text, test)
        return (ast.get_source_segment(text, function) or "").splitlines() if function else []
    return source_of_test(path, text, test).splitlines() if extension_of(path) in SYNTAX_TABLES else []


def _find_function(text: str, test: str) -> Function | None:
    node: ast.AST = parse_or_empty(text)
    for name in test_function_of(test).split("::")[1:]:
        inner = (
            child
            for child in ast.iter_child_nodes(node)
            if isinstance(child, Function | ast.ClassDef) and child.name == name
        )
        if (found := next(inner, None)) is None:
            return None
        node = found
    return node if isinstance(node, Function) else None


def _pair(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what of the old is replaced or removed, with what is in its place."""
    for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            pairs = zip_longest(old[start:end], new[new_start:new_end], fillvalue="")
            yield from ((before, after) for before, after in pairs if before)


_TITLED = re.compile(
    r"(?:RSpec\.)?[fx]?(?:it|test|specify|example|describe|context|suite)(?:\.\w+)*(?:\(.*\))?|\w+\.Run",
    re.DOTALL,
)
"""Calls of test frameworks that take the title of a test or of a group of tests."""
_TEST_MARK = re.compile(
    r"^[@#\[](?:.*\W)?(?:\w+::)?(?:test|Test|ParameterizedTest|RepeatedTest|rstest|test_case)\b"
    r"|^/\*.*@test\b",
    re.DOTALL,
)


def source_of_test(path: str, text: str, test_id: str) -> str:
    """Return the source of a test in its file; empty if it is not found."""
    table, root = SYNTAX_TABLES[extension_of(path)], parse_syntax(extension_of(path), text.encode())
    sources = [
        node_text(node)
        for node in walk_syntax(root)
        if (name := _test_name(table, node)) and has_title(test_id, name)
    ]
    return "\n".join(sources)


def _test_name(table: SyntaxTable, node: SyntaxNode) -> str:
    if node.type in table.functions:
        name = function_name(node)
        is_test = table.test_name.fullmatch(name) is not None or any(
            _TEST_MARK.search(mark) for mark in _marks(table, node)
        )
        return name if is_test else ""
    if _TITLED.fullmatch(called_name(table, node)):
        arguments = node.child_by_field_name("arguments")
        first = arguments.named_children[:1] if arguments is not None else ()
        title = (
            first[0].named_children[0] if first and first[0].type == "argument" else next(iter(first), None)
        )
        return string_value(title) if title is not None and title.type in table.strings else ""
    return ""


def _marks(table: SyntaxTable, node: SyntaxNode) -> list[str]:
    """Return the annotations or attributes of a function."""
    inner = [mark for child in node.children if child.type == "modifiers" for mark in child.children]
    inner += [child for child in node.children if child.type in table.marks]
    siblings = list(node.parent.named_children) if node.parent is not None and table.marks else []
    before = [sibling for sibling in siblings if sibling.end_byte <= node.start_byte]
    while before and before[-1].type in (*table.marks, "line_comment", "block_comment"):
        inner.append(before.pop())
    return [node_text(mark) for mark in inner if mark.type in table.marks]
