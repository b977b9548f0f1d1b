"""Money, tokens, seconds, requests and attempts of a session."""

import asyncio
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coder.core.errors import LimitReached, ModelError
from coder.core.events import Budget
from coder.core.values import Image, Request, Usage, UserMessage
from coder.session.context import IMAGE_TOKENS, BudgetTracker, Price, RateLimiter

REQUEST = Request(system="s", messages=(UserMessage(text="x" * 350),))


def free_price(input_tokens: int, output_tokens: int) -> Decimal:
    return Decimal(0)


def cent_per_thousand(input_tokens: int, output_tokens: int) -> Decimal:
    return Decimal(input_tokens + output_tokens) / 100_000


def unknown_price(input_tokens: int, output_tokens: int) -> Decimal | None:
    return None


def make_purse(budget: Budget, seconds: float = 0.0) -> BudgetTracker:
    moments = iter([0.0, *[seconds] * 100])
    return BudgetTracker(budget, clock=lambda: next(moments))


def make_call(
    purse: BudgetTracker,
    usage: Usage | None = None,
    *,
    price: Price = free_price,
    role: str = "executor",
    request: Request = REQUEST,
) -> Request:
    """Make one call and return the request as it was admitted."""

    async def call() -> Request:
        async with purse.reserve(request, price=price, role=role) as reserved:
            reserved.settle(usage or Usage(cost_usd=Decimal(0)))
            return reserved.request

    return asyncio.run(call())


@pytest.mark.parametrize(
    ("budget", "price", "reason"),
    [
        (Budget(tokens=300), free_price, "300 tokens"),
        (Budget(usd=Decimal("0.001")), cent_per_thousand, r"\$0.001"),
        (Budget(usd=Decimal(1)), unknown_price, "not known"),
    ],
)
def test_refuses_request_that_could_exceed_a_limit(budget: Budget, price: Price, reason: str) -> None:
    with pytest.raises(LimitReached, match=reason):
        make_call(make_purse(budget), price=price)


@pytest.mark.parametrize("budget", [Budget(tokens=2000), Budget(usd=Decimal("0.02"))])
def test_limits_output_to_what_remains(budget: Budget) -> None:
    assert 256 <= make_call(make_purse(budget), price=cent_per_thousand).max_output_tokens < 2000


def test_share_is_part_of_remaining_budget() -> None:
    purse = make_purse(Budget(tokens=60_000))
    make_call(purse.share(2), Usage(output_tokens=20_000))
    assert purse.spent.output_tokens == 20_000
    assert make_call(purse.share(4)).max_output_tokens < 10_000


def test_image_is_estimated_by_number_and_not_by_bytes() -> None:
    purse = BudgetTracker(Budget(), clock=lambda: 0.0)
    image = Image(name="shot.png", media_type="image/png", base64="x" * 1_000_000)
    message = UserMessage(text="See it.")
    without, with_image = (
        purse.estimate_input_tokens(REQUEST.model_copy(update={"messages": (question,)}))
        for question in (message, message.model_copy(update={"images": (image,)}))
    )
    assert with_image == without + IMAGE_TOKENS


async def test_call_that_does_not_fit_waits_for_others() -> None:
    purse = make_purse(Budget(tokens=20_000))
    order: list[str] = []

    async def call(name: str, output: int) -> None:
        async with purse.reserve(REQUEST, price=free_price, role=name) as reserved:
            order.append(f"{name} begins")
            await asyncio.sleep(0)
            order.append(f"{name} ends")
            reserved.settle(Usage(output_tokens=output))

    await asyncio.gather(call("a", 10), call("b", 10))
    assert order == ["a begins", "a ends", "b begins", "b ends"]


CALLS = st.lists(
    st.tuples(
        st.integers(0, 2),  # the branch
        st.integers(10, 4_000),  # bytes of the request
        st.floats(0, 1),  # share of the estimate that is sent
        st.floats(0, 1),  # share of the output that is written
        st.sampled_from(["settled", "failed", "billed and failed", "cancelled"]),
        st.integers(0, 3),  # duration
    ),
    max_size=25,
)


@given(
    calls=CALLS,
    tokens=st.none() | st.integers(500, 60_000),
    cents=st.none() | st.integers(1, 40),
    requests=st.none() | st.integers(1, 12),
    input_price=st.integers(0, 30),
    output_price=st.integers(0, 90),
    shared=st.booleans(),
)
def test_no_limit_is_ever_exceeded(
    calls: list[tuple[int, int, float, float, str, int]],
    tokens: int | None,
    cents: int | None,
    requests: int | None,
    input_price: int,
    output_price: int,
    shared: bool,
) -> None:
    """Run three branches at once, with scripted prices and ends; what was billed is counted here, beside
    the budget.
    """
    budget = Budget(tokens=tokens, usd=None if cents is None else Decimal(cents) / 100, requests=requests)
    whole = BudgetTracker(budget, clock=lambda: 0.0)
    billed = {"tokens": 0, "requests": 0}
    paid = [Decimal(0)]

    def price(input_tokens: int, output_tokens: int) -> Decimal:
        return (Decimal(input_tokens) * input_price + Decimal(output_tokens) * output_price) / 1_000_000

    async def branch(number: int) -> None:
        own = whole.share(3) if shared else whole
        for _, size, sent, written, end, delay in (call for call in calls if call[0] == number):
            request = Request(system="", messages=(UserMessage(text="x" * size),))
            try:
                async with own.reserve(request, price=price, role=f"branch {number}") as reserved:
                    billed["requests"] += end != "failed"
                    for _ in range(delay):
                        await asyncio.sleep(0)
                    real = (
                        int(own.estimate_input_tokens(request) * sent),
                        int(reserved.request.max_output_tokens * written),
                    )
                    usage = Usage(input_tokens=real[0], output_tokens=real[1], cost_usd=price(*real))
                    if end == "failed":
                        reserved.release()
                        raise ModelError("down")
                    billed["tokens"] += sum(real)
                    paid.append(price(*real))
                    if end == "cancelled":
                        raise ModelError("nobody knows what it cost")
                    reserved.settle(usage)
            except ModelError:
                continue
            except LimitReached:
                return

    async def all_branches() -> None:
        await asyncio.gather(*(branch(number) for number in range(3)))

    asyncio.run(all_branches())
    assert tokens is None or billed["tokens"] <= tokens
    assert cents is None or sum(paid) <= Decimal(cents) / 100
    assert requests is None or billed["requests"] <= requests


def test_unknown_price_stops_at_money_limit_with_remedy() -> None:
    budget = Budget(usd=Decimal(1), usd_phrase="the day's limit of $1", requests=1)
    with pytest.raises(LimitReached, match=r"so the day's limit of \$1 cannot be kept. Add --max-tokens"):
        make_call(make_purse(budget), price=unknown_price)


def test_other_limit_stands_in_where_price_is_unknown() -> None:
    purse = make_purse(Budget(usd=Decimal("0.02"), requests=2, unpriced=True))
    make_call(purse, Usage(), price=unknown_price)
    with pytest.raises(LimitReached, match="money"):
        make_call(
            make_purse(Budget(usd=Decimal("0.001"), usd_phrase="the money", unpriced=True)),
            price=cent_per_thousand,
        )
    make_call(purse, Usage(cost_usd=Decimal("0.01")), price=cent_per_thousand)
    with pytest.raises(LimitReached, match="limit of 2 requests"):
        make_call(purse, price=unknown_price)


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
