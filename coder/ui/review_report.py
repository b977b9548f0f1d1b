"""Report of a review: what reviewers hold against a change, beside what the verifier has seen there."""

from collections.abc import Iterator, Sequence

from coder.core.events import NoteMade, Record
from coder.core.notes import Finding, Findings
from coder.core.values.verdict import Verdict

NEAR_LINES = 3
"""Lines between a finding and an observation that still belong together."""


def review_lines(records: Sequence[Record], verdict: Verdict) -> Iterator[str]:
    """Yield the report in lines, one reviewer after the other, in the order of the log."""
    for record in records:
        match record.event:
            case NoteMade(candidate=candidate, note=Findings() as findings):
                yield from _reviewer_lines(candidate.rpartition("/")[2], findings, verdict)


def _reviewer_lines(reviewer: str, findings: Findings, verdict: Verdict) -> Iterator[str]:
    decision = "approves" if findings.approve else "requests changes"
    yield f"{reviewer} {decision}: {findings.summary}"
    for finding in findings.findings:
        yield f"  {finding.severity}  {finding.place}  {finding.text}"
        yield f"    tests: {observation(finding, verdict)}"


def observation(finding: Finding, verdict: Verdict) -> str:
    """Return what the verifier has seen at a finding's place, as a phrase."""
    failing = [
        result.id
        for result in (*verdict.broken, *verdict.still_red)
        if result.failure
        and any(_is_near(finding, frame.path, frame.line) for frame in result.failure.frames)
    ]
    if failing:
        return f"{', '.join(failing[:3])} fail{'s' if len(failing) == 1 else ''} here"
    report = verdict.guarded
    for place in report.unguarded if report else ():
        if _is_near(finding, place.path, place.line):
            return f"none would notice a difference here ({place.what}, line {place.line})"
    if report and report.tried:
        share = f"{report.tried - len(report.unguarded)} of {report.tried}"
        return f"none fails here; they caught {share} deliberate breakages of the change"
    return "none fails here; whether one would notice a difference here was not tried"


def _is_near(finding: Finding, path: str, line: int) -> bool:
    """Return whether a place belongs to a finding; one on a whole file covers all its lines."""
    return finding.path == path and (not finding.line or abs(finding.line - line) <= NEAR_LINES)
