"""Attestation of a session: its verdict with everything needed to check it again (`evidence.json`)."""

from collections.abc import Sequence
from datetime import datetime

from coder.core.events import FilesChanged, Record, SessionFinished, SessionStarted, Verified
from coder.core.messages import Spent
from coder.core.values.base import Value
from coder.core.values.verdict import Verdict

FORMAT = 1


class Attestation(Value):
    """A verdict with everything it rests on."""

    format: int = FORMAT
    session: str
    version: str
    """Version of coder."""
    at: datetime
    """Time of the verdict, UTC."""
    issue: str
    base: str
    """Commit that the change applies to."""
    repeatable: bool
    """False where the base held uncommitted work, which is not kept."""
    diff: str
    test_command: str | None
    """As the user passed it; None where it was detected. The commands that ran are in the verdict."""
    verdict: Verdict
    spent: Spent
    seconds: float
    """Duration of the whole session."""


def attestation(records: Sequence[Record]) -> Attestation | None:
    """Return the attestation of a session: the verdict of what it delivered, else its last one.

    None where nothing was verified.
    """
    started = next((record.event for record in records if isinstance(record.event, SessionStarted)), None)
    verified = [(record.at, record.event.verdict) for record in records if isinstance(record.event, Verified)]
    if started is None or not verified:
        return None
    at, verdict = verified[-1]
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
    """Describe how a verdict falls short of the attested one; empty where it still holds."""
    if now.kind is not attested.kind:
        return f"it was {attested.label} and is {now.label} now: {now.reason}"
    if missing := [target for target in attested.targets if target not in now.targets]:
        verb = "does" if len(missing) == 1 else "do"
        return f"{', '.join(missing[:3])} went from red to green then and {verb} not now"
    return ""
