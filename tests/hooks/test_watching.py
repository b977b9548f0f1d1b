"""Live verdicts: when a checkout is judged, and when it is left alone."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from coder import api
from coder.core.errors import UserError
from coder.hooks.judging import watch_verdicts
from coder.repo.history import read_work_tree
from tests.builders import repo

Judge = Callable[..., api.Result]


class Clock:
    """A clock that moves by sleeping only; each sleep carries out the next edit."""

    def __init__(self, edits: Iterator[Callable[[], object]]) -> None:
        self.now = 0.0
        self.edits = edits

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        next(self.edits)()

    def __call__(self) -> float:
        return self.now


class Judgements:
    """A judge that records what it was asked, and finds every change PASSING."""

    def __init__(self, failure: str = "") -> None:
        self.contents: list[str] = []
        self.failure = failure

    def __call__(self, *, repository: Path, **_options: Any) -> api.Result:
        self.contents.append((repository / "a.py").read_text())
        if self.failure:
            raise UserError(self.failure)
        return api.Result(session="s", label="PASSING", exit_code=3, summary="Nothing broke.", report="")


def watch(root: Path, judge: Judge, edits: Iterator[Callable[[], object]], count: int) -> list[str]:
    clock = Clock(edits)
    verdicts = watch_verdicts(root, judge=judge, read=read_work_tree, sleep=clock.sleep, clock=clock)
    return [verdict.text for verdict in islice(verdicts, count)]


def edits(root: Path, *contents: str | None) -> Iterator[Callable[[], object]]:
    """Yield one edit a sleep, None for a pause, and then pauses without end."""
    for content in contents:
        yield (lambda: None) if content is None else (lambda text=content: (root / "a.py").write_text(text))  # type: ignore[misc]
    while True:
        yield lambda: None


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repo(tmp_path / "project", {"a.py": "1\n"})


def test_judges_when_edits_rest(root: Path) -> None:
    judge = Judgements()
    texts = watch(root, judge, edits(root, "2\n", "3\n", None, "4\n"), 1)
    assert (texts, judge.contents) == (["Nothing broke."], ["4\n"])


def test_judges_existing_work_at_once_and_each_state_once(root: Path) -> None:
    (root / "a.py").write_text("2\n")
    judge = Judgements()
    watch(root, judge, edits(root, *[None] * 4, "3\n"), 2)
    assert judge.contents == ["2\n", "3\n"]


def test_goes_on_after_change_that_cannot_be_judged(root: Path) -> None:
    (root / "a.py").write_text("2\n")
    assert watch(root, Judgements("No sandbox."), edits(root, "3\n"), 2) == ["No sandbox.", "No sandbox."]


def test_reports_changed_files_before_judging(root: Path) -> None:
    (root / "a.py").write_text("2\n")
    judge, reported = Judgements(), []

    def report_start(changed: Sequence[str]) -> None:
        reported.append((*changed, len(judge.contents)))

    next(watch_verdicts(root, judge=judge, report_start=report_start))
    assert reported == [("a.py", 0)]
