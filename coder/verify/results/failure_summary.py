"""Distils a red verdict or report into the next message for a model."""

from collections.abc import Iterable, Mapping, Sequence

from coder.core.values.verdict import Cause, TestReport, TestResult, Verdict
from coder.verify.results.failure_reasons import headline, inside

LIMIT = 4000
DISTINCT = 3
"""So many different failures are shown; the rest is counted."""
NAMED = 5
CAUSES: Mapping[Cause, str] = {
    "logic": "",
    "test error": ": the test, not the code, raises",
    "collection": ": its file cannot be imported",
    "environment": ": this machine lacks something",
    "time-out": ": it does not end",
}
"""Suffixes that state the likely cause of a failure."""


def distil(subject: Verdict | TestReport, limit: int = LIMIT) -> str:
    """The reason, then each different failure once: assertion with its values, innermost frames with source, captured output."""
    match subject:
        case Verdict():
            parts = [f"{subject.label}: {subject.reason}", *(f"Noted: {note}." for note in subject.notes[:5])]
            sections = (("Broken by the change", subject.broken), ("Not green yet", subject.still_red))
        case TestReport():
            counts = subject.counts
            parts = [
                f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped ({subject.command})."
            ]
            parts += [subject.problem.text] if subject.problem else []
            sections = (("Failing", subject.reds), ("", ()))
    groups = [(title, alike) for title, results in sections for alike in grouped(results)]
    shown = groups[:DISTINCT]
    room = (limit - sum(map(len, parts)) - 400) // max(len(shown), 1)
    parts += [_described(title, alike, room) for title, alike in shown]
    if hidden := sum(len(alike) for _, alike in groups[DISTINCT:]):
        parts.append(f"... and {hidden} more that fail in {len(groups) - DISTINCT} other ways.")
    return "\n\n".join(parts)[:limit]


def grouped(results: Iterable[TestResult]) -> list[list[TestResult]]:
    """Results that fail alike (same exception at the same place) together, in order of first appearance."""
    groups: dict[tuple[object, ...], list[TestResult]] = {}
    for result in results:
        groups.setdefault(_signature(result), []).append(result)
    return list(groups.values())


def _signature(result: TestResult) -> tuple[object, ...]:
    if result.failure is None:
        return (result.outcome,)
    innermost = inside(result.failure)[-1:]
    return (result.failure.type, innermost or result.failure.message)


def _described(title: str, alike: Sequence[TestResult], room: int) -> str:
    first = alike[0]
    where = "" if first.when == "call" else f" while pytest runs its {first.when}"
    lines = [f"{title}: {first.id} fails{where}{CAUSES[first.cause] if first.cause else ''}"]
    if first.failure is not None:
        lines.append(cut(first.failure.text or headline(first.failure), max(room - 200, 200)))
    if others := [result.id for result in alike[1:]]:
        more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
        lines.append(cut(f"The same happens in {', '.join(others[:NAMED])}{more}.", 400))
    return "\n".join(lines)


def cut(text: str, limit: int) -> str:
    """The start, where the assertion is, and the end, where captured output ends."""
    if len(text) <= limit:
        return text
    head = limit * 3 // 4
    return f"{text[:head]}\n[...]\n{text[len(text) - (limit - head) :]}"
