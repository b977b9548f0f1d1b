"""Parser of `git blame --porcelain`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from itertools import groupby

HEADER = re.compile(r"([0-9a-f]{40,64}) \d+ (\d+)")


@dataclass(frozen=True, kw_only=True)
class BlameLine:
    """One line and the commit that last changed it."""

    line: int
    commit: str
    commit_fields: dict[str, str] = field(default_factory=dict)
    """The commit's author, author-time, summary and more, by git's names."""

    @property
    def commit_summary(self) -> str:
        """A summary such as `1a2b3c4d5e 2020-01-31 Ada: adds boxes`."""
        zone = self.commit_fields.get("author-tz", "+0000")
        minutes = (int(zone[1:3]) * 60 + int(zone[3:5])) * (-1 if zone.startswith("-") else 1)
        author_zone = timezone(timedelta(minutes=minutes)) if abs(minutes) < 24 * 60 else UTC
        date = (
            datetime.fromtimestamp(int(self.commit_fields.get("author-time", "0")), tz=author_zone)
            .date()
            .isoformat()
        )
        author, summary = (self.commit_fields.get(field, "") for field in ("author", "summary"))
        return f"{self.commit[:10]} {date} {author}: {summary}"


def parse_blame(porcelain: str) -> Iterator[BlameLine]:
    """Parse the output of `git blame --porcelain`.

    Git prints a commit's fields only with its first line.
    """
    commits: dict[str, dict[str, str]] = {}
    fields: dict[str, str] = {}
    commit, number = "", 0
    for line in porcelain.split("\n"):
        if line.startswith("\t"):
            yield BlameLine(line=number, commit=commit, commit_fields=fields)
        elif match := HEADER.match(line):
            commit, number = match[1], int(match[2])
            fields = commits.setdefault(commit, {})
        else:
            key, _, value = line.partition(" ")
            fields[key] = value


def format_blame(lines: Iterator[BlameLine]) -> str:
    """Format one row for each run of lines with the same commit.

    A row is such as `40-43 1a2b3c4d5e 2020-01-31 Ada: adds boxes`.
    """
    rows = []
    for _, group in groupby(lines, key=lambda line: line.commit):
        run = list(group)
        span = f"{run[0].line}" if len(run) == 1 else f"{run[0].line}-{run[-1].line}"
        rows.append(f"{span:>11} {run[0].commit_summary}")
    return "\n".join(rows)
