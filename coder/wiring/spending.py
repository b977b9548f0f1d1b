"""Spending over stored sessions."""

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from coder.core.errors import UserError
from coder.core.events import BudgetSpent, SessionStarted
from coder.core.messages import Usage, UsageTotals
from coder.core.values import Value
from coder.directories import config_directory
from coder.settings import Config
from coder.store.jsonl import list_sessions, read_records


class Spending(Value):
    """Totals of requests, where the price of some of them may not be known."""

    totals: UsageTotals = UsageTotals()
    known_usd: Decimal = Decimal(0)
    """Cost of the requests whose price is known."""
    unpriced_requests: int = 0

    def plus_request(self, usage: Usage) -> "Spending":
        return self.plus(
            Spending(
                totals=UsageTotals().plus(usage),
                known_usd=usage.cost_usd or Decimal(0),
                unpriced_requests=usage.cost_usd is None,
            )
        )

    def plus(self, more: "Spending") -> "Spending":
        return Spending(
            totals=self.totals.plus(more.totals),
            known_usd=self.known_usd + more.known_usd,
            unpriced_requests=self.unpriced_requests + more.unpriced_requests,
        )


class SessionSpending(Value):
    session: str
    """Its id, which begins with the date in UTC: `20261125-`."""
    repository: str
    model: str
    roles: Mapping[str, Spending]
    """Totals by role: executor, planner, reviewer and so on."""
    total: Spending


def read_spending(prefix: str = "") -> Iterator[SessionSpending]:
    """Yield the spending of each session whose id has a prefix, such as a date, oldest first.

    Sessions that asked no model, and logs that cannot be read, are left out.
    """
    for directory in list_sessions():
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
    roles: dict[str, Spending] = {}
    total = Spending()
    for event in spent:
        roles[event.role] = roles.get(event.role, Spending()).plus_request(event.usage)
        total = total.plus_request(event.usage)
    return SessionSpending(
        session=directory.name,
        repository=events[0].repository,
        model=events[0].model,
        roles=roles,
        total=total,
    )


class MoneyLimit(Value):
    """The money that a session may spend, and the limit that leaves it, as a phrase for the user."""

    usd: Decimal
    phrase: str


def find_money_limit(config: Config, now: datetime | None = None) -> MoneyLimit | None:
    """Return the strictest of the limits of this day, this month and the session; None is no limit.

    Raises:
        UserError: a limit is reached.
    """
    now = now or datetime.now(UTC)
    found = []
    if config.max_usd is not None:
        found.append(MoneyLimit(usd=config.max_usd, phrase=f"the limit of ${config.max_usd:f} (max_usd)"))
    limits = (
        ("day", config.max_usd_per_day, f"{now:%Y%m%d}"),
        ("month", config.max_usd_per_month, f"{now:%Y%m}"),
    )
    longest = next((prefix for _, limit, prefix in reversed(limits) if limit is not None), None)
    sessions = [] if longest is None else [*read_spending(longest)]
    for name, limit, prefix in limits:
        if limit is None:
            continue
        costs = (entry.total.known_usd for entry in sessions if entry.session.startswith(prefix))
        spent = sum(costs, Decimal(0))
        origin = _limit_origin(f"max_usd_per_{name}")
        if spent >= limit:
            raise UserError(
                f"${spent:.2f} of ${limit:.2f} allowed per {name} are spent ({origin}). What was spent: "
                "coder log cost"
            )
        rest = f"the {name}'s limit of ${limit:f}, of which ${limit - spent:.4f} is left ({origin})"
        found.append(MoneyLimit(usd=limit - spent, phrase=rest))
    return min(found, key=lambda found_limit: found_limit.usd, default=None)


def _limit_origin(name: str) -> str:
    """Return where the user has set a limit of all sessions, which no option and no repository can."""
    variable = f"CODER_{name.upper()}"
    return variable if os.environ.get(variable) else f"{name} in {config_directory() / 'config.toml'}"
