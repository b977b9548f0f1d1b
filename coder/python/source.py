"""A source file with its syntax tree and the text span of each node."""

import ast
from collections.abc import Iterator
from functools import cached_property

from coder.python.parsing import parse_module
from coder.python.positions import LINE_END, Positions

Function = ast.FunctionDef | ast.AsyncFunctionDef
BLOCK_FIELDS = ("body", "orelse", "finalbody")


class PythonSource:
    """One source file; positions are character offsets into its text."""

    def __init__(self, path: str, text: str, tree: ast.Module | None = None) -> None:
        """Parse the text unless a syntax tree is given; `path` is relative to the tree of files.

        Raises:
            SyntaxError: the text is not Python of this interpreter's version.
        """
        self.path = path
        self.text = text
        self.tree = parse_module(text) if tree is None else tree
        self._positions = Positions(text)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The parent of each node."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """All functions, from top to bottom."""
        functions = [node for node in ast.walk(self.tree) if isinstance(node, Function)]
        return tuple(sorted(functions, key=lambda node: (node.lineno, node.col_offset)))

    @cached_property
    def top_level(self) -> tuple[ast.stmt, ...]:
        """The statements of the module and of its classes, without those inside functions."""
        bodies = [
            self.tree.body,
            *(node.body for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)),
        ]
        return tuple(
            node for body in bodies for node in body if self.enclosing_function(self.parents[node]) is None
        )

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the start and end offset of an expression, statement, keyword or argument."""
        return self._positions.span(node)

    def text_of(self, node: ast.AST) -> str:
        """Return the text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the ancestors of a node, innermost first."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def enclosing_function(self, node: ast.AST) -> Function | None:
        """Return the innermost function that contains a node; a function contains itself."""
        return next(
            (ancestor for ancestor in (node, *self.ancestors(node)) if isinstance(ancestor, Function)), None
        )

    def owner_class(self, function: Function | None) -> ast.ClassDef | None:
        """Return the class of which a function is a method."""
        parent = self.parents.get(function) if function else None
        return parent if isinstance(parent, ast.ClassDef) else None

    def qualified_place(self, node: ast.AST) -> str:
        """Return `path::Qualified.name` of the innermost definition around a node, or `path:line`."""
        definitions = [
            definition
            for definition in (node, *self.ancestors(node))
            if isinstance(definition, ast.ClassDef | Function)
        ]
        if definitions:
            return f"{self.path}::{'.'.join(definition.name for definition in reversed(definitions))}"
        return f"{self.path}:{getattr(node, 'lineno', 1)}"

    def function_at(self, line: int) -> Function | None:
        """Return the innermost function that contains a line; decorators do not count."""
        enclosing = [node for node in self.functions if node.lineno <= line <= (node.end_lineno or 0)]
        return enclosing[-1] if enclosing else None

    def indent(self, statement: ast.stmt) -> str:
        """Return the text between the start of the line and a statement.

        It is white space only if the statement is the first on its line.
        """
        start = self._positions.line_starts[statement.lineno - 1]
        return self.text[start : self._positions.offset(statement.lineno, statement.col_offset)]

    def enclosing_block(self, statement: ast.stmt) -> list[ast.stmt]:
        """Return the block of statements that contains a statement."""
        parent = self.parents.get(statement)
        for name in BLOCK_FIELDS:
            block = getattr(parent, name, None)
            if isinstance(block, list) and statement in block:
                return block
        return [statement]

    @property
    def line_end(self) -> str:
        """The first line end of the text, a line feed if there is none."""
        match = LINE_END.search(self.text)
        return match[0] if match else "\n"

    def line_span(self, statement: ast.stmt) -> tuple[int, int]:
        """Return the span of a statement's whole lines, up to the start of the next line."""
        end = statement.end_lineno or statement.lineno
        starts = self._positions.line_starts
        return starts[statement.lineno - 1], starts[end] if end < len(starts) else len(self.text)


def is_docstring(statement: ast.stmt) -> bool:
    """Tell whether a statement is a string literal by itself."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def header_lines(statement: ast.stmt) -> range:
    """Return the lines of a statement and its decorators, without the lines of statements nested in it."""
    inner = [
        block[0].lineno
        for name in (*BLOCK_FIELDS, "handlers", "cases")
        if (block := getattr(statement, name, None)) and hasattr(block[0], "lineno")
    ]
    last = min(inner) - 1 if inner else statement.end_lineno or statement.lineno
    first = min(
        (decorator.lineno for decorator in getattr(statement, "decorator_list", ())), default=statement.lineno
    )
    return range(first, max(last, statement.lineno) + 1)


def own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield a statement and its expressions, without nested statements.

    Of a function only the defaults of its parameters are included.
    """
    yield statement
    if isinstance(statement, Function):
        parameters = statement.args
        pending: list[ast.AST] = [
            *parameters.defaults,
            *(default for default in parameters.kw_defaults if default),
        ]
    else:
        pending = [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.expr):
            yield node
        if not isinstance(node, ast.JoinedStr):
            pending += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]
