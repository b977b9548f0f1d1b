"""What the outcomes of one strategy with one model come to."""

import math
import statistics
from collections.abc import Iterable, Sequence
from decimal import Decimal

from coder.bench.outcome import Outcome
from coder.core.values.base import Value

Z = 1.959963984540054
"""For intervals that hold the true share in 95 of 100 cases."""


class Share(Value):
    """How many of how many, with Wilson's interval (E. B. Wilson, 1927)."""

    count: int
    of: int
    low: float
    high: float

    @property
    def value(self) -> float:
        return self.count / self.of if self.of else 0.0


class Tokens(Value):
    """Of all runs together."""

    input: int = 0
    cached: int = 0
    output: int = 0


class Sums(Value):
    """What one strategy did with one model."""

    strategy: str
    model: str
    runs: int
    proven: Share
    """Of the tasks that can be solved."""
    solved: Share
    """Of the same, by the hidden tests."""
    wrongly_proven: int
    """Of all runs."""
    left_alone: Share
    """Of the tasks that cannot be solved: nothing was delivered."""
    attempts: float
    """As a mean, like those below."""
    requests: float
    usd: Decimal | None
    """None where a price is not known."""
    seconds: float
    tokens: dict[str, Tokens]
    """By role."""

    @property
    def label(self) -> str:
        return f"{self.strategy}, {self.model}"


def wilson(count: int, of: int) -> tuple[float, float]:
    """Wilson's score interval for a share, from 0 to 1."""
    if of == 0:
        return 0.0, 1.0
    share, square = count / of, Z * Z / of
    middle = (share + square / 2) / (1 + square)
    half = Z * math.sqrt(share * (1 - share) / of + square / (4 * of)) / (1 + square)
    return (max(0.0, middle - half) if count else 0.0), (min(1.0, middle + half) if count < of else 1.0)


def share(truths: Iterable[bool]) -> Share:
    found = [*truths]
    low, high = wilson(sum(found), len(found))
    return Share(count=sum(found), of=len(found), low=low, high=high)


def sums(outcomes: Sequence[Outcome]) -> tuple[Sums, ...]:
    """One for each strategy and model, in the order of their names."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.job.strategy, outcome.job.model), []).append(outcome)
    return tuple(_summed(*group, outcomes=found) for group, found in sorted(groups.items()))


def _summed(strategy: str, model: str, *, outcomes: Sequence[Outcome]) -> Sums:
    solvable = [outcome for outcome in outcomes if outcome.solvable]
    prices = [outcome.spent.cost_usd for outcome in outcomes]
    known = [price for price in prices if price is not None]
    return Sums(
        strategy=strategy,
        model=model,
        runs=len(outcomes),
        proven=share(item.proven for item in solvable),
        solved=share(item.passes_hidden for item in solvable),
        wrongly_proven=sum(outcome.wrongly_proven for outcome in outcomes),
        left_alone=share(not outcome.delivered for outcome in outcomes if not outcome.solvable),
        attempts=statistics.fmean(outcome.attempts for outcome in outcomes),
        requests=statistics.fmean(outcome.spent.requests for outcome in outcomes),
        usd=sum(known, Decimal(0)) / len(known) if len(known) == len(prices) else None,
        seconds=statistics.fmean(outcome.seconds for outcome in outcomes),
        tokens=_tokens(outcomes),
    )


def _tokens(outcomes: Sequence[Outcome]) -> dict[str, Tokens]:
    found: dict[str, Tokens] = {}
    for outcome in outcomes:
        for role, spent in outcome.roles.items():
            so_far = found.get(role, Tokens())
            found[role] = Tokens(
                input=so_far.input + spent.input_tokens,
                cached=so_far.cached + spent.cached_tokens,
                output=so_far.output + spent.output_tokens,
            )
    return dict(sorted(found.items()))
