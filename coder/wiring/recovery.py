"""Recovery from sessions that were killed."""

from datetime import UTC, datetime
from pathlib import Path

from coder.core.events import SessionFinished, Verified
from coder.core.state import status
from coder.repo.delivery.pending import PendingDelivery
from coder.repo.recovery import recover
from coder.settings import sessions_directory
from coder.store.jsonl import finish, read


def recover_sessions() -> tuple[str, ...]:
    """Clean up after all sessions whose process is gone, settle their deliveries, and return their ids."""
    return recover(sessions_directory(), settle)


def settle(directory: Path, pending: PendingDelivery) -> None:
    """Complete the delivery of a killed session and log it; undo a delivery that the log does not confirm."""
    records = read(directory)
    finish_event = next(
        (record.event for record in reversed(records) if isinstance(record.event, SessionFinished)), None
    )
    if finish_event is not None:
        if finish_event.delivery is None:
            pending.take_back()
        return
    judgements = [record.event.verdict for record in records if isinstance(record.event, Verified)]
    if not judgements:
        pending.take_back()
        return
    verdict, totals = judgements[-1], status(records)
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
    finish(directory, event, at=datetime.now(UTC))
