"""One purse for a whole session: money, tokens, seconds and requests, reserved before each call and settled after it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from decimal import Decimal

from coder.core.errors import LimitReached
from coder.core.messages import Request, Spent, Usage
from coder.core.values.task import Budget

TOKENS_PER_BYTE = 0.4
"""A high guess for source code; a model that counts more is believed from its first reply on."""
LEAST_OUTPUT = 256
"""A reply that may be no longer than this is not worth asking for."""

Price = Callable[[int, int], Decimal | None]
"""The most that (input tokens, output tokens) can cost; None where that is not known."""


class Reservation:
    """What one call may cost at most; it ends when the call is settled, or was never billed."""

    def __init__(self, purses: tuple["Purse", ...], request: Request, *, role: str, usd: Decimal) -> None:
        self.request = request
        """Its output limited to what is left."""
        self.role = role
        self.tokens = purses[0].estimate(request) + request.max_output_tokens
        self.usd = usd
        self._purses = purses
        for purse in purses:
            purse.held.append(self)

    def release(self) -> None:
        """Nothing was billed."""
        for purse in self._purses:
            purse.held.remove(self)

    def settle(self, usage: Usage) -> Spent:
        """Count what it cost and return the totals of the session."""
        self.release()
        for purse in self._purses:
            purse.count(self, usage)
        return self._purses[-1].spent


class Purse:
    """Counts what was spent, holds what is under way, and refuses the call that could overspend.

    A share is a purse within a purse: what is spent from it is spent from the whole, and the limits of both hold.
    """

    def __init__(self, budget: Budget, clock: Callable[[], float], *, whole: "Purse | None" = None) -> None:
        self._budget = budget
        self._clock = clock
        self._started = clock()
        self._whole = whole
        self._tokens_per_byte = TOKENS_PER_BYTE
        self._freed: asyncio.Event = whole._freed if whole else asyncio.Event()
        self._under_way: list[Reservation] = whole._under_way if whole else []
        self.held: list[Reservation] = []
        """Not settled: under way, or ended so that nobody knows what they cost."""
        self.spent = Spent()
        self.roles: dict[str, Spent] = {}

    @property
    def seconds(self) -> float:
        """Since the purse was opened."""
        return self._clock() - self._started

    @property
    def seconds_left(self) -> float | None:
        return None if self._budget.seconds is None else max(0.0, self._budget.seconds - self.seconds)

    def share(self, parts: int) -> "Purse":
        """A purse with one of so many equal parts of what is left of tokens, money and requests."""
        budget = Budget(
            tokens=None if (tokens := self._tokens_left()) is None else tokens // parts,
            usd=None if (usd := self._usd_left()) is None else usd / parts,
            requests=None if (requests := self._requests_left()) is None else -(-requests // parts),
        )
        return Purse(budget, self._clock, whole=self)

    @asynccontextmanager
    async def reserved(self, request: Request, *, price: Price, role: str) -> AsyncIterator[Reservation]:
        """Hold the worst case of a request while it is under way.

        Waits where only what others hold stands in the way. What is neither settled nor released stays held for good.

        Raises:
            LimitReached: it could go over a limit.
        """
        while (output := self._output(request, price)) is None:
            self._freed.clear()
            await self._freed.wait()
        admitted = request.model_copy(update={"max_output_tokens": output})
        usd = price(self.estimate(request), output) or Decimal(0)
        reservation = Reservation(tuple(self._chain()), admitted, role=role, usd=usd)
        self._under_way.append(reservation)
        try:
            yield reservation
        finally:
            self._under_way.remove(reservation)
            self._freed.set()

    def estimate(self, request: Request) -> int:
        """Tokens that a request costs to send, rather too many."""
        texts = [request.system, *(part.model_dump_json() for part in (*request.messages, *request.tools))]
        return int(
            sum(len(text.encode("utf-8", "replace")) for text in texts)
            * max(purse._tokens_per_byte for purse in self._chain())
        )

    def count(self, reservation: Reservation, usage: Usage) -> None:
        """Add one call to the totals, and learn from it how the model counts."""
        self.spent = _plus(self.spent, usage)
        self.roles[reservation.role] = _plus(self.roles.get(reservation.role, Spent()), usage)
        guessed = self.estimate(reservation.request)
        if usage.input_tokens > guessed > 0:
            self._tokens_per_byte *= usage.input_tokens / guessed

    def _chain(self) -> Iterator["Purse"]:
        purse: Purse | None = self
        while purse is not None:
            yield purse
            purse = purse._whole

    def _output(self, request: Request, price: Price) -> int | None:
        """How long the reply may be; None: wait, for what is under way may leave more."""
        limits = [purse._room(request, price) for purse in self._chain()]
        output, error = min(limits, key=lambda limit: limit[0])
        if output < request.max_output_tokens and self._under_way and not _final(error):
            return None
        if output < LEAST_OUTPUT and error is not None:
            raise error
        return output

    def _room(self, request: Request, price: Price) -> tuple[int, LimitReached | None]:
        """The longest reply within this purse's own limits, and what stands in the way of a longer one."""
        size, wanted, budget = self.estimate(request), request.max_output_tokens, self._budget
        rooms: list[tuple[int, LimitReached | None]] = [(wanted, None)]
        if budget.seconds is not None and self.seconds >= budget.seconds:
            rooms.append((-1, LimitReached("seconds", f"The time limit of {budget.seconds:g} s is reached.")))
        if (requests := self._requests_left()) is not None and requests < 1:
            rooms.append(
                (0, LimitReached("requests", f"The limit of {budget.requests} requests is reached."))
            )
        if (tokens := self._tokens_left()) is not None:
            text = f"The next request would go over the limit of {budget.tokens:,} tokens."
            rooms.append((min(wanted, tokens - size), LimitReached("tokens", text)))
        if (usd := self._usd_left()) is not None:
            rooms.append(
                _affordable(
                    size, wanted, usd, price, f"The next request could go over the limit of ${budget.usd}."
                )
            )
        return min(rooms, key=lambda room: room[0])

    def _tokens_left(self) -> int | None:
        if self._budget.tokens is None:
            return None
        return (
            self._budget.tokens
            - self.spent.input_tokens
            - self.spent.output_tokens
            - sum(held.tokens for held in self.held)
        )

    def _requests_left(self) -> int | None:
        return (
            None
            if self._budget.requests is None
            else self._budget.requests - self.spent.requests - len(self.held)
        )

    def _usd_left(self) -> Decimal | None:
        if self._budget.usd is None:
            return None
        held = sum((held.usd for held in self.held), Decimal(0))
        return (
            self._budget.usd - held - self.spent.cost_usd if self.spent.cost_usd is not None else Decimal(-1)
        )


def _affordable(size: int, wanted: int, usd: Decimal, price: Price, text: str) -> tuple[int, LimitReached]:
    """The longest reply that the money is enough for; the price of a reply grows evenly with its length."""
    sent, whole = price(size, 0), price(size, wanted)
    if sent is None or whole is None:
        return -1, LimitReached(
            "usd",
            "This model's price is not known, so the money limit cannot be kept. Use --max-tokens instead.",
        )
    if whole <= usd:
        return wanted, LimitReached("usd", text)
    return int(wanted * (usd - sent) / (whole - sent)) if sent < usd and whole > sent else 0, LimitReached(
        "usd", text
    )


def _final(error: LimitReached | None) -> bool:
    """Waiting for others helps against neither time nor an unknown price."""
    return error is not None and (error.limit == "seconds" or "not known" in str(error))


def _plus(spent: Spent, usage: Usage) -> Spent:
    known = spent.cost_usd is not None and usage.cost_usd is not None
    return Spent(
        requests=spent.requests + 1,
        input_tokens=spent.input_tokens + usage.input_tokens,
        cached_tokens=spent.cached_tokens + usage.cached_tokens,
        output_tokens=spent.output_tokens + usage.output_tokens,
        cost_usd=(spent.cost_usd or Decimal(0)) + (usage.cost_usd or Decimal(0)) if known else None,
    )
