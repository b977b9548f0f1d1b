"""Hot swapping: extraction of the one edited function that must be recompiled, with its line numbers."""

import ast
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from typing import Any

from coder.core.ports import TextChange
from coder.python.source import LINE_END, Positions, parse_module

Function = ast.FunctionDef | ast.AsyncFunctionDef
PARSED_MODULES_CACHED = 1000
"""Size of the cache of parsed modules, least recently used first out."""


@dataclass(frozen=True)
class OuterFunction:
    """A function that is not nested in another function."""

    node: Function
    around: tuple[ast.stmt, ...]
    """Classes and other blocks that contain it, outermost first."""
    start: int
    """Offset of its first line, decorators included, in characters."""
    body: int
    end: int


@dataclass(frozen=True)
class FunctionReplacement:
    """A function with a new body."""

    path: str
    function: dict[str, Any]
    source: str
    end: int
    """The last line of the unchanged function."""
    lines: int
    """Number of lines added."""


class SwappableModule:
    """An unchanged source file, split into functions."""

    def __init__(self, text: str) -> None:
        """Parse the text.

        Raises:
            SyntaxError: the text is not valid Python.
        """
        self.text = text
        tree = parse_module(text)
        imports = (
            node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        )
        self.future = tuple(alias.name for node in imports for alias in node.names)
        self._positions = Positions(text)
        self._outers = tuple(self._find_functions(tree.body, ()))
        for outer in self._outers:  # bodies are no longer needed; free their memory
            outer.node.body.clear()

    def function_of(self, changes: Sequence[TextChange]) -> OuterFunction | None:
        """Return the function whose body contains all of the changes.

        None if one of them affects code that runs at import.
        """
        for outer in self._outers:
            if all(outer.body <= change.start and change.end <= outer.end for change in changes):
                return outer
        return None

    def replacements(self, path: str, text: str) -> tuple[FunctionReplacement, ...] | None:
        """Return the replaced function bodies, in order, that turn this module into the new text.

        None if the texts differ in anything else.
        """
        changes_of: dict[OuterFunction, list[TextChange]] = {}
        for change in self._changes(text):
            outer = self.function_of([change])
            if outer is None:
                return None
            changes_of.setdefault(outer, []).append(change)
        replacements = [self._to_replacement(path, outer, changes) for outer, changes in changes_of.items()]
        return (
            tuple(replacements)
            if all(
                is_only_function(replacement.source, outer.node.name)
                for replacement, outer in zip(replacements, changes_of, strict=True)
            )
            else None
        )

    def _to_replacement(
        self, path: str, outer: OuterFunction, changes: Sequence[TextChange]
    ) -> FunctionReplacement:
        added = sum(
            line_end_count(change.text) - line_end_count(self.text[change.start : change.end])
            for change in changes
        )
        source = self.isolate(outer, changes)
        return FunctionReplacement(
            path=path,
            function=self.describe(outer),
            source=source,
            end=outer.node.end_lineno or 0,
            lines=added,
        )

    def _changes(self, text: str) -> Sequence[TextChange]:
        """Return the differences to the new text.

        One difference if it lies in a function, else one for each changed block of lines.
        """
        change = single_difference(self.text, text)
        if change is None or self.function_of([change]) is not None:
            return [change] if change else []
        first, last = (
            self.text.rfind("\n", 0, change.start) + 1,
            self.text.find("\n", change.end) + 1 or len(self.text),
        )
        new_lines = self.text[first : change.start] + change.text + self.text[change.end : last]
        return [*line_differences(self.text[first:last], new_lines, first)]

    def describe(self, outer: OuterFunction) -> dict[str, Any]:
        """Return a description of the unchanged function, in the format of coder_swap."""
        node = outer.node
        return {
            "name": node.name,
            "line": min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]),
            "classes": [block.name for block in outer.around if isinstance(block, ast.ClassDef)],
            "future": self.future,
            "old": self.isolate(outer),
        }

    def isolate(self, outer: OuterFunction, changes: Sequence[TextChange] = ()) -> str:
        """Return a module that contains only the function, edited, in empty classes.

        Every line keeps its original number.
        """
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
        first = self._line_of(outer.start)
        return "".join(parts) + "\n" * (first - line) + text[outer.start : end] + "\n"

    def _find_functions(self, body: list[ast.stmt], around: tuple[ast.stmt, ...]) -> Iterator[OuterFunction]:
        for node in body:
            if isinstance(node, Function):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                body_start = self._positions.offset(node.body[0].lineno, node.body[0].col_offset)
                end = self._positions.offset(node.end_lineno or 0, node.end_col_offset or 0)
                yield OuterFunction(
                    node=node,
                    around=around,
                    start=self._positions.line_starts[first - 1],
                    body=body_start,
                    end=end,
                )
            else:
                blocks = (getattr(node, name, []) for name in ("body", "orelse", "handlers", "finalbody"))
                inner = [statement for block in blocks for statement in block]
                if inner and isinstance(inner[0], ast.stmt | ast.ExceptHandler):
                    yield from self._find_functions(
                        inner, around if isinstance(node, ast.ExceptHandler) else (*around, node)
                    )

    def _line_of(self, offset: int) -> int:
        return self._positions.line_starts.index(offset) + 1

    def _indent(self, node: ast.stmt) -> str:
        start = self._positions.line_starts[node.lineno - 1]
        return self.text[start : self._positions.offset(node.lineno, node.col_offset)]


@lru_cache(maxsize=PARSED_MODULES_CACHED)
def module_of(text: str) -> SwappableModule | None:
    """Return the parsed module, None if this interpreter cannot parse the text."""
    try:
        return SwappableModule(text)
    except (SyntaxError, ValueError):
        return None


@lru_cache(maxsize=8)
def replacements_of(path: str, old: str, new: str) -> tuple[FunctionReplacement, ...] | None:
    """Return the replaced function bodies that turn one module into another.

    None if there are other differences. Results are cached.
    """
    module = module_of(old)
    return module.replacements(path, new) if module is not None else None


def single_difference(old: str, new: str) -> TextChange | None:
    """Return the one span in which two texts differ, as early as possible, None if they are equal."""
    if old == new:
        return None
    shorter = min(len(old), len(new))
    start = bisect_left(range(1, shorter + 1), True, key=lambda length: old[:length] != new[:length])
    tail = bisect_left(range(1, shorter - start + 1), True, key=lambda length: old[-length:] != new[-length:])
    end, new_end = len(old) - tail, len(new) - tail
    # Text inserted after a newline can as well be inserted before it, inside the function that it continues.
    inserted = start == end and new[start - 1 : start] == new[new_end - 1 : new_end] == "\n"
    removed = start == new_end and old[start - 1 : start] == old[end - 1 : end] == "\n"
    earlier = 1 if start and (inserted or removed) else 0
    return TextChange(start=start - earlier, end=end - earlier, text=new[start - earlier : new_end - earlier])


def line_differences(old: str, new: str, offset: int) -> Iterator[TextChange]:
    """Yield the differences of two texts, line by line; `offset` is their position in the file."""
    old_lines, new_lines = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts = [0]
    for line in old_lines:
        starts.append(starts[-1] + len(line))
    for kind, first, last, new_first, new_last in SequenceMatcher(
        None, old_lines, new_lines, autojunk=False
    ).get_opcodes():
        if kind != "equal":
            change = single_difference(
                old, old[: starts[first]] + "".join(new_lines[new_first:new_last]) + old[starts[last] :]
            )
            if change is not None:
                yield change.model_copy(update={"start": change.start + offset, "end": change.end + offset})


def is_only_function(source: str, name: str) -> bool:
    """Tell whether a source contains one function of this name, in its classes, and nothing else."""
    try:
        body: list[ast.stmt] = parse_module(source).body
    except (SyntaxError, ValueError):
        return False
    while len(body) == 1 and not getattr(body[0], "orelse", None):
        if isinstance(body[0], Function):
            return body[0].name == name
        body = getattr(body[0], "body", [])
    return False


def line_end_count(text: str) -> int:
    return len(LINE_END.findall(text))
