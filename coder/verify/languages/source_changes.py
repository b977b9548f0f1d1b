"""Changes of sources that treat the symptom, in languages with a syntax table.

They are special cases for the inputs of tests, swallowed errors, and questions whether a test is running.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from coder.core.paths import is_test_path
from coder.index.parsers import SyntaxNode, node_text, parse_syntax, walk_syntax
from coder.verify.languages.process_access import process_accesses
from coder.verify.languages.special_cases import (
    constant_functions,
    line_of,
    new_nodes,
    read_test_literals,
    special_cases,
    without_blanks,
)
from coder.verify.languages.tables import (
    SUFFIXES,
    SYNTAX_TABLES,
    SyntaxTable,
    consequence_of,
    extension_of,
    is_name,
    literals_in,
)
from coder.verify.review.branch_literals import is_named
from coder.verify.review.overfitting import EXAMPLE

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
        table = _table(path)
        before, after = _root(path, old.get(path, "")), _root(path, text)
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


def _table(path: str) -> SyntaxTable:
    return SYNTAX_TABLES[extension_of(path)]


def _root(path: str, text: str) -> SyntaxNode:
    return parse_syntax(extension_of(path), text.encode())


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
