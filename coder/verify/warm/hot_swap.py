"""Cuts out of an edited file what has to be compiled again: one function, at its own lines."""

import ast
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from typing import Any

from coder.core.ports.repair import Change
from coder.python.parsing import parsed

Function = ast.FunctionDef | ast.AsyncFunctionDef
LINE_END = re.compile(r"\r\n|\r|\n")
KEPT = 1000
"""So many modules, those asked for last, are not parsed again."""


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


@dataclass(frozen=True)
class Replacement:
    """One function with another body."""

    path: str
    function: dict[str, Any]
    source: str
    end: int
    """The last line of the unchanged function."""
    lines: int
    """So many more lines it has now."""


class Module:
    """One source file, unchanged."""

    def __init__(self, text: str) -> None:
        """Raises SyntaxError."""
        self.text = text
        tree = parsed(text)
        imports = (
            node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        )
        self.future = tuple(alias.name for node in imports for alias in node.names)
        self._starts = [0, *(match.end() for match in LINE_END.finditer(text))]
        self._outers = tuple(self._found(tree.body, ()))
        for outer in self._outers:  # all that takes room, and nobody asks for it any more
            outer.node.body.clear()

    def function_of(self, changes: Sequence[Change]) -> Outer | None:
        """The function in whose body all of the changes lie; None where one touches anything that runs at import."""
        for outer in self._outers:
            if all(outer.body <= change.start and change.end <= outer.end for change in changes):
                return outer
        return None

    def replacements(self, path: str, text: str) -> tuple[Replacement, ...] | None:
        """What makes this module the new text by nothing but other bodies of functions, in their order; None where that is not all."""
        changed: dict[Outer, list[Change]] = {}
        for change in self._changes(text):
            outer = self.function_of([change])
            if outer is None:
                return None
            changed.setdefault(outer, []).append(change)
        found = [self._replacement(path, outer, changes) for outer, changes in changed.items()]
        return (
            tuple(found)
            if all(is_alone(one.source, outer.node.name) for one, outer in zip(found, changed, strict=True))
            else None
        )

    def _replacement(self, path: str, outer: Outer, changes: Sequence[Change]) -> Replacement:
        added = sum(
            lines_in(change.text) - lines_in(self.text[change.start : change.end]) for change in changes
        )
        source = self.alone(outer, changes)
        return Replacement(
            path=path,
            function=self.described(outer),
            source=source,
            end=outer.node.end_lineno or 0,
            lines=added,
        )

    def _changes(self, text: str) -> Sequence[Change]:
        """The places where this module and the new text differ: one that lies in a function, or else line by line."""
        change = difference(self.text, text)
        if change is None or self.function_of([change]) is not None:
            return [change] if change else []
        first, last = (
            self.text.rfind("\n", 0, change.start) + 1,
            self.text.find("\n", change.end) + 1 or len(self.text),
        )
        new = self.text[first : change.start] + change.text + self.text[change.end : last]
        return [*differing_lines(self.text[first:last], new, first)]

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

    def alone(self, outer: Outer, changes: Sequence[Change] = ()) -> str:
        """A module with nothing in it but the function, edited, in empty classes of the right names, every line at its own number."""
        text = self.text[: outer.end]
        end = outer.end
        for change in reversed(changes):
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
                    yield from self._found(
                        inner, around if isinstance(node, ast.ExceptHandler) else (*around, node)
                    )

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


@lru_cache(maxsize=KEPT)
def module_of(text: str) -> Module | None:
    """None where it is no Python that this interpreter can parse."""
    try:
        return Module(text)
    except (SyntaxError, ValueError):
        return None


@lru_cache(maxsize=8)
def replacements_of(path: str, old: str, new: str) -> tuple[Replacement, ...] | None:
    """What makes a module another one by nothing but other bodies of functions; whoever asks next is told the same at once."""
    module = module_of(old)
    return module.replacements(path, new) if module is not None else None


def difference(old: str, new: str) -> Change | None:
    """The one place where two texts differ, as early as it can be said to lie; None where they do not."""
    if old == new:
        return None
    most = min(len(old), len(new))
    start = bisect_left(range(1, most + 1), True, key=lambda length: old[:length] != new[:length])
    tail = bisect_left(range(1, most - start + 1), True, key=lambda length: old[-length:] != new[-length:])
    end, new_end = len(old) - tail, len(new) - tail
    # What is inserted behind a line's end can as well be inserted before it, where the function is that it continues.
    inserted = start == end and new[start - 1 : start] == new[new_end - 1 : new_end] == "\n"
    removed = start == new_end and old[start - 1 : start] == old[end - 1 : end] == "\n"
    earlier = 1 if start and (inserted or removed) else 0
    return Change(start=start - earlier, end=end - earlier, text=new[start - earlier : new_end - earlier])


def differing_lines(old: str, new: str, offset: int) -> Iterator[Change]:
    """The places where two texts differ, line by line; `offset` is where they begin in their files."""
    olds, news = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts = [0]
    for line in olds:
        starts.append(starts[-1] + len(line))
    for kind, first, last, new_first, new_last in SequenceMatcher(
        None, olds, news, autojunk=False
    ).get_opcodes():
        if kind != "equal":
            change = difference(
                old, old[: starts[first]] + "".join(news[new_first:new_last]) + old[starts[last] :]
            )
            if change is not None:
                yield change.model_copy(update={"start": change.start + offset, "end": change.end + offset})


def is_alone(source: str, name: str) -> bool:
    """Is there one function of this name, in its classes, and nothing else?"""
    try:
        body: list[ast.stmt] = parsed(source).body
    except (SyntaxError, ValueError):
        return False
    while len(body) == 1 and not getattr(body[0], "orelse", None):
        if isinstance(body[0], Function):
            return body[0].name == name
        body = getattr(body[0], "body", [])
    return False


def lines_in(text: str) -> int:
    return len(LINE_END.findall(text))
