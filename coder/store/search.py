"""Full-text search over stored sessions."""

import json
from collections.abc import Iterator
from pathlib import Path

from coder.core.events import Event, FilesChanged, SessionFinished, SessionStarted, Verified
from coder.core.state import outcome_label
from coder.core.values.base import Value
from coder.store.jsonl import find_events

CONTEXT_CHARACTERS = 60
"""Characters of a long text that are shown before and behind a match."""


class SearchMatch(Value):
    """One place in a session where the text occurs."""

    field: str
    """`request`, `model`, `verdict` or `file`."""
    excerpt: str


def search_session(directory: Path, text: str) -> tuple[SearchMatch, ...]:
    """Return the matches in a stored session, by field, each excerpt once; upper and lower case are the same.

    Raises:
        UserError: there is no log, or another version of coder wrote something unknown.
    """
    query = " ".join(text.casefold().split())
    as_written = json.dumps(text, ensure_ascii=False)[1:-1].casefold()
    events = [
        *find_events(directory, (SessionStarted, Verified, SessionFinished)),
        *find_events(directory, (FilesChanged,), containing=as_written),
    ]
    matches = (
        SearchMatch(field=field, excerpt=_excerpt(value, query))
        for event in events
        for field, value in _searchable_fields(event)
        if query in value.casefold()
    )
    return tuple(dict.fromkeys(matches))


def _searchable_fields(event: Event) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of an event that are searched; white space is collapsed."""
    match event:
        case SessionStarted(task=task, model=model):
            yield "request", " ".join(task.issue.split())
            yield "model", model
        case Verified(verdict=verdict):
            yield "verdict", " ".join(f"{verdict.label} {verdict.reason}".split())
        case SessionFinished(summary=summary):
            yield "verdict", " ".join(f"{outcome_label(event)} {summary}".split())
        case FilesChanged(paths=paths):
            for path in paths:
                yield "file", path


def _excerpt(text: str, query: str) -> str:
    """Return the surroundings of the first match; an ellipsis stands for what is left out."""
    position = max(text.casefold().find(query), 0)
    start, end = position - CONTEXT_CHARACTERS, position + len(query) + CONTEXT_CHARACTERS
    return f"{'…' if start > 0 else ''}{text[max(start, 0) : end]}{'…' if end < len(text) else ''}"
