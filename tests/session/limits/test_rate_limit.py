import asyncio

import pytest

from coder.session.budget import RateLimiter


@pytest.mark.parametrize(
    ("slots", "limit"),
    [
        (RateLimiter(requests_at_once=2).requests, 2),
        (RateLimiter(verifications_at_once=1).verifications, 1),
    ],
    ids=["requests", "verifications"],
)
async def test_limits_what_runs_at_once(slots: asyncio.Semaphore, limit: int) -> None:
    running = most = 0

    async def work() -> None:
        nonlocal running, most
        async with slots:
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1

    await asyncio.gather(*(work() for _ in range(5)))
    assert most == limit


async def test_running_verifications_never_exceed_attempts_left() -> None:
    pace, spent, most, refused = RateLimiter(), 0, 0, 0

    async def attempt(running: list[int]) -> None:
        nonlocal spent, most, refused
        async with pace.attempt_slot(lambda: 2 - spent) as granted:
            refused += not granted
            if granted:
                running.append(1)
                most = max(most, len(running) + spent)
                await asyncio.sleep(0)
                running.pop()
                spent += 1

    running: list[int] = []
    await asyncio.gather(*(attempt(running) for _ in range(5)))
    assert (spent, most, refused) == (2, 2, 3)
