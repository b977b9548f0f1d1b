"""Recovery from sessions that were killed."""

from datetime import UTC, datetime
from pathlib import Path

from coder.core.events import SessionFinished, Verified
from coder.core.state import session_status
from coder.directories import sessions_directory
from coder.repo.delivery.pending import PendingDelivery
from coder.repo.recovery import recover_abandoned
from coder.store.jsonl import append_finish, read_records


def recover_sessions() -> tuple[str, ...]:
    """Clean up after all sessions whose process is gone, settle their deliveries, and return their ids."""
    return recover_abandoned(sessions_directory(), settle_delivery)


def settle_delivery(directory: Path, pending: PendingDelivery) -> None:
    """Complete the delivery of a killed session and log it; undo a delivery that the log does not confirm."""
    records = read_records(directory)
    finish_event = next(
        (record.event for record in reversed(records) if isinstance(record.event, SessionFinished)), None
    )
    if finish_event is not None:
        if finish_event.delivery is None:
            pending.roll_back()
        return
    judgements = [record.event.verdict for record in records if isinstance(record.event, Verified)]
    if not judgements:
        pending.roll_back()
        return
    verdict, totals = judgements[-1], session_status(records)
    event = SessionFinished(
        kind=verdict.kind,
        summary=(
            f"{verdict.reason} coder was killed while it delivered this; the delivery was completed "
            "afterwards."
        ),
        verdict=verdict,
        delivery=pending.complete(),
        attempts=totals.attempt,
        spent=totals.spent,
        seconds=totals.seconds,
        exit_code=verdict.kind.exit_code,
    )
    append_finish(directory, event, at=datetime.now(UTC))
