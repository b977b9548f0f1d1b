"""`coder log cost`: what sessions have spent."""

import csv
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from coder.core.messages import UsageTotals
    from coder.wiring.spending import SessionSpending

COLUMNS = ("requests", "input tokens", "cached tokens", "output tokens", "usd")


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

    A total without a price contains requests whose price is not known.
    """
    if as_csv:
        csv.writer(sys.stdout).writerows([(by.value, *COLUMNS), *_read_rows(by)])
    else:
        print("\n".join(cost_lines(by)))


def cost_lines(by: Grouping) -> list[str]:
    """Return a table of what all sessions have spent."""
    rows = _read_rows(by)
    if not rows:
        return ["No session has asked a model yet."]
    width = max(len(by.value), *(len(row[0]) for row in rows))
    return [
        "  ".join([f"{first:<{width}}", *(f"{number:>13}" for number in numbers)])
        for first, *numbers in ((by.value, *COLUMNS), *rows)
    ]


def _read_rows(by: Grouping) -> list[tuple[str, ...]]:
    from coder.core.messages import UsageTotals
    from coder.wiring.spending import read_spending

    groups: dict[str, UsageTotals] = {}
    for spending in read_spending():
        for key, totals in _parts(spending, by):
            groups[key] = groups.get(key, UsageTotals()).plus(totals)
    return [(key, *_numbers(totals)) for key, totals in groups.items()]


def _parts(spending: "SessionSpending", by: Grouping) -> "list[tuple[str, UsageTotals]]":
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


def _numbers(totals: "UsageTotals") -> tuple[str, ...]:
    price = "" if totals.cost_usd is None else f"{totals.cost_usd:.4f}"
    counts = (totals.requests, totals.input_tokens, totals.cached_tokens, totals.output_tokens)
    return (*map(str, counts), price)
