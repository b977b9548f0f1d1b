"""Cuts out of an edited file what has to be compiled again: one function, at its own lines."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from coder.core.trials import Edit

Function = ast.FunctionDef | ast.AsyncFunctionDef
LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Outer:
    """A function that lies in no other function."""

    node: Function
    around: tuple[ast.stmt, ...]
    """Classes and other blocks that hold it, outermost first."""
    start: int
    """Of its first line, decorators included, in characters."""
    body: int
    end: int


class Module:
    """One source file, unchanged."""

    def __init__(self, text: str) -> None:
        """Raises SyntaxError."""
        self.text = text
        self._tree = ast.parse(text)
        self._starts = [0, *(match.end() for match in LINE_END.finditer(text))]

    @cached_property
    def future(self) -> tuple[str, ...]:
        imports = (node for node in self._tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__")
        return tuple(alias.name for node in imports for alias in node.names)

    @cached_property
    def _outers(self) -> tuple[Outer, ...]:
        return tuple(self._found(self._tree.body, ()))

    def function_of(self, edit: Edit) -> Outer | None:
        """The function in whose body all of the edit lies; None where it touches anything that runs at import."""
        for outer in self._outers:
            if all(outer.body <= change.start and change.end <= outer.end for change in edit.changes):
                return outer
        return None

    def described(self, outer: Outer) -> dict[str, Any]:
        """The unchanged function, as coder_swap wants it."""
        node = outer.node
        return {
            "name": node.name,
            "line": min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]),
            "classes": [block.name for block in outer.around if isinstance(block, ast.ClassDef)],
            "future": self.future,
            "old": self.alone(outer),
        }

    def alone(self, outer: Outer, edit: Edit | None = None) -> str:
        """A module with nothing in it but the function, edited, in empty classes of the right names, every line at its own number."""
        text = self.text[: outer.end]
        end = outer.end
        for change in reversed(edit.changes if edit else ()):
            text = text[: change.start] + change.text + text[change.end :]
            end += len(change.text) - (change.end - change.start)
        parts: list[str] = []
        line = 1
        for block, following in pairwise([*outer.around, outer.node]):
            if block.col_offset < following.col_offset:
                header = f"class {block.name}:" if isinstance(block, ast.ClassDef) else "if 1:"
                parts.append("\n" * (block.lineno - line) + self._indent(block) + header)
                line = block.lineno
        first = self._line(outer.start)
        return "".join(parts) + "\n" * (first - line) + text[outer.start : end] + "\n"

    def _found(self, body: list[ast.stmt], around: tuple[ast.stmt, ...]) -> Iterator[Outer]:
        for node in body:
            if isinstance(node, Function):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                body_at = self._offset(node.body[0].lineno, node.body[0].col_offset)
                end = self._offset(node.end_lineno or 0, node.end_col_offset or 0)
                yield Outer(node=node, around=around, start=self._starts[first - 1], body=body_at, end=end)
            else:
                blocks = (getattr(node, name, []) for name in ("body", "orelse", "handlers", "finalbody"))
                inner = [statement for block in blocks for statement in block]
                if inner and isinstance(inner[0], ast.stmt | ast.ExceptHandler):
                    yield from self._found(inner, around if isinstance(node, ast.ExceptHandler) else (*around, node))

    def _line(self, offset: int) -> int:
        return self._starts.index(offset) + 1

    def _indent(self, node: ast.stmt) -> str:
        start = self._starts[node.lineno - 1]
        return self.text[start : self._offset(node.lineno, node.col_offset)]

    def _offset(self, line: int, column: int) -> int:
        """ast counts columns in bytes of UTF-8."""
        start = self._starts[line - 1]
        end = self._starts[line] if line < len(self._starts) else len(self.text)
        return start + len(self.text[start:end].encode()[:column].decode())
