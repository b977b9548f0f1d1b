"""Rate limits shared by all branches of a session, for requests and for verifications."""

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

MINUTE = 60.0


class RateLimiter:
    """Limits the rate of requests and the number of concurrent verifications."""

    def __init__(
        self,
        *,
        requests_at_once: int = 4,
        requests_per_minute: int | None = None,
        verifications_at_once: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Default to half of the cores for verifications, since a suite may use several cores itself."""
        self._requests = asyncio.Semaphore(requests_at_once)
        self._verifications = asyncio.Semaphore(verifications_at_once or max(1, (os.cpu_count() or 1) // 2))
        self._attempts = asyncio.Condition()
        self._in_progress = 0
        self._per_minute = requests_per_minute
        self._clock = clock
        self._sleep = sleep
        self._start_times: deque[float] = deque()

    @asynccontextmanager
    async def request_slot(self) -> AsyncIterator[None]:
        """Hold a slot for one request to a model."""
        async with self._requests:
            while (pause := self._seconds_to_wait()) > 0:
                await self._sleep(pause)
            self._start_times.append(self._clock())
            yield

    @asynccontextmanager
    async def verification_slot(self) -> AsyncIterator[None]:
        """Hold a slot for one verification."""
        async with self._verifications:
            yield

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

    def _seconds_to_wait(self) -> float:
        """Return the seconds until the next request may begin."""
        now = self._clock()
        while self._start_times and now - self._start_times[0] >= MINUTE:
            self._start_times.popleft()
        if self._per_minute is None or len(self._start_times) < self._per_minute:
            return 0.0
        return MINUTE - (now - self._start_times[0])
