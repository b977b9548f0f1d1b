"""Definitions of Python files, read with tree-sitter so that broken code still gives what can be made out."""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from coder.tools.symbols.definition import Definition

if TYPE_CHECKING:
    from tree_sitter import Language, Node

WIDEST = 200
SCOPES = ("function_definition", "class_definition")


def python_definitions(text: str) -> tuple[Definition, ...]:
    """Classes, functions, methods, and the variables of modules and classes."""
    from tree_sitter import Parser

    tree = Parser(_language()).parse(text.encode("utf-8", "replace"))
    return tuple(_walk(tree.root_node))


@cache
def _language() -> "Language":
    import tree_sitter_python
    from tree_sitter import Language

    return Language(tree_sitter_python.language())


def _walk(root: "Node") -> Iterator[Definition]:
    """Depth first, without recursion: hostile nesting must not exhaust the stack."""
    waiting: list[tuple[Node, str, str]] = [(root, "", "module")]
    while waiting:
        node, prefix, scope = waiting.pop()
        if node.type in SCOPES:
            found = _scope(node, prefix, scope)
            if found is None:
                continue
            yield found
            body = node.child_by_field_name("body")
            inner = "class" if node.type == "class_definition" else "function"
            waiting += [(child, f"{found.name}.", inner) for child in reversed(body.named_children if body else [])]
        elif node.type == "expression_statement" and scope != "function":
            yield from _variables(node, prefix)
        elif node.type not in ("assignment", "call", "string"):
            waiting += [(child, prefix, scope) for child in reversed(node.named_children) if not _is_expression(child)]


def _is_expression(node: "Node") -> bool:
    return node.type in ("identifier", "attribute", "call", "string", "binary_operator", "comparison_operator", "boolean_operator", "list")


def _scope(node: "Node", prefix: str, scope: str) -> Definition | None:
    name = node.child_by_field_name("name")
    if name is None or not name.text:
        return None
    body = node.child_by_field_name("body")
    outer = node.parent if node.parent and node.parent.type == "decorated_definition" else node
    docstring = _docstring(body)
    kind = "class" if node.type == "class_definition" else "method" if scope == "class" else "function"
    return Definition(
        name=prefix + name.text.decode("utf-8", "replace"),
        kind=kind,
        start=outer.start_point[0] + 1,
        line=name.start_point[0] + 1,
        end=max(node.end_point[0], name.start_point[0]) + 1,
        signature=_signature(node, body),
        summary=_summary(docstring),
        docstring=(docstring.start_point[0] + 1, docstring.end_point[0] + 1) if docstring else (0, 0),
    )


def _signature(node: "Node", body: "Node | None") -> str:
    text = (node.text or b"")[: (body.start_byte - node.start_byte) if body else WIDEST * 2].decode("utf-8", "replace")
    text = re.sub(r"\s+", " ", re.sub(r"#[^\n]*\n", "\n", text)).strip().removesuffix(":")
    text = text.replace("( ", "(").replace(", )", ")").replace(" )", ")")
    return text if len(text) <= WIDEST else f"{text[:WIDEST]}…"


def _docstring(body: "Node | None") -> "Node | None":
    first = body.named_children[0] if body and body.named_children else None
    if first is not None and first.type == "expression_statement" and first.named_children:
        first = first.named_children[0]
    return first if first is not None and first.type == "string" else None


def _summary(docstring: "Node | None") -> str:
    """Its first line."""
    if docstring is None or not docstring.text:
        return ""
    text = re.sub(r'^[rRuUbB]*("""|\'\'\'|"|\')', "", docstring.text.decode("utf-8", "replace"))
    lines = text.strip().splitlines()
    return lines[0].removesuffix('"""').removesuffix("'''").strip('"').strip()[:120] if lines else ""


def _variables(statement: "Node", prefix: str) -> Iterator[Definition]:
    for node in statement.named_children:
        left = node.child_by_field_name("left") if node.type == "assignment" else None
        if left is None or left.type != "identifier" or not left.text:
            continue
        text = re.sub(r"\s+", " ", (node.text or b"")[:WIDEST].decode("utf-8", "replace"))
        yield Definition(
            name=prefix + left.text.decode("utf-8", "replace"),
            kind="variable",
            start=node.start_point[0] + 1,
            line=node.start_point[0] + 1,
            end=node.end_point[0] + 1,
            signature=text if len(text) <= 80 else f"{text[:80]}…",
        )
