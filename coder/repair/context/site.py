"""Input and output of repair templates."""

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from coder.core.ports import TextChange
from coder.core.verdict import Failure, Frame
from coder.python.source import Function, PythonSource, parse_expression

ATOMIC_EXPRESSIONS = (
    ast.Name,
    ast.Constant,
    ast.Call,
    ast.Attribute,
    ast.Subscript,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.JoinedStr,
)


@dataclass(frozen=True)
class Rewrite:
    """A set of changes to a file."""

    changes: tuple[TextChange, ...]
    weight: float
    """How often such an edit is right where it applies, relative to others: 0 to 1; above 1 with evidence
    from the failure."""
    summary: str
    """Fit for a commit subject, without the place."""


@dataclass(frozen=True)
class RewriteSite:
    """One node of a suspicious statement."""

    source: PythonSource
    node: ast.AST
    failures: tuple[Failure, ...] = ()
    """Failures of the failing tests."""

    @property
    def parent(self) -> ast.AST:
        return self.source.parents.get(self.node, self.source.tree)

    @property
    def function(self) -> Function | None:
        return self.source.enclosing_function(self.node)

    def contains_frame(self, frame: Frame) -> bool:
        """Tell whether a frame of a failure is on the node's lines."""
        first, last = getattr(self.node, "lineno", 0), getattr(self.node, "end_lineno", 0)
        return frame.path == self.source.path and first <= frame.line <= last

    def replace_expression(
        self, node: ast.AST, text: str, *, weight: float, summary: str
    ) -> Iterator[Rewrite]:
        """Replace one expression with another, in parentheses where needed.

        Yields nothing if the text stays the same.
        """
        start, end = self.source.span(node)
        new = f"({text})" if needs_parentheses(text, node, self.source) else text
        if new != self.source.text[start:end]:
            yield Rewrite((TextChange(start=start, end=end, text=new),), weight, summary)

    def rename_attribute(
        self, node: ast.Attribute, name: str, *, weight: float, summary: str
    ) -> Iterator[Rewrite]:
        """Access another attribute of the same object.

        Only the attribute name is replaced, so that edits of different objects compare equal.
        """
        _, end = self.source.span(node)
        if name != node.attr:
            yield Rewrite((TextChange(start=end - len(node.attr), end=end, text=name),), weight, summary)

    def swap_expressions(
        self, first: ast.AST, second: ast.AST, *, weight: float, summary: str
    ) -> Iterator[Rewrite]:
        """Swap two expressions, the first standing before the second."""
        (start, end), (start_after, end_after) = self.source.span(first), self.source.span(second)
        old, new = self.source.text[start:end], self.source.text[start_after:end_after]
        if old != new:
            new_first = f"({new})" if needs_parentheses(new, first, self.source) else new
            new_second = f"({old})" if needs_parentheses(old, second, self.source) else old
            changes = (
                TextChange(start=start, end=end, text=new_first),
                TextChange(start=start_after, end=end_after, text=new_second),
            )
            yield Rewrite(changes, weight, summary)

    def insert_before(
        self, statement: ast.stmt, lines: Sequence[str], *, weight: float, summary: str
    ) -> Iterator[Rewrite]:
        """Insert lines before a statement, at its indent."""
        indent = self.source.indent(statement)
        if not indent.strip():
            start, _ = self.source.span(statement)
            text = "".join(f"{line}{self.source.line_end}{indent}" for line in lines)
            yield Rewrite((TextChange(start=start, end=start, text=text),), weight, summary)

    def insert_after(
        self, statement: ast.stmt, lines: Sequence[str], *, weight: float, summary: str
    ) -> Iterator[Rewrite]:
        """Insert lines after a statement, at its indent."""
        indent = self.source.indent(statement)
        if not indent.strip():
            _, end = self.source.span(statement)
            text = "".join(f"{self.source.line_end}{indent}{line}" for line in lines)
            yield Rewrite((TextChange(start=end, end=end, text=text),), weight, summary)


Template = Callable[[RewriteSite], Iterator[Rewrite]]


def needs_parentheses(text: str, node: ast.AST, source: PythonSource) -> bool:
    """Tell whether an expression's text needs parentheses in the place of `node`."""
    try:
        new = parse_expression(text)
    except SyntaxError:
        return False
    if isinstance(new, ATOMIC_EXPRESSIONS):
        return False
    match parent := source.parents.get(node):
        case ast.BinOp(op=ast.Add() | ast.Sub()) if parent.left is node or isinstance(parent.op, ast.Add):
            return not isinstance(new, ast.BinOp)
        case ast.BinOp() | ast.UnaryOp() | ast.Await() | ast.Starred() | ast.Attribute():
            return True
        case ast.Subscript() | ast.Call():
            return node is getattr(parent, "value", None) or node is getattr(parent, "func", None)
        case ast.BoolOp():
            return isinstance(new, ast.BoolOp | ast.IfExp | ast.Lambda)
        case ast.Compare():
            return not isinstance(new, ast.BinOp)
        case ast.IfExp():
            return isinstance(new, ast.IfExp | ast.Lambda)
        case _:
            return False
