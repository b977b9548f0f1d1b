"""Sources that recognize their tests: literals of tests, branches on them, swallowed errors."""

import ast
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from coder.core.paths import is_test_path
from coder.files.tokenize import count_terms
from coder.index.parsers import SyntaxNode, node_text, parse_syntax, walk_syntax
from coder.python.source import dump_node, parse_or_empty
from coder.verify.checks.harness import process_accesses
from coder.verify.languages import (
    SUFFIXES,
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
from coder.verify.test_edits import dotted_name

EXAMPLE = re.compile(r"[A-Za-z_][\w.]*\((?:[^()\n]|\([^()\n]*\))*\)|\[[^\n]*\]|\{[^\n]*\}")
"""A call with its arguments, or a collection, as an example in an issue shows it."""
LEAST_LENGTH = 3
"""Shorter collections occur in every program and test."""
BUILT_IN = ("float", "int", "str", "list", "tuple", "dict", "bytes", "set", "complex")


def overfitting_signs(
    old: Mapping[str, str], new: Mapping[str, str], tests: Collection[str], *, issue: str = ""
) -> list[str]:
    """Return signs of overfitting in changed Python sources (text by path), half a sentence each.

    `tests` are source texts. What is made for single inputs shows in the behavior of their neighbors; these
    signs do not.
    """
    prose = EXAMPLE.sub(" ", issue)
    lengths = {
        length
        for text in tests
        for length in _lengths(parse_or_empty(text))
        if length >= LEAST_LENGTH and str(length) not in prose
    }
    return [
        f"{path}:{line} {sign}"
        for path, text in new.items()
        for line, sign in _signs(parse_or_empty(old.get(path, "")), parse_or_empty(text), lengths)
    ]


def _lengths(tree: ast.Module) -> Iterator[int]:
    """Yield the lengths of the collection literals in a test."""
    yield from (len(node.elts) for node in ast.walk(tree) if isinstance(node, ast.List | ast.Tuple | ast.Set))


def _signs(before: ast.Module, after: ast.Module, lengths: Collection[int]) -> Iterator[tuple[int, str]]:
    """Yield choices by the length of a test's literal, and values that are equal to others.

    A length after which so many parts are unpacked is none.
    """
    unpacked = {
        (dump_node(node.value), len(target.elts))
        for node in ast.walk(after)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Tuple)
    }
    for node in _added_nodes(before, after, ast.Compare, ast.ClassDef):
        match node:
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="len"), args=[measured]),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value=int() as length)],
            ) if length in lengths and (dump_node(measured), length) not in unpacked:
                yield node.lineno, "chooses by the length of the test's own input"
            case ast.ClassDef(bases=bases, body=body) if any(
                dotted_name(base) in BUILT_IN for base in bases
            ) and any(isinstance(part, ast.FunctionDef) and part.name == "__eq__" for part in body):
                yield node.lineno, "makes values that are equal to others than a built-in type's"


def _added_nodes(before: ast.Module, after: ast.Module, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes of these types that do not occur in the old file."""
    counts = Counter(dump_node(node) for node in ast.walk(before) if isinstance(node, kinds))
    for node in ast.walk(after):
        if isinstance(node, kinds):
            counts[dump_node(node)] -= 1
            if counts[dump_node(node)] < 0:
                yield node


LARGEST_COMMON_NUMBER = 16
"""Numbers up to this occur in every program and test."""
TABLE_SHARE = 0.4
"""Share of a table's literals that come from the tests, from which on it counts as made for them."""
SHORTEST = 3
_WORDS = re.compile(r"[A-Za-z]+(?:[-_][A-Za-z]+)*")


def is_named(value: object, issue: str) -> bool:
    """Tell whether the issue names this literal as a separate word or number; a word in any of its forms."""
    text = str(value)
    if re.search(rf"(?<!\w)(?<!\d\.){re.escape(text)}(?!\w|\.\d)", issue):
        return True
    if len(text) < SHORTEST or not _WORDS.fullmatch(text):
        return False
    terms = count_terms(text).keys()
    return len(terms) > 0 and terms <= count_terms(issue).keys()


_BROAD = re.compile(r"\b(?:Exception|Throwable|RuntimeException|StandardError|Error)\b")
_SWALLOWING = re.compile(
    r"(?P<failing>.+?)(?:\.await)?\.unwrap_or(?:_default\(\)|(?:_else)?\(.*\))", re.DOTALL
)
_GLOBAL_NUMBER = re.compile(
    r"^(?:export\s+)?(?:let|var)\s+(?P<script>\w+)(?:\s*:\s*\w+|[ \t]+\w+)?\s*(?:=\s*\d+|;|$)"
    r"|\bstatic\s+(?:\w+\s+)*\$?(?P<static>\w+)\s*(?::\s*[\w:]+\s*)?(?:=\s*(?:\d+|\w+::new\(\d+\))|;)"
    r"|(?:@@|\$)(?P<ruby>\w+)\s*=\s*\d+\s*$",
    re.MULTILINE,
)
"""A variable with a number that outlives calls: of a module, a static or a class variable."""
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
    literals = read_test_literals(tests, prose)
    findings = []
    known = "\n".join((issue, *old.values()))
    for path, text in new.items():
        table = SYNTAX_TABLES[extension_of(path)]
        before, after = (
            parse_syntax(extension_of(path), side.encode()) for side in (old.get(path, ""), text)
        )
        signs = {
            **dict(special_cases(table, before, after, literals)),
            **dict(_swallowed_errors(table, before, after)),
            **dict(constant_functions(table, before, after, literals.inputs)),
        }
        findings += [f"{path}:{line} {sign}" for line, sign in sorted(signs.items())]
        new_literals = Counter(literals_in(table, after)) - Counter(literals_in(table, before))
        findings += [
            f"{path} names the test file {value}, by which it can tell whether it is being tested"
            for value in new_literals
            if value.endswith(SUFFIXES) and is_test_path(value) and not is_named(value, prose)
        ]
        findings += process_accesses(path, old.get(path, ""), text, known=known)
        findings += [
            f"{path} chooses by how often it was called ({name})"
            for name in _call_counters(text)
            if not re.search(rf"\b{name}\b", old.get(path, ""))
        ]
    return findings


def _call_counters(text: str) -> Iterator[str]:
    """Yield the variables of a file, not of a function, that it counts up and compares."""
    for name in dict.fromkeys(match[match.lastgroup or 0] for match in _GLOBAL_NUMBER.finditer(text)):
        counting = rf"\b{name}\s*(?:\+\+|\+= ?1\b|\.fetch_add\b|\.Add\()|\+\+\s*[$@]*{name}\b"
        comparing = (
            rf"\b{name}\b(?:\+\+|\.\w+\([^)]*\))?\s*(?:[<>]=?|[=!]==?|%)\s|[<>%]=?\s*[$@]*(?:\+\+)?{name}\b"
        )
        if re.search(counting, text) and re.search(comparing, text):
            yield name


def _swallowed_errors(table: SyntaxTable, before: SyntaxNode, after: SyntaxNode) -> Iterator[tuple[int, str]]:
    """Yield handlers that ignore every exception, and calls whose errors were not dropped before."""
    old = without_blanks(before)
    kinds = table.handlers | table.assignments | table.branches | frozenset(table.calls)
    for node in new_nodes(before, after, lambda node: node.type in kinds):
        if (
            node.type in table.handlers
            and _is_broad(node)
            and _is_silent(table, node.child_by_field_name("handler") or node.child_by_field_name("body"))
        ):
            yield line_of(node), "swallows every exception"
        elif _drops_result(table, node, old) or _ignores_error(table, node):
            yield line_of(node), "drops an error"
        elif node.type in table.calls:
            text = without_blanks(node)
            swallowing = _SWALLOWING.fullmatch(text)
            is_new = (
                swallowing
                and swallowing["failing"] in old
                and f"{swallowing['failing']}.unwrap_or" not in old
            )
            if is_new or _EMPTY_CATCH.fullmatch(text):
                yield line_of(node), "swallows an error"


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
    return without_blanks(left).split(",")[-1] == "_" and without_blanks(right) in old


def _ignores_error(table: SyntaxTable, branch: SyntaxNode) -> bool:
    if branch.type not in table.branches:
        return False
    condition, body = branch.child_by_field_name("condition"), consequence_of(branch)
    is_empty = body is not None and not any("comment" not in child.type for child in body.named_children)
    return re.search(r"\berr\b", node_text(condition)) is not None and is_empty


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
        if any(is_chosen(value) and is_telling(value) for value in values) or any(
            value not in known and _is_most_of_input(value, tests.inputs) for value in values
        ):
            yield line_of(node), CHOICE
    for node in new_nodes(before, after, lambda node: node.type in table.branches):
        condition = node.child_by_field_name("condition")
        parts = walk_syntax(condition) if condition is not None else ()
        compared = [value for part in parts for value in _operands(table, part)]
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
        elif any(is_telling(value) or _is_serialized(value, tests) for value in chosen):
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
        if name and was_computed and any(value in literals and is_telling(value) for value in answers):
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
    return "".join(node_text(node).split())


def line_of(node: SyntaxNode) -> int:
    return node.start_point[0] + 1


def is_telling(value: str) -> bool:
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
