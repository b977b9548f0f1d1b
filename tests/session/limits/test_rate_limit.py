import asyncio

from coder.session.budget import RateLimiter


def test_limits_concurrent_requests() -> None:
    pace, running, most = RateLimiter(requests_at_once=2), 0, 0

    async def request() -> None:
        nonlocal running, most
        async with pace.request_slot():
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1

    async def several() -> None:
        await asyncio.gather(*(request() for _ in range(5)))

    asyncio.run(several())
    assert most == 2


def test_request_over_rate_limit_waits_for_oldest() -> None:
    now, slept = [0.0], list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    pace = RateLimiter(requests_per_minute=2, clock=lambda: now[0], sleep=sleep)

    async def several() -> None:
        for _ in range(3):
            async with pace.request_slot():
                now[0] += 10

    asyncio.run(several())
    assert slept == [40.0]


def test_limits_concurrent_verifications() -> None:
    pace, running, most = RateLimiter(verifications_at_once=1), 0, 0

    async def verify() -> None:
        nonlocal running, most
        async with pace.verification_slot():
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1

    async def several() -> None:
        await asyncio.gather(*(verify() for _ in range(3)))

    asyncio.run(several())
    assert most == 1


def test_running_verifications_never_exceed_attempts_left() -> None:
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

    async def scenario() -> None:
        running: list[int] = []
        await asyncio.gather(*(attempt(running) for _ in range(5)))

    asyncio.run(scenario())
    assert (spent, most, refused) == (2, 2, 3)
