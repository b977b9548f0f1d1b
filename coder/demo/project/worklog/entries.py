"""Entries of the log: one line each."""

from dataclasses import dataclass
from datetime import date, datetime

from worklog.periods import Period


class EntryError(ValueError):
    """A line that is no entry."""


@dataclass(frozen=True)
class Entry:
    """Something done on a day, from one time to another."""

    day: date
    period: Period
    project: str
    text: str


def parse(log):
    """All entries of a log, by day and time; blank lines and lines that begin with # are skipped."""
    entries = []
    for number, line in enumerate(log.splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            entries.append(parse_line(line, number))
    return sorted(entries, key=lambda entry: (entry.day, entry.period))


def parse_line(line, number=1):
    """One entry such as `2026-03-02 09:00-10:30 billing prices with tax`."""
    words = line.split(maxsplit=3)
    if len(words) < 3:
        raise EntryError(f"line {number}: expected DAY FROM-TO PROJECT [TEXT]")
    try:
        day = datetime.strptime(words[0], "%Y-%m-%d").date()
        start, end = (minutes(time) for time in words[1].split("-"))
    except ValueError as error:
        raise EntryError(f"line {number}: {error}") from None
    if start >= end:
        raise EntryError(f"line {number}: ends before it begins")
    return Entry(day, Period(start, end), words[2], words[3] if len(words) > 3 else "")


def minutes(time):
    """Minutes since midnight of a time such as 09:30."""
    hours, rest = time.split(":")
    return int(hours) * 60 + int(rest)
