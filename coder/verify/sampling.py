"""Which test files stand for a suite that takes longer than its limit."""

from collections.abc import Sequence
from pathlib import Path

from coder.core.paths import file_of, is_test_file
from coder.core.value import Value
from coder.core.verdict import TestReport
from coder.verify.imports import files_of, importing

SHARE = 0.25
"""Of the limit, for the sample: it is run twice, and so is what the change reaches."""
UNKNOWN_SECONDS = 1.0
"""For a file that the limit left no time for."""


class Part(Value):
    """A part of the suite, by test files."""

    reaching: tuple[str, ...] = ()
    """They import what the change touches, however indirectly."""
    sample: tuple[str, ...] = ()
    others: int = 0
    """So many files the sample was drawn from."""

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(sorted((*self.reaching, *self.sample)))

    def __str__(self) -> str:
        return f"{len(self.reaching)} test files that reach the change, and {len(self.sample)} of the {self.others} others"


def part_of(tree: Path, changed: Sequence[str], before: TestReport) -> Part:
    """All test files that import what changed, and of the others, evenly from all over, as many as fit into a share of the limit."""
    importers = importing(tree, changed)
    tests = sorted(path for path in files_of(tree) if is_test_file(path))
    reaching = tuple(path for path in tests if path in importers)
    others = [path for path in tests if path not in importers]
    seconds: dict[str, float] = {}
    for result in before.results:
        seconds[file_of(result.id)] = seconds.get(file_of(result.id), 0.0) + result.seconds
    return Part(reaching=reaching, sample=_sample(others, seconds, before.seconds * SHARE), others=len(others))


def _sample(files: Sequence[str], seconds: dict[str, float], room: float) -> tuple[str, ...]:
    """As many as there is room for: the first, the middle, then the middles of the halves, and so on."""
    chosen: list[str] = []
    step = len(files)
    while step:
        for path in files[::step]:
            if path not in chosen and (room := room - seconds.get(path, UNKNOWN_SECONDS)) >= 0:
                chosen.append(path)
        step //= 2
    return tuple(chosen)
