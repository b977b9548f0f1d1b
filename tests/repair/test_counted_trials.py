"""Limit on the number of candidates tried."""

from pathlib import Path

from coder.core.ports import Edit
from coder.repair.proposer import CountedTrials
from tests.repair.fakes import FakeTrials
from tests.repair.places import candidate


def make_edits(names: str) -> list[Edit]:
    return [candidate("", "", name).edit for name in names]


def run_trials(trials: CountedTrials, names: str) -> str:
    results = trials.try_out(Path(), ["t"], make_edits(names), seconds=1)
    return "".join(trial.edit.changes[0].text for trial in results)


def test_searches_share_one_trial_limit() -> None:
    fake = FakeTrials()
    trials = CountedTrials(fake, max_edits=3)
    assert [run_trials(trials, names) for names in ("ab", "cd", "e")] == ["ab", "c", ""]
    assert fake.tried == make_edits("abc")


def test_tries_everything_without_limit() -> None:
    assert run_trials(CountedTrials(FakeTrials(), max_edits=None), "abcd") == "abcd"


def test_counts_only_trials_and_closing_ends_work() -> None:
    fake = FakeTrials()
    trials = CountedTrials(fake, max_edits=3)
    results = trials.try_out(Path(), ["t"], make_edits("abc"), seconds=1)
    next(results)
    results.close()
    assert fake.closed
    assert run_trials(trials, "def") == "de"
