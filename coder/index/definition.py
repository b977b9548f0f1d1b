"""The definitions of a file, whatever its language, and questions about them."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple


class Definition(NamedTuple):
    """A class, function or variable and where it stands; of tens of thousands, a tuple is made in a fifth of the time."""

    name: str
    """Qualified within its file, such as `Box.size`."""
    kind: str
    """class, function, method or variable; in other languages also interface, struct, enum, trait, type, module, macro, prototype."""
    start: int
    """First line, from 1, decorators included."""
    line: int
    """The line that names it."""
    end: int
    """Last line."""
    signature: str
    """On one line, without the colon."""
    summary: str = ""
    """The first line of its docstring."""
    docstring: tuple[int, int] = (0, 0)
    """First and last line of its docstring; zeros where it has none."""

    @property
    def bare(self) -> str:
        return self.name.rpartition(".")[2]


@lru_cache(maxsize=32)
def definitions(path: str, text: str) -> tuple[Definition, ...]:
    """The definitions of a file in the order they stand in; broken code gives what can be made out."""
    from coder.index.parsers.facts import definitions_of

    return definitions_of(path, text)


def named(symbol: str, found: Sequence[Definition]) -> tuple[Definition, ...]:
    """Those that a bare or dotted name means: `size`, `Box.size` or `package.module.Box.size`."""
    wanted = symbol.removesuffix("()").replace("::", ".").strip(".")
    if exact := tuple(item for item in found if item.name == wanted):
        return exact
    return tuple(
        item for item in found if item.name.endswith(f".{wanted}") or wanted.endswith(f".{item.name}")
    )


def enclosing(line: int, found: Sequence[Definition]) -> tuple[Definition, ...]:
    """The classes and functions around a line, outermost first."""
    return tuple(item for item in found if item.kind != "variable" and item.start <= line <= item.end)
