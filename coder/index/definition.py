"""Definitions of a source file in any language, and queries on them."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple


class Definition(NamedTuple):
    """A class, function or variable and its location.

    A named tuple, because tens of thousands are created, in a fifth of the time of a dataclass.
    """

    name: str
    """Qualified within its file, such as `Box.size`."""
    kind: str
    """class, function, method or variable; in other languages also interface, struct, enum, trait, type,
    module, macro, prototype."""
    start: int
    """First line, from 1, decorators included."""
    line: int
    """The line of its name."""
    end: int
    """Last line."""
    signature: str
    """On one line, without the colon."""
    summary: str = ""
    """The first line of its docstring."""
    docstring: tuple[int, int] = (0, 0)
    """First and last line of its docstring; zeros where it has none."""

    @property
    def bare_name(self) -> str:
        """The last part of the qualified name."""
        return self.name.rpartition(".")[2]


@lru_cache(maxsize=32)
def definitions(path: str, text: str) -> tuple[Definition, ...]:
    """Return the definitions of a file in source order; broken code is parsed as far as possible."""
    from coder.index.parsers.facts import parse_definitions

    return parse_definitions(path, text)


def match_definitions(symbol: str, candidates: Sequence[Definition]) -> tuple[Definition, ...]:
    """Return the definitions that a bare or dotted name refers to.

    Such names are `size`, `Box.size` or `package.module.Box.size`.
    """
    name = symbol.removesuffix("()").replace("::", ".").strip(".")
    if exact := tuple(definition for definition in candidates if definition.name == name):
        return exact
    return tuple(
        definition
        for definition in candidates
        if definition.name.endswith(f".{name}") or name.endswith(f".{definition.name}")
    )


def enclosing_definitions(line: int, candidates: Sequence[Definition]) -> tuple[Definition, ...]:
    """Return the classes and functions around a line, outermost first."""
    return tuple(
        definition
        for definition in candidates
        if definition.kind != "variable" and definition.start <= line <= definition.end
    )
