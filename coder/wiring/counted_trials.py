"""Trials that are counted: a limit that means the same on every machine, as seconds do not."""

from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path

from coder.core.ports.repair import Compared, Edit, Trials, Tried


class CountedTrials:
    """Tries at most so many edits in all; with no limit, as many as the time allows."""

    def __init__(self, trials: Trials, *, most: int | None) -> None:
        self._trials = trials
        self._left = most

    def try_out(
        self,
        tree: Path,
        tests: Sequence[str],
        edits: Sequence[Edit],
        *,
        seconds: float,
        patient: bool = False,
    ) -> Generator[Tried]:
        affordable = edits if self._left is None else edits[: self._left]
        if not affordable:
            return
        with closing(
            self._trials.try_out(tree, tests, affordable, seconds=seconds, patient=patient)
        ) as results:
            for tried in results:
                if self._left is not None:
                    self._left -= 1
                yield tried

    def compare(self, tree: Path, tests: Sequence[str], edits: Sequence[Edit], *, seconds: float) -> Compared:
        return self._trials.compare(tree, tests, edits, seconds=seconds)
