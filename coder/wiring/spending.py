"""Spending over stored sessions."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from coder.core.errors import UserError
from coder.core.events import BudgetSpent, SessionStarted
from coder.core.messages import UsageTotals
from coder.core.values.base import Value
from coder.directories import sessions_directory
from coder.settings import Config
from coder.store.jsonl import list_sessions, read_records


class SessionSpending(Value):
    """Spending of one session, ended or not."""

    session: str
    """Its id, which begins with the date in UTC: `20261125-`."""
    repository: str
    model: str
    roles: Mapping[str, UsageTotals]
    """Totals by role: executor, planner, reviewer and so on."""
    total: UsageTotals


def read_spending(prefix: str = "") -> Iterator[SessionSpending]:
    """Yield the spending of each session whose id has a prefix, such as a date, oldest first.

    Sessions that asked no model, and logs that cannot be read, are left out.
    """
    for directory in list_sessions(sessions_directory()):
        if directory.name.startswith(prefix) and (spending := _session_spending(directory)):
            yield spending


def _session_spending(directory: Path) -> SessionSpending | None:
    try:
        events = [record.event for record in read_records(directory)]
    except UserError:
        return None
    spent = [event for event in events if isinstance(event, BudgetSpent)]
    if not spent or not isinstance(events[0], SessionStarted):
        return None
    roles: dict[str, UsageTotals] = {}
    for event in spent:
        roles[event.role] = roles.get(event.role, UsageTotals()).plus(event.usage)
    return SessionSpending(
        session=directory.name,
        repository=events[0].repository,
        model=events[0].model,
        roles=roles,
        total=spent[-1].total,
    )


def remaining_usd(config: Config, now: datetime | None = None) -> Decimal | None:
    """Return what the limits of this day and month leave, and the session's own; None is no limit.

    Raises:
        UserError: a limit is reached.
    """
    now = now or datetime.now(UTC)
    remaining = [config.max_usd] if config.max_usd is not None else []
    limits = (
        ("day", config.max_usd_per_day, f"{now:%Y%m%d}"),
        ("month", config.max_usd_per_month, f"{now:%Y%m}"),
    )
    longest = next((prefix for _, limit, prefix in reversed(limits) if limit is not None), None)
    sessions = [] if longest is None else [*read_spending(longest)]
    for name, limit, prefix in limits:
        if limit is None:
            continue
        costs = (entry.total.cost_usd for entry in sessions if entry.session.startswith(prefix))
        spent = sum(filter(None, costs), Decimal(0))
        if spent >= limit:
            raise UserError(
                f"${spent:.2f} of ${limit:.2f} allowed per {name} are spent (max_usd_per_{name} in your "
                "settings). What was spent: coder log cost"
            )
        remaining.append(limit - spent)
    return min(remaining, default=None)
