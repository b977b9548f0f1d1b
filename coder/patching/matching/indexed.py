"""Index of a file's lines by their normalized text."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from coder.patching.matching.compare import normalize_line


@dataclass(frozen=True)
class LineIndex:
    """A file's lines with an index by key."""

    lines: Sequence[str]

    @cached_property
    def positions_by_key(self) -> dict[str, list[int]]:
        """Indices of the lines with each key, ascending."""
        where: dict[str, list[int]] = {}
        for index, line in enumerate(self.lines):
            where.setdefault(normalize_line(line), []).append(index)
        return where
