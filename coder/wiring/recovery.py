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
    """Clean up after all sessions whose process is gone, and settle their deliveries; return their ids."""
    return recover(sessions_directory(), settle)


def settle(directory: Path, pending: PendingDelivery) -> None:
    """Complete the delivery of a session that was killed over it, and say so in its log; take back what the log says was not delivered."""
    records = read(directory)
    finished = next(
        (record.event for record in reversed(records) if isinstance(record.event, SessionFinished)), None
    )
    if finished is not None:
        if finished.delivery is None:
            pending.take_back()
        return
    judged = [record.event.verdict for record in records if isinstance(record.event, Verified)]
    if not judged:
        pending.take_back()
        return
    verdict, totals = judged[-1], status(records)
    ended = SessionFinished(
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
    finish(directory, ended, at=datetime.now(UTC))
