"""A budget of candidates."""

from collections.abc import Generator, Sequence
from pathlib import Path

from coder.core.ports.repair import Change, Compared, Edit, Tried
from coder.wiring.counted_trials import CountedTrials


class Tireless:
    """Tries all it is given, and knows when it is closed."""

    def __init__(self) -> None:
        self.tried: list[str] = []
        self.closed = 0

    def try_out(
        self,
        tree: Path,
        tests: Sequence[str],
        edits: Sequence[Edit],
        *,
        seconds: float,
        patient: bool = False,
    ) -> Generator[Tried]:
        try:
            for edit in edits:
                self.tried.append(edit.summary)
                yield Tried(edit=edit, outcome="failed")
        finally:
            self.closed += 1

    def compare(self, tree: Path, tests: Sequence[str], edits: Sequence[Edit], *, seconds: float) -> Compared:
        return Compared(calls=tuple(tests))


def edits(*names: str) -> list[Edit]:
    return [
        Edit(path="a.py", line=1, family="names", changes=(Change(start=0, end=0, text=name),), summary=name)
        for name in names
    ]


def run(counted: CountedTrials, *names: str) -> list[str]:
    return [tried.edit.summary for tried in counted.try_out(Path(), ["t"], edits(*names), seconds=1)]


def test_searches_share_one_trial_limit() -> None:
    tireless = Tireless()
    counted = CountedTrials(tireless, most=3)
    assert [run(counted, "a", "b"), run(counted, "c", "d"), run(counted, "e")] == [["a", "b"], ["c"], []]
    assert tireless.tried == ["a", "b", "c"]


def test_tries_everything_without_limit() -> None:
    assert run(CountedTrials(Tireless(), most=None), *"abcd") == [*"abcd"]


def test_counts_only_trials_and_closing_ends_work() -> None:
    tireless = Tireless()
    counted = CountedTrials(tireless, most=3)
    results = counted.try_out(Path(), ["t"], edits("a", "b", "c"), seconds=1)
    next(results)
    results.close()
    assert tireless.closed == 1
    assert run(counted, "d", "e", "f") == ["d", "e"]
