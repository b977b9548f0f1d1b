"""A source file as the templates see it: its text, its syntax tree, and where in the text each node stands."""

import ast
import re
from collections.abc import Iterator
from functools import cached_property

from coder.python.parsing import parsed

Function = ast.FunctionDef | ast.AsyncFunctionDef
LINE_END = re.compile(r"\r\n|\r|\n")
BLOCKS = ("body", "orelse", "finalbody")


class Source:
    """One file; positions are characters of its text."""

    def __init__(self, path: str, text: str, tree: ast.Module | None = None) -> None:
        """`path` is relative to the tree; without a syntax tree the text is parsed.

        Raises:
            SyntaxError: it is no Python of this interpreter's version.
        """
        self.path = path
        self.text = text
        self.tree = parsed(text) if tree is None else tree
        self._starts = [0, *(match.end() for match in LINE_END.finditer(text))]

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """All of them, from top to bottom."""
        found = [node for node in ast.walk(self.tree) if isinstance(node, Function)]
        return tuple(sorted(found, key=lambda node: (node.lineno, node.col_offset)))

    @cached_property
    def top_level(self) -> tuple[ast.stmt, ...]:
        """The statements of the module and of its classes, those of functions left out."""
        bodies = [
            self.tree.body,
            *(node.body for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)),
        ]
        return tuple(node for body in bodies for node in body if self.function(self.parents[node]) is None)

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where an expression, statement, keyword or argument begins and ends."""
        line, column, end_line, end_column = (
            getattr(node, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")
        )
        return self._offset(line, column), self._offset(end_line, end_column)

    def code(self, node: ast.AST) -> str:
        """A node's own text."""
        start, end = self.span(node)
        return self.text[start:end]

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """A node's ancestors, innermost first."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def function(self, node: ast.AST) -> Function | None:
        """The innermost function that a node lies in; a function lies in itself."""
        return next((item for item in (node, *self.around(node)) if isinstance(item, Function)), None)

    def class_of(self, function: Function | None) -> ast.ClassDef | None:
        """The class whose method this is."""
        parent = self.parents.get(function) if function else None
        return parent if isinstance(parent, ast.ClassDef) else None

    def place(self, node: ast.AST) -> str:
        """`path::Qualified.name` of the innermost function or class around a node, `path:line` outside of any."""
        named = [item for item in (node, *self.around(node)) if isinstance(item, ast.ClassDef | Function)]
        if named:
            return f"{self.path}::{'.'.join(item.name for item in reversed(named))}"
        return f"{self.path}:{getattr(node, 'lineno', 1)}"

    def function_at(self, line: int) -> Function | None:
        """The innermost function that holds a line, decorators left out."""
        holding = [node for node in self.functions if node.lineno <= line <= (node.end_lineno or 0)]
        return holding[-1] if holding else None

    def indent(self, statement: ast.stmt) -> str:
        """The white space before a statement; something else stands there where it is not the first on its line."""
        start = self._starts[statement.lineno - 1]
        return self.text[start : self._offset(statement.lineno, statement.col_offset)]

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements among which this one stands, itself included."""
        parent = self.parents.get(statement)
        for name in BLOCKS:
            block = getattr(parent, name, None)
            if isinstance(block, list) and statement in block:
                return block
        return [statement]

    @property
    def line_end(self) -> str:
        match = LINE_END.search(self.text)
        return match[0] if match else "\n"

    def lines_of(self, statement: ast.stmt) -> tuple[int, int]:
        """The whole lines of a statement, from the start of its first to the start of the next line."""
        end = statement.end_lineno or statement.lineno
        return self._starts[statement.lineno - 1], self._starts[end] if end < len(self._starts) else len(
            self.text
        )

    def _offset(self, line: int, column: int) -> int:
        """ast counts columns in bytes of UTF-8."""
        start = self._starts[line - 1]
        end = self._starts[line] if line < len(self._starts) else len(self.text)
        text = self.text[start:end]
        return start + (column if text.isascii() else len(text.encode()[:column].decode()))


def is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def header(statement: ast.stmt) -> range:
    """The lines of a statement, with its decorators, that are not those of statements inside of it."""
    inner = [
        block[0].lineno
        for name in (*BLOCKS, "handlers", "cases")
        if (block := getattr(statement, name, None)) and hasattr(block[0], "lineno")
    ]
    last = min(inner) - 1 if inner else statement.end_lineno or statement.lineno
    first = min((item.lineno for item in getattr(statement, "decorator_list", ())), default=statement.lineno)
    return range(first, max(last, statement.lineno) + 1)


def own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """A statement and its expressions, without the statements inside of it; of a function only its parameters' defaults."""
    yield statement
    if isinstance(statement, Function):
        given = statement.args
        todo: list[ast.AST] = [*given.defaults, *(default for default in given.kw_defaults if default)]
    else:
        todo = [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.expr):
            yield node
        if not isinstance(node, ast.JoinedStr):
            todo += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]
