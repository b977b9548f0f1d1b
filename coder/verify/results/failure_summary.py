"""Summaries of red verdicts and reports, as messages for a model."""

from collections.abc import Iterable, Mapping, Sequence

from coder.core.verdict import Cause, TestReport, TestResult, Verdict
from coder.verify.results.failure_reasons import failure_headline, frames_in_tree

LIMIT = 4000
DISTINCT = 3
"""This many different failures are shown; the rest is counted."""
NAMED = 5
CAUSES: Mapping[Cause, str] = {
    "logic": "",
    "test error": ": the test, not the code, raises",
    "collection": ": its file cannot be imported",
    "environment": ": this machine lacks something",
    "time-out": ": it does not end",
}
"""Suffixes that state the likely cause of a failure."""


def summarize_failures(subject: Verdict | TestReport, limit: int = LIMIT) -> str:
    """Return the reason and each different failure once, at most `limit` characters.

    A failure is shown with its assertion and values, the innermost frames with source, and captured output.
    """
    match subject:
        case Verdict():
            parts = [f"{subject.label}: {subject.reason}", *(f"Noted: {note}." for note in subject.notes[:5])]
            sections = (("Broken by the change", subject.broken), ("Not green yet", subject.still_red))
        case TestReport():
            counts = subject.outcome_counts
            parts = [
                f"{counts.passed} passed, {counts.failed} failed, "
                f"{counts.skipped} skipped ({subject.command})."
            ]
            parts += (
                [f"{counts.denied} more cannot pass in the sandbox, whatever the code."]
                if counts.denied
                else []
            )
            parts += [subject.problem.text] if subject.problem else []
            sections = (
                ("Failing", subject.project_failures),
                (
                    "Not possible in the sandbox",
                    tuple(result for result in subject.failures if result.denied),
                ),
            )
    groups = [(title, group) for title, results in sections for group in group_by_failure(results)]
    shown_groups = groups[:DISTINCT]
    room = (limit - sum(map(len, parts)) - 400) // max(len(shown_groups), 1)
    parts += [_describe(title, group, room) for title, group in shown_groups]
    if hidden := sum(len(group) for _, group in groups[DISTINCT:]):
        parts.append(f"... and {hidden} more that fail in {len(groups) - DISTINCT} other ways.")
    return "\n\n".join(parts)[:limit]


def group_by_failure(results: Iterable[TestResult]) -> list[list[TestResult]]:
    """Group results that fail alike (same exception at the same place), in order of first appearance."""
    groups: dict[tuple[object, ...], list[TestResult]] = {}
    for result in results:
        groups.setdefault(_failure_signature(result), []).append(result)
    return list(groups.values())


def _failure_signature(result: TestResult) -> tuple[object, ...]:
    if result.failure is None:
        return (result.outcome,)
    innermost = frames_in_tree(result.failure)[-1:]
    return (result.failure.type, innermost or result.failure.message)


def _describe(title: str, group: Sequence[TestResult], room: int) -> str:
    first = group[0]
    where = "" if first.when == "call" else f" while pytest runs its {first.when}"
    lines = [f"{title}: {first.id} fails{where}{CAUSES[first.cause] if first.cause else ''}"]
    if first.failure is not None:
        lines.append(cut_middle(first.failure.text or failure_headline(first.failure), max(room - 200, 200)))
    if others := [result.id for result in group[1:]]:
        more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
        lines.append(cut_middle(f"The same happens in {', '.join(others[:NAMED])}{more}.", 400))
    return "\n".join(lines)


def cut_middle(text: str, limit: int) -> str:
    """Return the start of a text, where the assertion is, and its end, where captured output ends."""
    if len(text) <= limit:
        return text
    head = limit * 3 // 4
    return f"{text[:head]}\n[...]\n{text[len(text) - (limit - head) :]}"
