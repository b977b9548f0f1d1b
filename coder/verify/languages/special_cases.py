"""Special cases for the inputs of tests in changed sources, in languages with a syntax table."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from coder.index.parsers import SyntaxNode, node_text, parse_syntax, walk_syntax
from coder.verify.languages.tables import (
    SYNTAX_TABLES,
    SyntaxTable,
    called_name,
    consequence_of,
    extension_of,
    function_name,
    is_name,
    label_of,
    literals_in,
)
from coder.verify.review.branch_literals import LARGEST_COMMON_NUMBER, SHORTEST, TABLE_SHARE, is_named

CASE = "is made for the test's own input and answer"
CHOICE = "chooses by a literal of the test that the issue does not name"
REFUSAL = "refuses the test's own input, which the issue does not name"
TRIVIAL = frozenset({"", "0", "1", "0.0", "1.0", "\\0", "\\n"})
"""Values for which code may always have a case of its own."""
LONGEST_PART = 0.75
"""Share of an input from which on a part of it stands for the whole."""
SHORTEST_PART = 4
_LISTS = frozenset(
    {
        *("array", "array_expression", "array_creation_expression", "array_initializer", "literal_value"),
        *("initializer_list", "arguments", "argument_list", "tuple_expression"),
    }
)
_LOOKUPS = frozenset({"subscript_expression", "element_reference", "index_expression"})
_BINARY = frozenset({"binary_expression", "binary"})
_EQUALITY = frozenset({"==", "===", "!=", "!=="})
_EQUALITY_CALL = re.compile(
    r"(?:^|\.)(?:equals(?:IgnoreCase)?|str(?:n|case)?cmp|includes|contains|has|in_array|include\?|eql?\?|start_with\?"
    r"|end_with\?|startsWith|endsWith|starts_with|ends_with|str_(?:starts_with|ends_with|contains)|HasPrefix|HasSuffix"
    r"|EqualFold|matches)$"
)
_REFUSAL = re.compile(
    r"\W*(?:then\b)?\W*(?:throw\b|raise\b|panic!?\s*\(|return\s+(?:Err\(|.*\b(?:fmt\.Errorf|errors\.New)\())",
    re.DOTALL,
)


class KnownLiterals(NamedTuple):
    """Literals in the files of tests."""

    all: frozenset[str]
    inputs: frozenset[str]
    """Those that the issue does not name in prose."""
    lists: frozenset[str]
    """Letters and digits of lists of literals, as any serialization of the list has them."""


def read_test_literals(tests: Mapping[str, str], prose: str) -> KnownLiterals:
    """Return the literals of test files (text by path)."""
    values: set[str] = set()
    lists: set[str] = set()
    for path, text in tests.items():
        table, root = SYNTAX_TABLES[extension_of(path)], parse_syntax(extension_of(path), text.encode())
        values |= {value for value in literals_in(table, root) if value}
        for node in walk_syntax(root):
            parts = [*literals_in(table, node)] if node.type in _LISTS else []
            if len(parts) > 1 and not any(is_name(part) for part in walk_syntax(node)):
                lists.add(_letters("".join(parts)))
    inputs = {value for value in values - TRIVIAL if not is_named(value, prose)}
    return KnownLiterals(frozenset(values), frozenset(inputs), frozenset(lists - {_letters(prose)}))


def special_cases(
    table: SyntaxTable, before: SyntaxNode, after: SyntaxNode, tests: KnownLiterals
) -> Iterator[tuple[int, str]]:
    """Yield lines with conditions, cases and tables that are new in a file and made for inputs of tests.

    What is said last of a line counts.
    """
    known = frozenset(literals_in(table, before))

    def is_chosen(value: str) -> bool:
        return value not in known and (value in tests.inputs or _is_serialized(value, tests))

    comparisons = _BINARY | frozenset(table.calls)
    for node in new_nodes(before, after, lambda node: node.type in comparisons):
        values = [*_operands(table, node)]
        if any(is_chosen(value) and is_distinctive(value) for value in values) or any(
            value not in known and _is_most_of_input(value, tests.inputs) for value in values
        ):
            yield line_of(node), CHOICE
    for node in new_nodes(before, after, lambda node: node.type in table.branches):
        compared = [*_equality_literals(table, node.child_by_field_name("condition"))]
        if any(map(is_chosen, compared)) and _REFUSAL.match(node_text(consequence_of(node))):
            yield line_of(node), REFUSAL
    kinds = table.branches | table.cases | table.tables
    for node in new_nodes(before, after, lambda node: node.type in kinds):
        tested, answers = _tested_and_answered(table, node)
        chosen = [value for value in tested if is_chosen(value)]
        answered = [value for value in answers if value in tests.all]
        if node.type in table.tables and len(chosen) < TABLE_SHARE * len(tested):
            continue
        is_new = chosen or any(value in tests.inputs and value not in known for value in answered)
        if answered and is_new and any(value in tests.inputs or is_chosen(value) for value in tested):
            yield line_of(node), CASE
        elif any(is_distinctive(value) or _is_serialized(value, tests) for value in chosen):
            yield line_of(node), CHOICE


def constant_functions(
    table: SyntaxTable, before: SyntaxNode, after: SyntaxNode, literals: Collection[str]
) -> Iterator[tuple[int, str]]:
    """Yield functions that computed their result before and now return only literals of the tests."""
    old = {function_name(node): node for node in walk_syntax(before) if node.type in table.functions}
    for node in new_nodes(before, after, lambda node: node.type in table.functions):
        name, earlier = function_name(node), old.get(function_name(node))
        body = node.child_by_field_name("body")
        answers = _sole_literals(table, body)
        was_computed = earlier is not None and not _sole_literals(table, earlier.child_by_field_name("body"))
        if name and was_computed and any(value in literals and is_distinctive(value) for value in answers):
            yield line_of(node), f"has {name} answer with a value of the tests"


def new_nodes(
    before: SyntaxNode, after: SyntaxNode, is_wanted: Callable[[SyntaxNode], bool]
) -> Iterator[SyntaxNode]:
    """Yield the nodes with children whose text does not occur in the old file as such a node."""
    counts = Counter(
        without_blanks(node) for node in walk_syntax(before) if node.children and is_wanted(node)
    )
    for node in walk_syntax(after):
        if node.children and is_wanted(node):
            counts[without_blanks(node)] -= 1
            if counts[without_blanks(node)] < 0:
                yield node


def without_blanks(node: SyntaxNode) -> str:
    """Return the text of a node without blanks."""
    return "".join(node_text(node).split())


def line_of(node: SyntaxNode) -> int:
    return node.start_point[0] + 1


def is_distinctive(value: str) -> bool:
    """Tell whether a literal is long or large enough that no other code has it by chance."""
    if re.fullmatch(r"\d+(?:\.\d+)?\w*", value):
        return float(re.match(r"[\d.]+", value)[0]) > LARGEST_COMMON_NUMBER  # type: ignore[index]
    return len(value) >= SHORTEST


def _is_serialized(value: str, tests: KnownLiterals) -> bool:
    letters = _letters(value)
    return len(letters) >= 2 and letters != value and letters in tests.lists


def _letters(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "", text)


def _is_most_of_input(value: str, inputs: Iterable[str]) -> bool:
    """Tell whether a literal is a large part of one input of the tests, and occurs in no other."""
    if len(value) < SHORTEST_PART:
        return False
    wholes = [known for known in inputs if value in known]
    return len(wholes) == 1 and value != wholes[0] and len(value) >= LONGEST_PART * len(wholes[0])


def _equality_literals(table: SyntaxTable, condition: SyntaxNode | None) -> Iterator[str]:
    """Yield the literals that a condition compares for equality."""
    for node in walk_syntax(condition) if condition is not None else ():
        yield from _operands(table, node)


def _operands(table: SyntaxTable, node: SyntaxNode) -> Iterator[str]:
    """Yield the literals that a node itself compares for equality."""
    if node.type in _BINARY and node_text(node.child_by_field_name("operator")) in _EQUALITY:
        sides = [node.child_by_field_name("left"), node.child_by_field_name("right")]
    elif _EQUALITY_CALL.search(called_name(table, node)):
        sides = [node.child_by_field_name("arguments")]
    else:
        return
    for side in sides:
        if side is not None and not any(is_name(part) for part in walk_syntax(side)):
            yield from literals_in(table, side)
        elif side is not None and side.type.endswith(("arguments", "argument_list")):
            yield from (
                value
                for argument in side.named_children
                if not any(is_name(part) for part in walk_syntax(argument))
                for value in literals_in(table, argument)
            )


def _tested_and_answered(table: SyntaxTable, node: SyntaxNode) -> tuple[list[str], list[str]]:
    """Return the literals that a branch, case or table compares with, and those it answers with alone."""
    if node.type in table.branches:
        answer = consequence_of(node)
        return [*_condition_literals(table, node.child_by_field_name("condition"))], _sole_literals(
            table, answer
        )
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


def _condition_literals(table: SyntaxTable, condition: SyntaxNode | None) -> Iterator[str]:
    """Yield the literals of a condition, without keys by which it looks something up."""
    for part in walk_syntax(condition) if condition is not None else ():
        is_key = part.type in table.strings and part.parent is not None and part.parent.type in _LOOKUPS
        if not part.named_children or part.type in table.strings:
            yield from literals_in(table, part) if not is_key else ()


def _sole_literals(table: SyntaxTable, node: SyntaxNode | None) -> list[str]:
    """Return the literals of a node that has nothing else but the words that return them."""
    if node is None:
        return []
    is_plain = not any(is_name(part) or part.type in table.calls for part in walk_syntax(node))
    return [*literals_in(table, node)] if is_plain else []
