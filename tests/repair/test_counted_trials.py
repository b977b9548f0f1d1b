"""Limit on the number of candidates tried."""

from collections.abc import Generator, Sequence
from pathlib import Path

from coder.core.ports import CallComparison, Edit, TextChange, TrialResult
from coder.repair.search import CountedTrials


class RecordingTrials:
    """Trials that try every edit and record when they are closed."""

    def __init__(self) -> None:
        self.edits_tried: list[str] = []
        self.closed = 0

    def try_out(
        self,
        tree: Path,
        tests: Sequence[str],
        edits: Sequence[Edit],
        *,
        seconds: float,
        patient: bool = False,
    ) -> Generator[TrialResult]:
        try:
            for edit in edits:
                self.edits_tried.append(edit.summary)
                yield TrialResult(edit=edit, outcome="failed")
        finally:
            self.closed += 1

    def compare_calls(
        self, tree: Path, tests: Sequence[str], edits: Sequence[Edit], *, seconds: float
    ) -> CallComparison:
        return CallComparison(calls=tuple(tests))


def make_edits(*names: str) -> list[Edit]:
    return [
        Edit(
            path="a.py",
            line=1,
            family="names",
            changes=(TextChange(start=0, end=0, text=name),),
            summary=name,
        )
        for name in names
    ]


def run_trials(trials: CountedTrials, *names: str) -> list[str]:
    return [trial.edit.summary for trial in trials.try_out(Path(), ["t"], make_edits(*names), seconds=1)]


def test_searches_share_one_trial_limit() -> None:
    tireless = RecordingTrials()
    trials = CountedTrials(tireless, max_edits=3)
    assert [run_trials(trials, "a", "b"), run_trials(trials, "c", "d"), run_trials(trials, "e")] == [
        ["a", "b"],
        ["c"],
        [],
    ]
    assert tireless.edits_tried == ["a", "b", "c"]


def test_tries_everything_without_limit() -> None:
    assert run_trials(CountedTrials(RecordingTrials(), max_edits=None), *"abcd") == [*"abcd"]


def test_counts_only_trials_and_closing_ends_work() -> None:
    tireless = RecordingTrials()
    trials = CountedTrials(tireless, max_edits=3)
    results = trials.try_out(Path(), ["t"], make_edits("a", "b", "c"), seconds=1)
    next(results)
    results.close()
    assert tireless.closed == 1
    assert run_trials(trials, "d", "e", "f") == ["d", "e"]
