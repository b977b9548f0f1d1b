"""Stored sessions: conversations in which each continues an earlier one, and what all have spent."""

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from coder.core import events
from coder.core.errors import UserError
from coder.core.events import Restore
from coder.core.state import session_status
from coder.core.values import Delivery, Usage
from coder.files.regular_files import config_directory, sessions_directory
from coder.patching.git_hunks import split_git_diff
from coder.repo.delivery import PendingDelivery, has_change
from coder.repo.git import find_checkout, session_lock
from coder.repo.repository import recover_abandoned
from coder.session.continuation import Continuation, read_continuation
from coder.session.log import (
    EventLog,
    SessionStore,
    append_finish,
    boundary_events,
    find_session,
    list_conversation,
    list_sessions,
    read_records,
)
from coder.session.session import INTERRUPTED
from coder.settings import Config

WENT_BACK = "Back before this request."
"""Summary of a session that only stores a point of a conversation."""
START = Continuation(session="")
"""The point before the first request."""


class ConversationPoint(NamedTuple):
    """An earlier point of a conversation, stored as a session from which others can go on."""

    session: str
    request: int
    """Number of the request before which it is."""
    applied: tuple[str, ...]
    """Sessions after that point whose change the user's branch holds."""


def make_session_id() -> str:
    """Return an id of a new session; ids sort by time."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def find_continuation(name: str, root: Path, *, request: str = "") -> Continuation:
    """Return what a session of this repository leaves to the next one; `last` is the newest conversation.

    If its request was interrupted and is the same as `request`, that goes on.

    Raises:
        UserError: there is no such session, or it still runs.
    """
    directory = find_session(name, repository=root, conversation=True)
    with session_lock(directory):
        return _read_end(directory, request=request)


def inherit_model(config: Config, name: str, root: Path) -> Config:
    """Return the configuration with the model and server of the conversation that a session continues.

    They are the newest ones recorded in it, and count only if the user's own settings name neither. `name` is
    the continued session's; nothing changes if it is empty or there is no such session.
    """
    if not name or config.model is not None or config.base_url is not None:
        return config
    try:
        newest = find_session(name, repository=root, conversation=True)
        starts = [boundary_events(directory)[0] for directory in list_conversation(newest)]
    except UserError:
        return config  # reported when the session is opened
    for started in reversed(starts):
        if started is not None and started.base_url is not None:
            return config.model_copy(update={"model": started.model, "base_url": started.base_url or None})
    return config


def _read_end(directory: Path, *, request: str = "") -> Continuation:
    continuation = read_continuation(directory.name, read_records(directory), request=request)
    started, _ = boundary_events(directory)
    if not continuation.commit:
        deliveries = earlier_deliveries(directory)
        newest = deliveries[-1] if deliveries else Delivery(diff="")
        continuation = continuation.model_copy(update={"commit": newest.commit, "branch": newest.branch})
    starts = [boundary_events(session)[0] for session in list_conversation(directory)]
    requests = {start.session: start.task.issue for start in starts if start and start.task.mode != "ask"}
    continuation = continuation.model_copy(
        update={"unfinished_requests": _unfinished_requests(directory), "requests": requests}
    )
    is_fork = started is not None and started.task.forks
    return continuation.model_copy(update={"branch": ""}) if is_fork else continuation


def _unfinished_requests(directory: Path) -> tuple[str, ...]:
    """Return the requests, the newest first, that were interrupted since the last one that ended.

    Questions are left out, and requests that the user went back before.
    """
    requests = []
    for session in reversed(list_conversation(directory)):
        started, finished = boundary_events(session)
        if started is None or (finished is not None and finished.exit_code != INTERRUPTED):
            break
        if started.task.mode != "ask" and (finished is None or finished.summary != WENT_BACK):
            requests.append(started.task.issue)
    return tuple(requests)


def earlier_deliveries(directory: Path) -> tuple[Delivery, ...]:
    """Return the commits that were delivered before a session in its conversation, oldest first."""
    finished = (boundary_events(session)[1] for session in list_conversation(directory)[:-1])
    return tuple(
        event.delivery
        for event in finished
        if event is not None and event.delivery is not None and event.delivery.commit
    )


def go_back(name: str, root: Path, *, restore: Restore = "both") -> ConversationPoint:
    """Store the point before a request, `ID@N`, as the newest session, and return it.

    Without `@N` it is the point before the newest request. What is left behind stays as it is.

    Raises:
        UserError: there is no such session or request.
    """
    id, _, number = name.partition("@")
    directory = find_session(id or "last", repository=root, conversation=True)
    requests = list_conversation(directory)
    count = len(requests)
    if number and not (number.isdecimal() and 1 <= int(number) <= count):
        raise UserError(
            f"There is no request {number} to go back to: the conversation has {count}. Their numbers: coder "
            "log."
        )
    request = int(number or count)
    point, end = _read_end(requests[request - 2]) if request > 1 else START, _read_end(directory)
    session = _store_point(
        requests[request - 1],
        conversation=end if restore == "code" else point,
        code=end if restore == "conversation" else point,
    )
    left_behind = () if restore == "conversation" else requests[request - 1 :]
    return ConversationPoint(session, request, _find_applied(left_behind, root))


def _store_point(request: Path, *, conversation: Continuation, code: Continuation) -> str:
    """Write the log of a session that was stopped before its first message, and return its id."""
    started, _ = boundary_events(request)
    if started is None:
        raise UserError(f"Session {request.name} ended before it began: there is nothing to go back to.")
    session = make_session_id()
    task = started.task.model_copy(update={"continues": code.session, "forks": False})
    directory = request.parent / session
    with session_lock(directory), closing(SessionStore(directory)) as store:
        log = EventLog(store)
        log.append(
            events.SessionStarted(
                session=session,
                task=task,
                repository=started.repository,
                head=started.head,
                base=started.base,
                dirty=False,
                model=started.model,
                base_url=started.base_url,
                version=started.version,
            )
        )
        log.append(events.CandidateForked(candidate="c1"))
        if conversation.messages:
            log.append(
                events.ConversationContinued(
                    candidate="c1", session=conversation.session, messages=conversation.messages
                )
            )
        if code.diff:
            paths = tuple(sorted({hunk.path for hunk in split_git_diff(code.diff)}))
            log.append(events.FilesChanged(candidate="c1", paths=paths, diff=code.diff))
        log.append(events.SessionFinished(kind=None, summary=WENT_BACK, exit_code=INTERRUPTED))
    return session


def _find_applied(sessions: tuple[Path, ...], root: Path) -> tuple[str, ...]:
    """Return the sessions whose delivered change HEAD contains."""
    git = find_checkout(root).git
    finished = ((session.name, boundary_events(session)[1]) for session in sessions)
    return tuple(
        name
        for name, event in finished
        if event is not None
        and event.delivery is not None
        and event.delivery.commit
        and git.resolve_commit(event.delivery.commit)
        and has_change(git, event.delivery.commit)
    )


def recover_sessions() -> tuple[str, ...]:
    """Clean up after all sessions whose process is gone, settle their deliveries, and return their ids."""
    return recover_abandoned(sessions_directory(), settle_delivery)


def settle_delivery(directory: Path, pending: PendingDelivery) -> None:
    """Complete the delivery of a killed session and log it; undo a delivery that the log does not confirm."""
    records = read_records(directory)
    if (finish_event := events.newest_event(records, events.SessionFinished)) is not None:
        if finish_event.delivery is None:
            pending.roll_back()
        return
    if (verified := events.newest_event(records, events.Verified)) is None:
        pending.roll_back()
        return
    verdict, totals = verified.verdict, session_status(records)
    event = events.SessionFinished(
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


class SessionSpending(NamedTuple):
    session: str
    """Its id, which begins with the date in UTC: `20261125-`."""
    model: str
    requests: tuple[Usage, ...]


def read_spending(prefix: str = "") -> Iterator[SessionSpending]:
    """Yield the spending of each session whose id has a prefix, such as a date, oldest first.

    Sessions that asked no model, and logs that cannot be read, are left out.
    """
    for directory in list_sessions():
        if not directory.name.startswith(prefix):
            continue
        try:
            stored = [record.event for record in read_records(directory)]
        except UserError:
            continue
        spent = tuple(event.usage for event in stored if isinstance(event, events.BudgetSpent))
        if spent and isinstance(stored[0], events.SessionStarted):
            yield SessionSpending(directory.name, stored[0].model, spent)


def known_cost(requests: Iterable[Usage]) -> Decimal:
    """Return the US dollars of those requests whose price is known."""
    return sum((usage.cost_usd or Decimal(0) for usage in requests), Decimal(0))


class MoneyLimit(NamedTuple):
    """The money that a session may spend, and the limit that leaves it, as a phrase for the user."""

    usd: Decimal
    phrase: str


def find_money_limit(config: Config, now: datetime | None = None) -> MoneyLimit | None:
    """Return the stricter of the limits of this day and of the session; None is no limit.

    Raises:
        UserError: the day's limit is reached.
    """
    own, day = config.max_usd, config.max_usd_per_day
    found = [] if own is None else [MoneyLimit(own, f"the limit of ${own:f} (max_usd)")]
    if day is not None:
        today = f"{now or datetime.now(UTC):%Y%m%d}"
        spent = sum((known_cost(entry.requests) for entry in read_spending(today)), Decimal(0))
        variable = "CODER_MAX_USD_PER_DAY"  # no option and no repository can set it
        file = config_directory() / "config.toml"
        origin = variable if os.environ.get(variable) else f"max_usd_per_day in {file}"
        if spent >= day:
            raise UserError(
                f"${spent:.2f} of ${day:.2f} allowed per day are spent ({origin}). What was spent: coder log "
                "cost"
            )
        rest = f"the day's limit of ${day:f}, of which ${day - spent:.4f} is left ({origin})"
        found.append(MoneyLimit(day - spent, rest))
    return min(found, key=lambda limit: limit.usd, default=None)
