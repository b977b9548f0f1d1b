"""What is known of one judged change, complete enough to judge it again: `evidence.json`."""

from collections.abc import Sequence
from datetime import datetime

from coder.core.events import FilesChanged, Record, SessionFinished, SessionStarted, Verified
from coder.core.messages import Spent
from coder.core.values.base import Value
from coder.core.values.verdict import Verdict

FORMAT = 1


class Attestation(Value):
    """One verdict with all that it rests on."""

    format: int = FORMAT
    session: str
    version: str
    """Of coder."""
    at: datetime
    """When the verdict was given, UTC."""
    issue: str
    base: str
    """The commit that the change is made to."""
    repeatable: bool
    """False where the base held uncommitted work, which nobody keeps."""
    diff: str
    test_command: str | None
    """As the person gave it; None where it was found out. What was run is in the verdict."""
    verdict: Verdict
    spent: Spent
    seconds: float
    """Of the whole session."""


def attestation(records: Sequence[Record]) -> Attestation | None:
    """What a session's log attests: the verdict of what it delivered, else its last one; None where nothing was judged."""
    started = next((record.event for record in records if isinstance(record.event, SessionStarted)), None)
    judged = [(record.at, record.event.verdict) for record in records if isinstance(record.event, Verified)]
    if started is None or not judged:
        return None
    at, verdict = judged[-1]
    finished = next((record.event for record in records if isinstance(record.event, SessionFinished)), None)
    diff = next(
        (record.event.diff for record in reversed(records) if isinstance(record.event, FilesChanged)), ""
    )
    delivery = finished.delivery if finished else None
    on_head = delivery is not None and not delivery.needs_uncommitted_work
    return Attestation(
        session=started.session,
        version=started.version,
        at=at,
        issue=started.task.issue,
        base=started.head if on_head else started.base,
        repeatable=on_head or not started.dirty,
        diff=delivery.diff if delivery else diff,
        test_command=started.task.test_command,
        verdict=finished.verdict if finished and finished.verdict else verdict,
        spent=finished.spent if finished else Spent(),
        seconds=finished.seconds if finished else 0.0,
    )


def difference(attested: Verdict, now: Verdict) -> str:
    """What a verdict says otherwise than the attested one; empty where that still holds."""
    if now.kind is not attested.kind:
        return f"it was {attested.label} and is {now.label} now: {now.reason}"
    if lost := [target for target in attested.targets if target not in now.targets]:
        return f"{', '.join(lost[:3])} went from red to green then and {'does' if len(lost) == 1 else 'do'} not now"
    return ""
