import asyncio

from coder.session.budget import RateLimiter


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
