"""What a session without a fix has learnt, told from its record."""

from collections.abc import Sequence

from coder.core.events import FilesChanged, NoteMade, Record, Verified
from coder.core.notes import Diagnosis, GiveUp, Sites
from coder.core.paths import is_test_path
from coder.core.verdict import TestResult, Verdict


def explanation(records: Sequence[Record]) -> str:
    """What was tried, what failed and why, and the suspected places, as Markdown; empty where nothing came of it at all."""
    if not any(isinstance(record.event, NoteMade | Verified) for record in records):
        return ""
    parts = [_tried(records), _suspects(records), _last_word(records)]
    return "\n\n".join(part for part in parts if part)


def _tried(records: Sequence[Record]) -> str:
    lines: list[str] = []
    count = 0
    idea = ""
    paths: tuple[str, ...] = ()
    for record in records:
        match record.event:
            case NoteMade(note=Sites() | Diagnosis() as note):
                idea = note.summary
            case FilesChanged(paths=changed):
                paths = changed
            case Verified(verdict=verdict):
                count += 1
                lines.append(f"{count}. {_line(idea) or 'A change'} ({', '.join(paths)}): {verdict.reason}")
                lines += [f"   - {_failure(result)}" for result in _reds(verdict)[:3]]
                idea = ""
            case _:
                pass
    return "## What was tried\n" + ("\n".join(lines) or "No change came as far as a verification.")


def _reds(verdict: Verdict) -> tuple[TestResult, ...]:
    return verdict.still_red + verdict.broken


def _failure(result: TestResult) -> str:
    if result.failure is None:
        return f"{result.id}: {result.outcome}"
    return f"{result.id}: {result.failure.type}: {_line(result.failure.message)}"


def _suspects(records: Sequence[Record]) -> str:
    """Places that the newest notes name, then the innermost project frames of what failed."""
    named = [
        place for record in reversed(records) if isinstance(record.event, NoteMade) for place in getattr(record.event.note, "places", ())
    ]
    frames = [
        f"{frame.path}:{frame.line} (in {frame.function})"
        for record in reversed(records)
        if isinstance(record.event, Verified)
        for result in _reds(record.event.verdict)
        if result.failure
        for frame in reversed(result.failure.frames)
        if not frame.path.startswith("/") and not is_test_path(frame.path)
    ]
    places = list(dict.fromkeys(named + frames))[:6]
    return "## Where the fault may be\n" + "\n".join(f"- {place}" for place in places) if places else ""


def _last_word(records: Sequence[Record]) -> str:
    notes = [record.event.note for record in records if isinstance(record.event, NoteMade)]
    summary = next((note.summary for note in reversed(notes) if isinstance(note, GiveUp)), "")
    # Of one line, it stands as the session's summary right below the report.
    return f"## In short\n{summary}" if "\n" in summary.strip() else ""


def _line(text: str) -> str:
    return next((line.strip()[:200] for line in text.splitlines() if line.strip()), "")
