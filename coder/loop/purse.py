"""One purse for a whole session: money, tokens and seconds, checked before each call."""

from collections.abc import Callable
from decimal import Decimal

from coder.core.errors import LimitReached
from coder.core.messages import Request, Spent, Usage
from coder.core.task import Budget

CHARACTERS_PER_TOKEN = 3.5
"""A low guess for source code, so that the estimate of a request is rather too big."""


class Purse:
    """Counts what was spent and refuses the call that could overspend."""

    def __init__(self, budget: Budget, clock: Callable[[], float]) -> None:
        self._budget = budget
        self._clock = clock
        self._started = clock()
        self._dearest = Decimal(0)
        self.spent = Spent()

    @property
    def seconds(self) -> float:
        """Since the purse was opened."""
        return self._clock() - self._started

    @property
    def seconds_left(self) -> float | None:
        return None if self._budget.seconds is None else max(0.0, self._budget.seconds - self.seconds)

    def admit(self, request: Request) -> Request:
        """The request, its output limited to what is left.

        Raises:
            LimitReached: it could go over a limit.
        """
        if self._budget.seconds is not None and self.seconds >= self._budget.seconds:
            raise LimitReached("seconds", f"The time limit of {self._budget.seconds:g} s is reached.")
        self._admit_money()
        if self._budget.tokens is None:
            return request
        left = self._budget.tokens - self.spent.input_tokens - self.spent.output_tokens - estimate(request)
        if left < 256:
            raise LimitReached("tokens", f"The next request would go over the limit of {self._budget.tokens:,} tokens.")
        return request.model_copy(update={"max_output_tokens": min(request.max_output_tokens, left)})

    def _admit_money(self) -> None:
        if self._budget.usd is None:
            return
        if self.spent.cost_usd is None:
            raise LimitReached("usd", "This model's price is not known, so the money limit cannot be kept. Use --max-tokens instead.")
        if self.spent.cost_usd + self._dearest >= self._budget.usd:
            raise LimitReached("usd", f"The next request could go over the limit of ${self._budget.usd}.")

    def spend(self, usage: Usage) -> Spent:
        """Count one request and return the totals."""
        known = self.spent.cost_usd is not None and usage.cost_usd is not None
        self._dearest = max(self._dearest, usage.cost_usd or Decimal(0))
        self.spent = Spent(
            requests=self.spent.requests + 1,
            input_tokens=self.spent.input_tokens + usage.input_tokens,
            cached_tokens=self.spent.cached_tokens + usage.cached_tokens,
            output_tokens=self.spent.output_tokens + usage.output_tokens,
            cost_usd=(self.spent.cost_usd or Decimal(0)) + (usage.cost_usd or Decimal(0)) if known else None,
        )
        return self.spent


def estimate(request: Request) -> int:
    """Tokens that a request will probably cost to send."""
    characters = len(request.system) + sum(len(message.model_dump_json()) for message in request.messages)
    return int((characters + sum(len(tool.model_dump_json()) for tool in request.tools)) / CHARACTERS_PER_TOKEN)
