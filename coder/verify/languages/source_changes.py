"""Changes of sources that treat the symptom, in languages with a syntax table.

They are special cases for the inputs of tests, swallowed errors, and questions whether a test is running.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping

from coder.core.values.paths import is_test_path
from coder.index.parsers.syntax import SyntaxNode, node_text, parse_syntax, walk_syntax
from coder.verify.languages.process_access import process_accesses
from coder.verify.languages.tables import (
    SUFFIXES,
    SYNTAX_TABLES,
    SyntaxTable,
    consequence_of,
    extension_of,
    function_name,
    is_name,
    label_of,
    literals_in,
)
from coder.verify.review.branch_literals import LARGEST_COMMON_NUMBER, SHORTEST, TABLE_SHARE, is_named
from coder.verify.review.overfitting import EXAMPLE

_BROAD = re.compile(r"\b(?:Exception|Throwable|RuntimeException|StandardError|Error)\b")
_SWALLOWING = re.compile(
    r"(?P<failing>.+?)(?:\.await)?\.unwrap_or(?:_default\(\)|(?:_else)?\(.*\))", re.DOTALL
)
_EMPTY_CATCH = re.compile(
    r".*\.catch\((?:\(\w*\)|\w+)=>(?:\{\}|null|undefined|\[\]|\"\"|''|false|0)?\)", re.DOTALL
)


def symptom_signs(
    old: Mapping[str, str], new: Mapping[str, str], tests: Mapping[str, str], *, issue: str = ""
) -> list[str]:
    """Return signs of a treated symptom in the changed sources, half a sentence each; texts are by path.

    A literal that the issue names in prose may be used; literals of its examples count as those of the tests.
    """
    prose = EXAMPLE.sub(" ", issue)
    literals = {
        value
        for path, text in tests.items()
        for value in literals_in(_table(path), _root(path, text))
        if value and not is_named(value, prose)
    }
    findings = []
    known = "\n".join((issue, *old.values()))
    for path, text in new.items():
        table = _table(path)
        before, after = _root(path, old.get(path, "")), _root(path, text)
        signs = {
            **dict(_special_cases(table, before, after, literals)),
            **dict(_swallowed_errors(table, before, after)),
            **dict(_constant_functions(table, before, after, literals)),
        }
        findings += [f"{path}:{line} {sign}" for line, sign in sorted(signs.items())]
        new_literals = Counter(literals_in(table, after)) - Counter(literals_in(table, before))
        findings += [
            f"{path} names the test file {value}, by which it can tell whether it is being tested"
            for value in new_literals
            if value.endswith(SUFFIXES) and is_test_path(value) and not is_named(value, prose)
        ]
        findings += process_accesses(path, old.get(path, ""), text, known=known)
    return findings


def _table(path: str) -> SyntaxTable:
    return SYNTAX_TABLES[extension_of(path)]


def _root(path: str, text: str) -> SyntaxNode:
    return parse_syntax(extension_of(path), text.encode())


def is_distinctive(value: str) -> bool:
    """Tell whether a literal is long or large enough that no other code has it by chance."""
    if re.fullmatch(r"\d+(?:\.\d+)?\w*", value):
        return float(re.match(r"[\d.]+", value)[0]) > LARGEST_COMMON_NUMBER  # type: ignore[index]
    return len(value) >= SHORTEST


def _new_nodes(
    before: SyntaxNode, after: SyntaxNode, is_wanted: Callable[[SyntaxNode], bool]
) -> Iterator[SyntaxNode]:
    """Yield the nodes with children whose text does not occur in the old file as such a node."""
    counts = Counter(_normalize(node) for node in walk_syntax(before) if node.children and is_wanted(node))
    for node in walk_syntax(after):
        if node.children and is_wanted(node):
            counts[_normalize(node)] -= 1
            if counts[_normalize(node)] < 0:
                yield node


def _normalize(node: SyntaxNode) -> str:
    return "".join(node_text(node).split())


def _line(node: SyntaxNode) -> int:
    return node.start_point[0] + 1


def _special_cases(
    table: SyntaxTable, before: SyntaxNode, after: SyntaxNode, literals: Collection[str]
) -> Iterator[tuple[int, str]]:
    """Yield conditions, cases and tables on literals of the tests that are new in this file."""
    known = {value for value in literals_in(table, before)}
    kinds = table.branches | table.cases | table.tables
    for node in _new_nodes(before, after, lambda node: node.type in kinds):
        tested, answers = _tested_and_answered(table, node)
        chosen = [value for value in tested if value in literals and value not in known]
        answered = [value for value in answers if value in literals]
        if node.type in table.tables and len(chosen) < TABLE_SHARE * len(tested):
            continue
        if (
            any(value in literals for value in tested)
            and answered
            and (chosen or any(value not in known for value in answered))
        ):
            yield _line(node), "is made for the test's own input and answer"
        elif any(map(is_distinctive, chosen)):
            yield _line(node), "chooses by a literal of the test that the issue does not name"


def _tested_and_answered(table: SyntaxTable, node: SyntaxNode) -> tuple[list[str], list[str]]:
    """Return the literals that a branch, case or table compares with, and those it answers with alone."""
    if node.type in table.branches:
        answer = consequence_of(node)
        return [*literals_in(table, node.child_by_field_name("condition"))], _sole_literals(table, answer)
    if node.type in table.tables:
        entries = [
            [*literals_in(table, entry)] for entry in node.named_children if entry.type != "spread_element"
        ]
        pairs = [entry for entry in entries if len(entry) == 2]
        return [key for key, _ in pairs], [value for _, value in pairs]
    label = label_of(node)
    body = node if label is not node else node.parent
    after = [
        child
        for child in (body.named_children if body is not None else ())
        if child.start_byte >= label.end_byte
    ]
    return [*literals_in(table, label)], [
        value for child in after[:1] for value in _sole_literals(table, child)
    ]


def _sole_literals(table: SyntaxTable, node: SyntaxNode | None) -> list[str]:
    """Return the literals of a node that has nothing else but the words that return them."""
    if node is None:
        return []
    is_plain = not any(is_name(part) or part.type in table.calls for part in walk_syntax(node))
    return [*literals_in(table, node)] if is_plain else []


def _swallowed_errors(table: SyntaxTable, before: SyntaxNode, after: SyntaxNode) -> Iterator[tuple[int, str]]:
    """Yield handlers that ignore every exception, and calls whose errors were not dropped before."""
    old = _normalize(before)
    kinds = table.handlers | table.assignments | table.branches | frozenset(table.calls)
    for node in _new_nodes(before, after, lambda node: node.type in kinds):
        if (
            node.type in table.handlers
            and _is_broad(node)
            and _is_silent(table, node.child_by_field_name("handler") or node.child_by_field_name("body"))
        ):
            yield _line(node), "swallows every exception"
        elif _drops_result(table, node, old) or _ignores_error(table, node):
            yield _line(node), "drops an error"
        elif node.type in table.calls:
            text = _normalize(node)
            swallowing = _SWALLOWING.fullmatch(text)
            is_new = (
                swallowing
                and swallowing["failing"] in old
                and f"{swallowing['failing']}.unwrap_or" not in old
            )
            if is_new or _EMPTY_CATCH.fullmatch(text):
                yield _line(node), "swallows an error"


def _is_broad(handler: SyntaxNode) -> bool:
    """Tell whether a handler names no type of exception, or one that contains all."""
    head = node_text(handler).partition("{")[0]
    if handler.type.startswith("rescue"):
        types = handler.child_by_field_name("exceptions")
        return types is None or _BROAD.search(node_text(types)) is not None
    return re.search(r"\w\s+\$?\w+\s*\)", head) is None or _BROAD.search(head) is not None


def _is_silent(table: SyntaxTable, body: SyntaxNode | None) -> bool:
    """Tell whether a block, or a missing one, neither raises nor calls nor uses anything."""
    return body is None or not any(
        part.type in table.calls or is_name(part) or part.type.startswith("throw")
        for part in walk_syntax(body)
    )


def _drops_result(table: SyntaxTable, node: SyntaxNode, old: str) -> bool:
    """Tell whether an assignment drops the last result of a call that the old file has as well."""
    if node.type not in table.assignments:
        return False
    left = node.child_by_field_name("left") or node.child_by_field_name("pattern")
    right = node.child_by_field_name("right") or node.child_by_field_name("value")
    if left is None or right is None or not any(part.type in table.calls for part in walk_syntax(right)):
        return False
    return _normalize(left).split(",")[-1] == "_" and _normalize(right) in old


def _ignores_error(table: SyntaxTable, branch: SyntaxNode) -> bool:
    if branch.type not in table.branches:
        return False
    condition, body = branch.child_by_field_name("condition"), consequence_of(branch)
    is_empty = body is not None and not any("comment" not in child.type for child in body.named_children)
    return re.search(r"\berr\b", node_text(condition)) is not None and is_empty


def _constant_functions(
    table: SyntaxTable, before: SyntaxNode, after: SyntaxNode, literals: Collection[str]
) -> Iterator[tuple[int, str]]:
    """Yield functions that computed their result before and now return only literals of the tests."""
    old = {function_name(node): node for node in walk_syntax(before) if node.type in table.functions}
    for node in _new_nodes(before, after, lambda node: node.type in table.functions):
        name, earlier = function_name(node), old.get(function_name(node))
        body = node.child_by_field_name("body")
        answers = _sole_literals(table, body)
        was_computed = earlier is not None and not _sole_literals(table, earlier.child_by_field_name("body"))
        if name and was_computed and any(value in literals and is_distinctive(value) for value in answers):
            yield _line(node), f"has {name} answer with a value of the tests"
