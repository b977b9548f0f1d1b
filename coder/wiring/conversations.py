"""Conversations over several sessions, each of which continues an earlier one."""

from pathlib import Path

from coder.core.values.candidate import Delivery
from coder.session.continuation import Continuation, read_continuation
from coder.settings import sessions_directory
from coder.store.jsonl import boundary_events, find_session, read_records


def find_continuation(name: str, root: Path) -> Continuation:
    """Return what a session of this repository leaves to the next one; `last` is the newest conversation.

    Raises:
        UserError: there is no such session.
    """
    directory = find_session(sessions_directory(), name, repository=root, conversation=True)
    continuation = read_continuation(directory.name, read_records(directory))
    if continuation.commit:
        return continuation
    deliveries = earlier_deliveries(directory)
    newest = deliveries[-1] if deliveries else Delivery(diff="")
    return continuation.model_copy(update={"commit": newest.commit, "branch": newest.branch})


def earlier_deliveries(directory: Path) -> tuple[Delivery, ...]:
    """Return the commits that were delivered before a session in its conversation, oldest first."""
    deliveries: list[Delivery] = []
    started, _ = boundary_events(directory)
    while started is not None and started.task.continues:
        earlier = directory.parent / started.task.continues
        if not earlier.is_dir():
            break
        started, finished = boundary_events(earlier)
        if finished is not None and finished.delivery is not None and finished.delivery.commit:
            deliveries.insert(0, finished.delivery)
    return tuple(deliveries)
