"""Search over recorded sessions."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from coder.core.events import Event, FilesChanged, Record, SessionFinished, SessionStarted, Verified, Warned
from coder.core.task import Task
from coder.core.verdict import Verdict, VerdictKind
from coder.store.jsonl import SearchMatch, SessionStore, search_session


@pytest.fixture
def session(tmp_path: Path) -> Path:
    start_event = SessionStarted(
        session="s1",
        task=Task(issue='Rounding of "Größe"\nloses the last digit', directory=tmp_path),
        repository="/home/ada/prices",
        head="0" * 40,
        base="0" * 40,
        dirty=False,
        model="openai:gpt-5",
        version="1",
    )
    verdict = Verdict(kind=VerdictKind.PASSING, reason="No test went from red to green")
    events: tuple[Event, ...] = (
        start_event,
        Warned(text="money.py is large"),
        FilesChanged(candidate="c1", paths=("src/money.py", "tests/test_money.py"), diff="+total = 1\n"),
        FilesChanged(candidate="c1", paths=("src/money.py",), diff="+total = 2\n"),
        Verified(candidate="c1", attempt=1, verdict=verdict),
        SessionFinished(kind=VerdictKind.GAVE_UP, summary="Two attempts failed.", exit_code=4),
    )
    store = SessionStore(tmp_path)
    for number, event in enumerate(events, start=1):
        store.append(Record(number=number, at=datetime(2026, 1, 1, tzinfo=UTC), event=event))
    store.close()
    return tmp_path


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("größe", [("request", 'Rounding of "Größe" loses the last digit')]),
        ('"Größe" loses', [("request", 'Rounding of "Größe" loses the last digit')]),
        ("GPT", [("model", "openai:gpt-5")]),
        ("red to green", [("verdict", "PASSING No test went from red to green")]),
        ("gave up", [("verdict", "GAVE UP Two attempts failed.")]),
        ("MONEY.py", [("file", "src/money.py"), ("file", "tests/test_money.py")]),
        ("total", []),
        ("is large", []),
    ],
)
def test_says_where_the_text_occurs(session: Path, text: str, matches: list[tuple[str, str]]) -> None:
    expected = [SearchMatch(field=field, excerpt=excerpt) for field, excerpt in matches]
    assert list(search_session(session, text)) == expected


def test_shows_the_surroundings_of_a_match_in_a_long_text(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    event = SessionFinished(kind=None, summary=f"{'a ' * 200}needle{' b' * 200}", exit_code=130)
    store.append(Record(number=1, at=datetime(2026, 1, 1, tzinfo=UTC), event=event))
    store.close()
    (match,) = search_session(tmp_path, "needle")
    assert match.excerpt.startswith("…") and match.excerpt.endswith("…")
    assert "a needle b" in match.excerpt and len(match.excerpt) < 150
