"""What a session without a fix has learnt, told from its record, for a colleague to start from."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from coder.core.events import CandidateDropped, FilesChanged, NoteMade, Record, Verified
from coder.core.notes import Diagnosis, Done, Findings, GiveUp, Sites
from coder.core.values.paths import is_test_path
from coder.core.values.verdict import Cause, TestResult, Verdict, VerdictKind

SHOWN_LINES = 60
"""A patch of up to so many lines is shown in the report; a longer one is only kept."""


def explanation(records: Sequence[Record], keep: Callable[[str], str]) -> str:
    """What was tried, what failed and why, suspected places, the best patch, the next step; Markdown, empty where nothing came of it.

    `keep` stores a text and returns its name.
    """
    if not any(isinstance(record.event, NoteMade | Verified) for record in records):
        return ""
    parts = [_tried(records), _suspects(records), _best(records, keep), _next(records), _last_word(records)]
    return "\n\n".join(part for part in parts if part)


def _tried(records: Sequence[Record]) -> str:
    lines: list[str] = []
    count = 0
    ideas: dict[str, str] = {}
    paths: dict[str, tuple[str, ...]] = {}
    for record in records:
        match record.event:
            case NoteMade(candidate=who, note=Sites() | Diagnosis() | Done() as note):
                ideas[who] = note.summary if not isinstance(note, Done) else ideas.get(who) or note.summary
            case FilesChanged(candidate=who, paths=changed):
                paths[who] = changed
            case Verified(candidate=who, verdict=verdict):
                count += 1
                lines.append(
                    f"{count}. {_line(ideas.pop(who, '')) or 'A change'} ({', '.join(paths.get(who, ()))}): "
                    f"{verdict.reason}"
                )
                lines += [f"   - {_failure(result)}" for result in _reds(verdict)[:3]]
            case CandidateDropped(candidate=who, reason=reason):
                lines.append(f"- {who} went no further: {_line(reason)}")
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
    """Places that the newest notes name, then the project's functions that stand in the most failures, innermost first."""
    named = [
        place
        for record in reversed(records)
        if isinstance(record.event, NoteMade)
        for place in getattr(record.event.note, "places", ())
    ]
    frames = Counter(
        f"{frame.path}:{frame.line} (in {frame.function})"
        for record in reversed(records)
        if isinstance(record.event, Verified)
        for result in _reds(record.event.verdict)
        if result.failure
        for frame in reversed(result.failure.frames)
        if not frame.path.startswith("/") and not is_test_path(frame.path)
    )
    places = list(dict.fromkeys([*named, *(place for place, _ in frames.most_common())]))[:6]
    return "## Where the fault may be\n" + "\n".join(f"- {place}" for place in places) if places else ""


def _best(records: Sequence[Record], keep: Callable[[str], str]) -> str:
    """The red change that came closest: the fewest tests against it, and nothing broken if that can be had."""
    newest: dict[str, str] = {}
    found: list[tuple[tuple[int, int, int], str]] = []
    for record in records:
        match record.event:
            case FilesChanged(candidate=who, diff=diff):
                newest[who] = diff
            case Verified(candidate=who, verdict=verdict) if (
                newest.get(who) and verdict.kind is not VerdictKind.INCONCLUSIVE
            ):
                diff = newest[who]
                found.append(((len(verdict.broken), len(verdict.still_red), len(diff)), diff))
            case _:
                pass
    if not found:
        return ""
    diff = min(found)[1]
    name = keep(diff)
    shown = f"\n```diff\n{diff.rstrip()}\n```" if diff.count("\n") <= SHOWN_LINES else ""
    return f"## The patch that came closest\nIt is delivered nowhere, and kept as blobs/{name}.{shown}"


NEXT: Mapping[Cause, str] = {
    "environment": "Provide what the machine lacks for {test}, then start again: the code was not what failed.",
    "time-out": "Run {test} alone with a longer time limit, and see where it waits.",
    "collection": "Import the file of {test} by hand: it cannot be collected, so nothing in it was tried.",
    "test error": "Read {test}: it fails in the test itself, before it says anything of the code.",
    "logic": "Run {test} with a breakpoint at the first place above.",
}


def _next(records: Sequence[Record]) -> str:
    """The cheapest next step, by what the newest failure is taken for."""
    judged = [record.event.verdict for record in records if isinstance(record.event, Verified)]
    reds = _reds(judged[-1]) if judged else ()
    if not reds:
        return ""
    return f"## The cheapest next step\n{NEXT[reds[0].cause or 'logic'].format(test=reds[0].id)}"


def _last_word(records: Sequence[Record]) -> str:
    notes = [record.event.note for record in records if isinstance(record.event, NoteMade)]
    summary = next((note.summary for note in reversed(notes) if isinstance(note, GiveUp)), "")
    # Of one line, it stands as the session's summary right below the report.
    return f"## In short\n{summary}" if "\n" in summary.strip() else ""


def advice(opinions: Mapping[str, Findings]) -> tuple[str, ...]:
    """What reviewers said of a change that is delivered, for its evidence: half a sentence each."""
    told = []
    for reader, opinion in opinions.items():
        told.append(
            f"{'approved' if opinion.approve else 'not approved'} by a reader for {reader}: "
            f"{_line(opinion.summary)}"
        )
        told += [
            f"{finding.severity}, {finding.place}: {_line(finding.text)}" for finding in opinion.findings
        ]
    return tuple(told)


def _line(text: str) -> str:
    return next((line.strip()[:200] for line in text.splitlines() if line.strip()), "")
