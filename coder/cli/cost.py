"""`coder log cost`: what sessions have spent."""

import csv
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from coder.wiring.spending import SessionSpending, Spending

COLUMNS = ("requests", "input tokens", "cached tokens", "output tokens", "usd", "unpriced requests")


class Grouping(StrEnum):
    """Units by which costs are added up."""

    session = "session"
    day = "day"
    month = "month"
    model = "model"
    role = "role"
    repository = "repository"


def cost(
    by: Annotated[Grouping, typer.Option(help="What to add up by.")] = Grouping.day,
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV instead of a table.")] = False,
) -> None:
    """Add up what all sessions have spent; days and months are those of UTC.

    The price of some requests may not be known: they are counted beside what is known.
    """
    if as_csv:
        csv.writer(sys.stdout).writerows(
            [(by.value, *COLUMNS), *((key, *_counts(spending)) for key, spending in _read_groups(by).items())]
        )
    else:
        print("\n".join(cost_lines(by)))


def cost_lines(by: Grouping) -> list[str]:
    """Return a table of what all sessions have spent."""
    groups = _read_groups(by)
    if not groups:
        return ["No session has asked a model yet."]
    width = max(len(by.value), *map(len, groups))
    rows = ((key, *_counts(spending)[:-2], _describe_cost(spending)) for key, spending in groups.items())
    return [
        "  ".join([f"{first:<{width}}", *(f"{number:>13}" for number in numbers)])
        for first, *numbers in ((by.value, *COLUMNS[:-2], "cost"), *rows)
    ]


def _read_groups(by: Grouping) -> "dict[str, Spending]":
    from coder.wiring.spending import Spending, read_spending

    groups: dict[str, Spending] = {}
    for session in read_spending():
        for key, spending in _parts(session, by):
            groups[key] = groups.get(key, Spending()).plus(spending)
    return groups


def _parts(spending: "SessionSpending", by: Grouping) -> "list[tuple[str, Spending]]":
    """Return what a session adds to each group."""
    day = spending.session[:8]
    match by:
        case Grouping.role:
            return list(spending.roles.items())
        case Grouping.day:
            key = f"{day[:4]}-{day[4:6]}-{day[6:]}"
        case Grouping.month:
            key = f"{day[:4]}-{day[4:6]}"
        case Grouping.session | Grouping.model | Grouping.repository:
            key = str(getattr(spending, by.value))
    return [(key, spending.total)]


def _counts(spending: "Spending") -> tuple[str, ...]:
    totals = spending.totals
    counts = (totals.requests, totals.input_tokens, totals.cached_tokens, totals.output_tokens)
    return (*map(str, counts), f"{spending.known_usd:.4f}", str(spending.unpriced_requests))


def _describe_cost(spending: "Spending") -> str:
    """Return what is known of the cost, and how many requests it leaves out: `$0.12 and 3 unpriced`."""
    unpriced = spending.unpriced_requests
    if not unpriced:
        return f"${spending.known_usd:.4f}"
    known = f"${spending.known_usd:.4f} and " if spending.known_usd else ""
    return f"{known}{unpriced} request{'s' if unpriced > 1 else ''} of unknown price"
