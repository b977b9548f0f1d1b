"""Retries of model requests after transient failures, with exponential backoff."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from coder.core.errors import ModelError
from coder.core.messages import Reply


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """Retry policy: number of tries and pauses.

    A retry repeats the whole request, which is safe because no reply is acted on before it is complete.
    """

    tries: int = 5
    first_pause_seconds: float = 1.0
    longest_pause_seconds: float = 60.0
    """If a server asks for a longer pause, the error is reported instead."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random

    def pause_seconds(self, failures: int, asked_seconds: float | None) -> float:
        """Return the seconds before the next try: what the server asked for, or an exponential backoff.

        Both are increased by up to a quarter, so that sessions that failed together do not retry together.
        """
        doubled = min(self.first_pause_seconds * 2.0 ** (failures - 1), self.longest_pause_seconds)
        return (doubled if asked_seconds is None else asked_seconds) * (1.0 + self.chance() / 4)


async def request_with_retries(
    ask: Callable[[], Awaitable[Reply]], *, policy: RetryPolicy, report: Callable[[str], None]
) -> Reply:
    """Ask until there is a reply; `report` is called with one line before each pause.

    Raises:
        ModelError: the failure is permanent, or the tries are exhausted.
    """
    failures = 0
    while True:
        try:
            return await ask()
        except ModelError as error:
            failures += 1
            requested_seconds = error.retry_after_seconds
            if not error.retryable or (
                requested_seconds is not None and requested_seconds > policy.longest_pause_seconds
            ):
                raise
            if failures == policy.tries:
                raise ModelError(
                    f"{error} Tried {failures} times.", retryable=True, retry_after_seconds=requested_seconds
                ) from error
            pause = policy.pause_seconds(failures, requested_seconds)
            report(f"{error} Trying again in {pause:.0f} s.")
        await policy.sleep(pause)
