"""One pace for all branches of a session: so many requests at once and a minute, so many verifications at once."""

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

MINUTE = 60.0


class Pace:
    """Lets requests and verifications begin no faster than allowed."""

    def __init__(
        self,
        *,
        requests_at_once: int = 4,
        requests_per_minute: int | None = None,
        verifications_at_once: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Where nothing else is said, half of the cores verify: a suite may use several itself."""
        self._requests = asyncio.Semaphore(requests_at_once)
        self._verifications = asyncio.Semaphore(verifications_at_once or max(1, (os.cpu_count() or 1) // 2))
        self._attempts = asyncio.Condition()
        self._under_way = 0
        self._per_minute = requests_per_minute
        self._clock = clock
        self._sleep = sleep
        self._begun: deque[float] = deque()

    @asynccontextmanager
    async def request(self) -> AsyncIterator[None]:
        """Around each request to a model."""
        async with self._requests:
            while (pause := self._pause()) > 0:
                await self._sleep(pause)
            self._begun.append(self._clock())
            yield

    @asynccontextmanager
    async def verification(self) -> AsyncIterator[None]:
        """Around each verification."""
        async with self._verifications:
            yield

    @asynccontextmanager
    async def attempt(self, left: Callable[[], int]) -> AsyncIterator[bool]:
        """Around each verification that may turn out red: yields False where no attempt is left for it.

        `left` counts those that no verification has spent yet; one waits while those under way may spend them all.
        """
        async with self._attempts:
            await self._attempts.wait_for(lambda: left() < 1 or self._under_way < left())
            granted = left() >= 1
            self._under_way += granted
        try:
            yield granted
        finally:
            async with self._attempts:
                self._under_way -= granted
                self._attempts.notify_all()

    def _pause(self) -> float:
        """Seconds until the next request may begin."""
        now = self._clock()
        while self._begun and now - self._begun[0] >= MINUTE:
            self._begun.popleft()
        if self._per_minute is None or len(self._begun) < self._per_minute:
            return 0.0
        return MINUTE - (now - self._begun[0])
