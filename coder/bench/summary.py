"""Summary statistics of the outcomes of each strategy and model."""

import math
import statistics
from collections.abc import Iterable, Sequence
from decimal import Decimal

from coder.bench.outcome import Outcome
from coder.core.values.base import Value

Z = 1.959963984540054
"""Quantile of the normal distribution for 95 % intervals."""


class Share(Value):
    """Count out of a total, with Wilson's interval (E. B. Wilson, 1927)."""

    count: int
    of: int
    low: float
    high: float

    @property
    def value(self) -> float:
        return self.count / self.of if self.of else 0.0


class Tokens(Value):
    """Tokens of all runs together."""

    input: int = 0
    cached: int = 0
    output: int = 0


class GroupSummary(Value):
    """Summary of all runs of one strategy with one model."""

    strategy: str
    model: str
    runs: int
    proven: Share
    """Share of the solvable tasks."""
    solved: Share
    """Share of the solvable tasks, by the hidden tests."""
    wrongly_proven: int
    """Count among all runs."""
    left_alone: Share
    """Share of the unsolvable tasks for which nothing was delivered."""
    attempts: float
    """Mean of all runs, like the fields below."""
    requests: float
    usd: Decimal | None
    """None if a price is unknown."""
    seconds: float
    tokens: dict[str, Tokens]
    """Tokens by role."""

    @property
    def label(self) -> str:
        return f"{self.strategy}, {self.model}"


def wilson_interval(count: int, of: int) -> tuple[float, float]:
    """Return Wilson's score interval for a share, from 0 to 1."""
    if of == 0:
        return 0.0, 1.0
    share, square = count / of, Z * Z / of
    middle = (share + square / 2) / (1 + square)
    half = Z * math.sqrt(share * (1 - share) / of + square / (4 * of)) / (1 + square)
    return (max(0.0, middle - half) if count else 0.0), (min(1.0, middle + half) if count < of else 1.0)


def share_of_true(truths: Iterable[bool]) -> Share:
    values = [*truths]
    low, high = wilson_interval(sum(values), len(values))
    return Share(count=sum(values), of=len(values), low=low, high=high)


def summarize_outcomes(outcomes: Sequence[Outcome]) -> tuple[GroupSummary, ...]:
    """Return a summary for each strategy and model, sorted by name."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.job.strategy, outcome.job.model), []).append(outcome)
    return tuple(
        _summarize(*group, outcomes=group_outcomes) for group, group_outcomes in sorted(groups.items())
    )


def _summarize(strategy: str, model: str, *, outcomes: Sequence[Outcome]) -> GroupSummary:
    solvable = [outcome for outcome in outcomes if outcome.solvable]
    prices = [outcome.spent.cost_usd for outcome in outcomes]
    known_prices = [price for price in prices if price is not None]
    return GroupSummary(
        strategy=strategy,
        model=model,
        runs=len(outcomes),
        proven=share_of_true(outcome.proven for outcome in solvable),
        solved=share_of_true(outcome.passes_hidden for outcome in solvable),
        wrongly_proven=sum(outcome.wrongly_proven for outcome in outcomes),
        left_alone=share_of_true(not outcome.delivered for outcome in outcomes if not outcome.solvable),
        attempts=statistics.fmean(outcome.attempts for outcome in outcomes),
        requests=statistics.fmean(outcome.spent.requests for outcome in outcomes),
        usd=sum(known_prices, Decimal(0)) / len(known_prices) if len(known_prices) == len(prices) else None,
        seconds=statistics.fmean(outcome.seconds for outcome in outcomes),
        tokens=_tokens(outcomes),
    )


def _tokens(outcomes: Sequence[Outcome]) -> dict[str, Tokens]:
    tokens: dict[str, Tokens] = {}
    for outcome in outcomes:
        for role, spent in outcome.roles.items():
            previous = tokens.get(role, Tokens())
            tokens[role] = Tokens(
                input=previous.input + spent.input_tokens,
                cached=previous.cached + spent.cached_tokens,
                output=previous.output + spent.output_tokens,
            )
    return dict(sorted(tokens.items()))
