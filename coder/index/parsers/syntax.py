"""Syntax trees of files in languages with a tree-sitter grammar."""

from collections.abc import Iterator, Sequence
from typing import Protocol, cast

from coder.index.parsers.grammar import load_grammar
from coder.index.parsers.languages import LANGUAGES


class SyntaxNode(Protocol):
    """The part of a tree-sitter node that other packages use; broken code has nodes of type `ERROR`."""

    @property
    def type(self) -> str: ...

    @property
    def text(self) -> bytes | None: ...

    @property
    def start_byte(self) -> int: ...

    @property
    def end_byte(self) -> int: ...

    @property
    def start_point(self) -> tuple[int, int]:
        """Row and column, from 0."""
        ...

    @property
    def children(self) -> "Sequence[SyntaxNode]": ...

    @property
    def named_children(self) -> "Sequence[SyntaxNode]": ...

    @property
    def parent(self) -> "SyntaxNode | None": ...

    def child_by_field_name(self, name: str) -> "SyntaxNode | None": ...


def parse_syntax(suffix: str, data: bytes) -> SyntaxNode:
    """Return the root of the syntax tree of a file, as far as it can be parsed.

    `suffix` is a file extension in `LANGUAGES`.
    """
    from tree_sitter import Parser

    return cast("SyntaxNode", Parser(load_grammar(LANGUAGES[suffix])).parse(data).root_node)


def walk_syntax(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """Yield a node and its descendants in source order."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending += reversed(current.children)


def node_text(node: SyntaxNode | None) -> str:
    """Return the source text of a node; empty for None."""
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""
