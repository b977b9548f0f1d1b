"""Table of damages: what each does to a case, the order in which they are made, and their conflicts."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from benchmarks.patching.cases import Case

Function = Callable[[Case, Random], bool]
"""Damage the case; return False if there is nothing to damage, or the meaning would be lost."""


@dataclass(frozen=True, kw_only=True)
class Damage:
    name: str
    stage: int
    """Order of damages: 0 files, 1 lines, 2 hunks, 3 headers, 4 names, 5 the surrounding text."""
    group: str
    """Group of which a case gets only one damage; empty: no limit."""
    function: Function


class Table:
    """Damages by name."""

    def __init__(self) -> None:
        self.damages: dict[str, Damage] = {}

    def add(self, name: str, *, stage: int, group: str = "") -> Callable[[Function], Function]:
        def add_function(function: Function) -> Function:
            self.damages[name] = Damage(name=name, stage=stage, group=group, function=function)
            return function

        return add_function

    def are_compatible(self, names: tuple[str, ...]) -> bool:
        """Return whether these may be made to one case."""
        groups = [self.damages[name].group for name in names if self.damages[name].group]
        return len(set(groups)) == len(groups) and len(set(names)) == len(names)

    def make(self, case: Case, names: tuple[str, ...], random: Random) -> bool:
        ordered = sorted((self.damages[name] for name in names), key=lambda damage: damage.stage)
        return all(damage.function(case, random) for damage in ordered)
