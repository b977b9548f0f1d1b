"""Records of a session's log."""

from datetime import UTC, datetime, timedelta

from coder.core.events import Event, Record

START = datetime(2026, 1, 1, tzinfo=UTC)


def make_records(*events: Event) -> list[Record]:
    """Return a record of each event, a second apart."""
    return [
        Record(number=number, at=START + timedelta(seconds=number), event=event)
        for number, event in enumerate(events, start=1)
    ]
