"""Budget of a session: money, tokens, seconds and requests, reserved before and settled after each call."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import TypeVar

from coder.core.errors import LimitReached
from coder.core.messages import Request, Usage, UsageTotals, UserMessage
from coder.core.task import Budget

TOKENS_PER_BYTE = 0.4
"""High estimate for source code; raised after the first reply of a model that counts more."""
IMAGE_TOKENS = 5_000
"""High estimate for one image: providers scale larger ones down to 1,500 to 4,800 tokens."""
MIN_OUTPUT_TOKENS = 256
"""Shortest output limit, in tokens, that is worth a request."""
Price = Callable[[int, int], Decimal | None]
"""Returns the most that (input tokens, output tokens) can cost; None if the price is unknown."""


class Reservation:
    """Upper bound of the cost of one call, held until the call is settled or was never billed."""

    def __init__(
        self, trackers: tuple["BudgetTracker", ...], request: Request, *, role: str, usd: Decimal
    ) -> None:
        self.request = request
        """The request with its output limited to what is left."""
        self.role = role
        self.tokens = trackers[0].estimate_input_tokens(request) + request.max_output_tokens
        self.usd = usd
        self._trackers = trackers
        for tracker in trackers:
            tracker.reservations.append(self)

    def release(self) -> None:
        """Release the reservation of a call that was not billed."""
        for tracker in self._trackers:
            tracker.reservations.remove(self)

    def settle(self, usage: Usage) -> UsageTotals:
        """Record the cost of the call and return the totals of the session."""
        self.release()
        for tracker in self._trackers:
            tracker.record_usage(self, usage)
        return self._trackers[-1].spent


class BudgetTracker:
    """Tracks what was spent and reserved, and refuses a call that could exceed the limits.

    A share is a nested tracker: its spending counts in the whole, and the limits of both hold.
    """

    def __init__(
        self, budget: Budget, clock: Callable[[], float], *, whole: "BudgetTracker | None" = None
    ) -> None:
        self._budget = budget
        self._clock = clock
        self._started = clock()
        self._parent = whole
        self._tokens_per_byte = TOKENS_PER_BYTE
        self._released: asyncio.Event = whole._released if whole else asyncio.Event()
        self._in_progress: list[Reservation] = whole._in_progress if whole else []
        self.reservations: list[Reservation] = []
        """Reservations without a settlement: in progress, or ended with an unknown cost."""
        self.spent = UsageTotals()
        self._known_usd = Decimal(0)
        self.roles: dict[str, UsageTotals] = {}

    @property
    def seconds(self) -> float:
        return self._clock() - self._started

    @property
    def seconds_left(self) -> float | None:
        return None if self._budget.seconds is None else max(0.0, self._budget.seconds - self.seconds)

    @property
    def limits_left(self) -> Budget:
        trackers = [*self._chain()]
        return Budget(
            tokens=_least(tracker._tokens_left() for tracker in trackers),
            usd=_least(tracker._usd_left() for tracker in trackers),
            requests=_least(tracker._requests_left() for tracker in trackers),
            seconds=trackers[-1].seconds_left,
            unpriced=self._budget.unpriced,
        )

    def record_elsewhere(self, usage: Usage, *, role: str) -> UsageTotals:
        """Count a call that a worker elsewhere has paid for, and return the totals of the session."""
        for tracker in self._chain():
            tracker._count(usage, role)
            total = tracker.spent
        return total

    def share(self, parts: int) -> "BudgetTracker":
        """Return a tracker for one of `parts` equal shares of the remaining tokens, money and requests."""
        budget = Budget(
            tokens=None if (tokens := self._tokens_left()) is None else tokens // parts,
            usd=None if (usd := self._usd_left()) is None else usd / parts,
            unpriced=self._budget.unpriced,
            requests=None if (requests := self._requests_left()) is None else -(-requests // parts),
        )
        return BudgetTracker(budget, self._clock, whole=self)

    @asynccontextmanager
    async def reserve(self, request: Request, *, price: Price, role: str) -> AsyncIterator[Reservation]:
        """Reserve the worst case of a request while it is in progress.

        Wait if only the reservations of other calls stand in the way. A reservation that is neither settled
        nor released is kept for good.

        Raises:
            LimitReached: the request could exceed a limit.
        """
        while (output := self._output_limit(request, price)) is None:
            self._released.clear()
            await self._released.wait()
        admitted_request = request.model_copy(update={"max_output_tokens": output})
        usd = price(self.estimate_input_tokens(request), output) or Decimal(0)
        reservation = Reservation(tuple(self._chain()), admitted_request, role=role, usd=usd)
        self._in_progress.append(reservation)
        try:
            yield reservation
        finally:
            self._in_progress.remove(reservation)
            self._released.set()

    def estimate_input_tokens(self, request: Request) -> int:
        parts = (*request.messages, *request.tools)
        texts = [request.system, *(part.model_dump_json(exclude={"images"}) for part in parts)]
        images = sum(len(message.images) for message in request.messages if isinstance(message, UserMessage))
        return images * IMAGE_TOKENS + int(
            sum(len(text.encode("utf-8", "replace")) for text in texts)
            * max(tracker._tokens_per_byte for tracker in self._chain())
        )

    def record_usage(self, reservation: Reservation, usage: Usage) -> None:
        """Add one call to the totals, and adjust the estimate to the model's token count."""
        self._count(usage, reservation.role)
        estimate = self.estimate_input_tokens(reservation.request)
        if usage.input_tokens > estimate > 0:
            self._tokens_per_byte *= usage.input_tokens / estimate

    def _count(self, usage: Usage, role: str) -> None:
        self.spent = self.spent.plus(usage)
        self._known_usd += usage.cost_usd or Decimal(0)
        self.roles[role] = self.roles.get(role, UsageTotals()).plus(usage)

    def _chain(self) -> Iterator["BudgetTracker"]:
        tracker: BudgetTracker | None = self
        while tracker is not None:
            yield tracker
            tracker = tracker._parent

    def _output_limit(self, request: Request, price: Price) -> int | None:
        """Return the output limit of the request; None to wait, since calls in progress may leave more."""
        whole_first = reversed(tuple(self._chain()))  # its error is the one that the user has set
        limits = [limit for tracker in whole_first for limit in tracker._limits(request, price)]
        output, error = min(limits, key=lambda limit: limit[0], default=(request.max_output_tokens, None))
        if output >= request.max_output_tokens or error is None:
            return request.max_output_tokens
        if self._in_progress and not _is_final(error):
            return None
        if output < MIN_OUTPUT_TOKENS:
            raise error
        return output

    def _limits(self, request: Request, price: Price) -> Iterator[tuple[int, LimitReached]]:
        """Yield the most output tokens that each limit of this tracker leaves, with its error."""
        size, budget = self.estimate_input_tokens(request), self._budget
        if budget.seconds is not None and self.seconds >= budget.seconds:
            yield -1, LimitReached("seconds", f"The time limit of {budget.seconds:g} s is reached.")
        if (requests := self._requests_left()) is not None and requests < 1:
            yield 0, LimitReached("requests", f"The limit of {budget.requests} requests is reached.")
        if (tokens := self._tokens_left()) is not None:
            text = f"The next request would go over the limit of {budget.tokens:,} tokens."
            yield tokens - size, LimitReached("tokens", text)
        is_exempt = budget.unpriced and price(size, 0) is None
        if (usd := self._usd_left()) is not None and not is_exempt:
            phrase = budget.usd_phrase or f"the limit of ${budget.usd}"
            yield _affordable_output(size, request.max_output_tokens, usd, price, phrase)

    def _tokens_left(self) -> int | None:
        if self._budget.tokens is None:
            return None
        return (
            self._budget.tokens
            - self.spent.input_tokens
            - self.spent.output_tokens
            - sum(reservation.tokens for reservation in self.reservations)
        )

    def _requests_left(self) -> int | None:
        return (
            None
            if self._budget.requests is None
            else self._budget.requests - self.spent.requests - len(self.reservations)
        )

    def _usd_left(self) -> Decimal | None:
        if self._budget.usd is None:
            return None
        reserved_usd = sum((reservation.usd for reservation in self.reservations), Decimal(0))
        is_known = self.spent.cost_usd is not None or self._budget.unpriced
        return self._budget.usd - reserved_usd - self._known_usd if is_known else Decimal(-1)


def _affordable_output(
    size: int, requested_tokens: int, usd: Decimal, price: Price, phrase: str
) -> tuple[int, LimitReached]:
    """Return the longest output that the money pays for; the price grows linearly with the output.

    `phrase` is the limit as the error names it.
    """
    input_price, full_price = price(size, 0), price(size, requested_tokens)
    if input_price is None or full_price is None:
        return -1, LimitReached(
            "usd",
            f"This model's price is not known, so {phrase} cannot be kept. Add --max-tokens or "
            "--max-requests, which then holds instead, or remove the limit.",
        )
    message = f"The next request could go over {phrase}."
    if full_price <= usd:
        return requested_tokens, LimitReached("usd", message)
    return int(
        requested_tokens * (usd - input_price) / (full_price - input_price)
    ) if input_price < usd and full_price > input_price else 0, LimitReached("usd", message)


N = TypeVar("N", int, Decimal)


def _least(limits: Iterable[N | None]) -> N | None:
    return min((limit for limit in limits if limit is not None), default=None)


def _is_final(error: LimitReached) -> bool:
    """Tell whether waiting cannot help: the time is over or the price is unknown."""
    return error.limit == "seconds" or "not known" in str(error)


class RateLimiter:
    """Limits the number of concurrent requests and verifications."""

    def __init__(self) -> None:
        self.requests = asyncio.Semaphore(4)
        self.verifications = asyncio.Semaphore(max(1, (os.cpu_count() or 1) // 2))
        """Half of the cores, since a suite may use several itself."""
        self._attempts = asyncio.Condition()
        self._in_progress = 0

    @asynccontextmanager
    async def attempt_slot(self, count_left: Callable[[], int]) -> AsyncIterator[bool]:
        """Hold a slot for a verification that may fail: yield False if no attempt is left for it.

        `count_left` counts attempts not yet spent; wait while verifications in progress may spend all of
        them.
        """
        async with self._attempts:
            await self._attempts.wait_for(lambda: count_left() < 1 or self._in_progress < count_left())
            is_granted = count_left() >= 1
            self._in_progress += is_granted
        try:
            yield is_granted
        finally:
            async with self._attempts:
                self._in_progress -= is_granted
                self._attempts.notify_all()
