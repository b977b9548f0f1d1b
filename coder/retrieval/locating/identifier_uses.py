"""Which lines use the identifiers that an issue writes: whoever reads `text_antialiased` may be meant, not only who defines it."""

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

from coder.index.definition import Definition
from coder.retrieval.locating.corpus import Terrain
from coder.retrieval.locating.issue_terms import Clues, code_like

MOST_NAMES = 60
SHORTEST = 5
RAREST = 6.0
"""A name that no more than a few of thousands of files use counts whole."""


@dataclass(frozen=True, kw_only=True)
class Uses:
    """Names of more than one word that the issue says and the tree uses."""

    worth: Mapping[str, float]
    """Up to 1, by name: more for one that few files use."""
    lines: Mapping[str, Mapping[str, tuple[int, ...]]]
    """By path and name."""

    def of(self, path: str, item: Definition) -> list[str]:
        """Those that a function uses, the rarest first; a class is what its methods are."""
        if item.kind == "class":
            return []
        inside = (
            name
            for name, lines in self.lines.get(path, {}).items()
            if name != item.bare and _any(lines, item.start, item.end)
        )
        return sorted(inside, key=lambda name: (-self.worth[name], name))


def uses(terrain: Terrain, clues: Clues) -> Uses:
    """Look the issue's names up."""
    names = {
        word for words in clues.zones.values() for word in words if len(word) >= SHORTEST and code_like(word)
    }
    files = max(1, len(terrain.snapshot.sources))
    worth: dict[str, float] = {}
    lines: dict[str, dict[str, tuple[int, ...]]] = {}
    for name in sorted(names, key=lambda name: (-clues.names.get(name, 0.0), name))[:MOST_NAMES]:
        found = terrain.snapshot.used(name)
        worth[name] = min(RAREST, math.log(1 + files / (1 + len(found)))) / RAREST
        for use in found:
            lines.setdefault(use.path, {})[name] = use.lines
    return Uses(worth=worth, lines=lines)


def _any(lines: tuple[int, ...], first: int, last: int) -> bool:
    index = bisect_left(lines, first)
    return index < len(lines) and lines[index] <= last
