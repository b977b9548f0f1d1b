"""Node types and names, by language, that the checks of a change look for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from coder.index.parsers.syntax import SyntaxNode, node_text, walk_syntax


@dataclass(frozen=True, kw_only=True)
class SyntaxTable:
    """Node types of one grammar."""

    strings: frozenset[str]
    numbers: frozenset[str]
    calls: Mapping[str, str]
    """Types of calls, and the field with the function."""
    functions: frozenset[str]
    branches: frozenset[str]
    """Types with a field `condition`."""
    cases: frozenset[str]
    """Types of the labels or patterns of a switch; a body within them does not count."""
    tables: frozenset[str]
    """Literals of maps and objects."""
    handlers: frozenset[str] = frozenset()
    """Clauses that handle an exception, with a field `body`."""
    assignments: frozenset[str] = frozenset()
    """Types with fields `left` and `right`, where a name `_` on the left drops an error."""
    marks: frozenset[str] = frozenset()
    """Annotations and attributes."""


_SCRIPT = SyntaxTable(
    strings=frozenset({"string", "template_string"}),
    numbers=frozenset({"number"}),
    calls={"call_expression": "function"},
    functions=frozenset(
        {"function_declaration", "method_definition", "arrow_function", "function_expression"}
    ),
    branches=frozenset({"if_statement", "ternary_expression"}),
    cases=frozenset({"switch_case"}),
    tables=frozenset({"object"}),
    handlers=frozenset({"catch_clause"}),
)
_GO = SyntaxTable(
    strings=frozenset({"interpreted_string_literal", "raw_string_literal"}),
    numbers=frozenset({"int_literal", "float_literal"}),
    calls={"call_expression": "function"},
    functions=frozenset({"function_declaration", "method_declaration"}),
    branches=frozenset({"if_statement"}),
    cases=frozenset({"expression_case"}),
    tables=frozenset({"literal_value"}),
    assignments=frozenset({"assignment_statement", "short_var_declaration"}),
)
_RUST = SyntaxTable(
    strings=frozenset({"string_literal", "raw_string_literal"}),
    numbers=frozenset({"integer_literal", "float_literal"}),
    calls={"call_expression": "function", "macro_invocation": "macro"},
    functions=frozenset({"function_item"}),
    branches=frozenset({"if_expression"}),
    cases=frozenset({"match_pattern"}),
    tables=frozenset(),
    assignments=frozenset({"let_declaration"}),
    marks=frozenset({"attribute_item"}),
)
_JAVA = SyntaxTable(
    strings=frozenset({"string_literal"}),
    numbers=frozenset({"decimal_integer_literal", "decimal_floating_point_literal"}),
    calls={"method_invocation": "name"},
    functions=frozenset({"method_declaration"}),
    branches=frozenset({"if_statement", "ternary_expression"}),
    cases=frozenset({"switch_label"}),
    tables=frozenset(),
    handlers=frozenset({"catch_clause"}),
    marks=frozenset({"marker_annotation", "annotation"}),
)
SYNTAX_TABLES: Mapping[str, SyntaxTable] = {
    **dict.fromkeys(("js", "jsx", "mjs", "cjs", "ts", "mts", "cts", "tsx"), _SCRIPT),
    "go": _GO,
    "rs": _RUST,
    "java": _JAVA,
}
"""By file extension, as in `coder.index.parsers.languages.LANGUAGES`."""
CHAINS = frozenset({"member_expression", "field_expression", "selector_expression", "method_invocation"})
"""Types of nodes that continue a call, such as `.toBe` in `expect(x).toBe(1)`."""
SUFFIXES = tuple(f".{extension}" for extension in SYNTAX_TABLES)


def extension_of(path: str) -> str:
    return path.rpartition(".")[2]


def called_name(table: SyntaxTable, node: SyntaxNode) -> str:
    """Return the dotted name of the function that a call calls; empty for other nodes."""
    if node.type not in table.calls:
        return ""
    parts = (node.child_by_field_name(field) for field in ("object", table.calls[node.type]))
    return "".join(".".join(node_text(part) for part in parts if part is not None).split())


def literal_value(node: SyntaxNode) -> str:
    """Return the value of a string or number literal as text."""
    text = node_text(node).strip()
    return text.strip("r#b").strip("\"'`") if text[-1:] in "\"'`#" else text.replace("_", "")


def literals_in(table: SyntaxTable, node: SyntaxNode | None) -> Iterator[str]:
    """Yield the values of the literals in a node, without those of template strings with parts."""
    for part in walk_syntax(node) if node is not None else ():
        is_template = any("subst" in child.type for child in part.children)
        if part.type in table.numbers or (part.type in table.strings and not is_template):
            yield literal_value(part)
