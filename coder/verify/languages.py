"""Definitions and the lexical form of sources in other languages than Python."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from coder.index.parsers import SyntaxNode, definitions, node_text


def definition_names(path: str, text: str) -> frozenset[str]:
    """Return the names of the functions and types that a file defines."""
    return frozenset(
        definition.bare_name for definition in definitions(path, text) if definition.kind != "variable"
    )


def find_edited_definitions(old: Mapping[str, str], new: Mapping[str, str]) -> frozenset[str]:
    """Return the names of the definitions that a change adds or edits; texts are by path."""
    names: set[str] = set()
    for path, text in new.items():
        before = _sources(path, old.get(path, ""))
        names |= {
            name.rpartition(".")[2]
            for name, source in _sources(path, text).items()
            if before.get(name) != source
        }
    return frozenset(names)


def _sources(path: str, text: str) -> dict[str, str]:
    lines = text.split("\n")
    return {
        definition.name: "\n".join(lines[definition.start - 1 : definition.end])
        for definition in definitions(path, text)
    }


@dataclass(frozen=True, kw_only=True)
class SyntaxTable:
    """Node types of one grammar."""

    strings: frozenset[str]
    calls: Mapping[str, str]
    """Types of calls, and the field with the function."""
    functions: frozenset[str]
    marks: frozenset[str] = frozenset()
    """Annotations and attributes."""
    test_name: re.Pattern[str] = re.compile(r"(?:Test|Fuzz|Example)(?:[A-Z_0-9].*)?")
    """Names of functions that are tests without a mark."""


_MARKED = re.compile(r"(?!)")
"""Tests are marked, whatever their names are."""
_SCRIPT = SyntaxTable(
    strings=frozenset({"string", "template_string"}),
    calls={"call_expression": "function"},
    functions=frozenset(
        {"function_declaration", "method_definition", "arrow_function", "function_expression"}
    ),
)
_GO = SyntaxTable(
    strings=frozenset({"interpreted_string_literal", "raw_string_literal"}),
    calls={"call_expression": "function"},
    functions=frozenset({"function_declaration", "method_declaration"}),
)
_RUST = SyntaxTable(
    strings=frozenset({"string_literal", "raw_string_literal"}),
    calls={"call_expression": "function", "macro_invocation": "macro"},
    functions=frozenset({"function_item"}),
    marks=frozenset({"attribute_item"}),
    test_name=_MARKED,
)
_JAVA = SyntaxTable(
    strings=frozenset({"string_literal"}),
    calls={"method_invocation": "name"},
    functions=frozenset({"method_declaration"}),
    marks=frozenset({"marker_annotation", "annotation"}),
    test_name=_MARKED,
)
_RUBY = SyntaxTable(
    strings=frozenset({"string", "bare_string"}),
    calls={"call": "method"},
    functions=frozenset({"method", "singleton_method"}),
    test_name=re.compile(r"test_\w+[?!]?"),
)
_PHP = SyntaxTable(
    strings=frozenset({"string", "encapsed_string"}),
    calls={
        "function_call_expression": "function",
        "member_call_expression": "name",
        "nullsafe_member_call_expression": "name",
        "scoped_call_expression": "name",
    },
    functions=frozenset({"function_definition", "method_declaration"}),
    marks=frozenset({"attribute_list", "comment"}),
    test_name=re.compile(r"test\w*"),
)
_C = SyntaxTable(
    strings=frozenset({"string_literal"}),
    calls={"call_expression": "function"},
    functions=frozenset({"function_definition"}),
    test_name=re.compile(r"main|test_?\w*|\w+_test"),
)
SYNTAX_TABLES: Mapping[str, SyntaxTable] = {
    **dict.fromkeys(("js", "jsx", "mjs", "cjs", "ts", "mts", "cts", "tsx"), _SCRIPT),
    "go": _GO,
    "rs": _RUST,
    "java": _JAVA,
    **dict.fromkeys(("rb", "rake"), _RUBY),
    "php": _PHP,
    **dict.fromkeys(("c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx"), _C),
}
"""By file extension, as in `coder.index.languages.LANGUAGES`."""
SUFFIXES = tuple(f".{extension}" for extension in SYNTAX_TABLES)
_RECEIVERS = ("object", "receiver", "scope")


def extension_of(path: str) -> str:
    return path.rpartition(".")[2]


def called_name(table: SyntaxTable, node: SyntaxNode) -> str:
    """Return the dotted name of the function that a call calls; empty for other nodes."""
    if node.type not in table.calls:
        return ""
    parts = (node.child_by_field_name(field) for field in (*_RECEIVERS, table.calls[node.type]))
    return "".join(".".join(node_text(part) for part in parts if part is not None).split())


def function_name(node: SyntaxNode) -> str:
    own, declarator = node.child_by_field_name("name"), node.child_by_field_name("declarator")
    while own is None and declarator is not None:
        inner = declarator.child_by_field_name("declarator")
        own, declarator = (declarator, None) if inner is None else (None, inner)
    if own is None and node.parent is not None:
        own = node.parent.child_by_field_name("name") or node.parent.child_by_field_name("left")
    return node_text(own)


def string_value(node: SyntaxNode) -> str:
    return node_text(node).strip().strip("r#b").strip("\"'`")
