"""Uses of identifiers that an issue mentions.

The fault may be in code that uses `text_antialiased`, not only in its definition.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

from coder.index.definition import Definition
from coder.retrieval.locating.corpus import Corpus
from coder.retrieval.locating.issue_terms import IssueTerms, is_code_like

MOST_NAMES = 60
SHORTEST = 5
FULL_WEIGHT_RARITY = 6.0
"""Rarity from which a name has full weight."""


@dataclass(frozen=True, kw_only=True)
class IdentifierUses:
    """Multi-word names that the issue mentions and the tree uses."""

    worth: Mapping[str, float]
    """Weight by name, up to 1: higher for a name that few files use."""
    lines: Mapping[str, Mapping[str, tuple[int, ...]]]
    """By path and name."""

    def uses_in(self, path: str, definition: Definition) -> list[str]:
        """Return the names that a function uses, rarest first.

        Empty for a class, which consists of its methods.
        """
        if definition.kind == "class":
            return []
        used_names = (
            name
            for name, lines in self.lines.get(path, {}).items()
            if name != definition.bare_name and _has_line_between(lines, definition.start, definition.end)
        )
        return sorted(used_names, key=lambda name: (-self.worth[name], name))


def find_identifier_uses(terrain: Corpus, clues: IssueTerms) -> IdentifierUses:
    """Look up the issue's names in the index."""
    names = {
        word
        for words in clues.zones.values()
        for word in words
        if len(word) >= SHORTEST and is_code_like(word)
    }
    files = max(1, len(terrain.snapshot.sources))
    worth: dict[str, float] = {}
    lines: dict[str, dict[str, tuple[int, ...]]] = {}
    for name in sorted(names, key=lambda name: (-clues.names.get(name, 0.0), name))[:MOST_NAMES]:
        name_uses = terrain.snapshot.uses_of_name(name)
        worth[name] = min(FULL_WEIGHT_RARITY, math.log(1 + files / (1 + len(name_uses)))) / FULL_WEIGHT_RARITY
        for use in name_uses:
            lines.setdefault(use.path, {})[name] = use.lines
    return IdentifierUses(worth=worth, lines=lines)


def _has_line_between(lines: tuple[int, ...], first: int, last: int) -> bool:
    index = bisect_left(lines, first)
    return index < len(lines) and lines[index] <= last
