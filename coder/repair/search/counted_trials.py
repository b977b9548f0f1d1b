"""Trials with a limit on their number, which unlike a time limit is the same on every machine."""

from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path

from coder.core.ports import CallComparison, Edit, TrialResult, Trials


class CountedTrials:
    """Tries a limited number of edits in all; without a limit, as many as the time allows."""

    def __init__(self, trials: Trials, *, max_edits: int | None) -> None:
        self._trials = trials
        self._left = max_edits

    def try_out(
        self,
        tree: Path,
        tests: Sequence[str],
        edits: Sequence[Edit],
        *,
        seconds: float,
        patient: bool = False,
    ) -> Generator[TrialResult]:
        allowed_edits = edits if self._left is None else edits[: self._left]
        if not allowed_edits:
            return
        with closing(
            self._trials.try_out(tree, tests, allowed_edits, seconds=seconds, patient=patient)
        ) as results:
            for result in results:
                if self._left is not None:
                    self._left -= 1
                yield result

    def compare_calls(
        self, tree: Path, tests: Sequence[str], edits: Sequence[Edit], *, seconds: float
    ) -> CallComparison:
        return self._trials.compare_calls(tree, tests, edits, seconds=seconds)
