"""A file's lines, and where each of them stands."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from coder.patching.matching.compare import key


@dataclass(frozen=True)
class Indexed:
    lines: Sequence[str]

    @cached_property
    def where(self) -> dict[str, list[int]]:
        """The indices of the lines with each key, ascending."""
        where: dict[str, list[int]] = {}
        for index, line in enumerate(self.lines):
            where.setdefault(key(line), []).append(index)
        return where
