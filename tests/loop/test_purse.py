from decimal import Decimal

import pytest

from coder.core.errors import LimitReached
from coder.core.messages import Request, Spent, Usage, UserMessage
from coder.core.task import Budget
from coder.loop.purse import Purse

REQUEST = Request(system="s", messages=(UserMessage(text="x" * 350),))


def purse(budget: Budget, seconds: float = 0.0) -> Purse:
    moments = iter([0.0, *[seconds] * 100])
    return Purse(budget, clock=lambda: next(moments))


def test_counts_what_was_spent() -> None:
    counted = purse(Budget())
    counted.spend(Usage(input_tokens=10, cached_tokens=4, output_tokens=2, cost_usd=Decimal("0.5")))
    total = counted.spend(Usage(input_tokens=1, output_tokens=1, cost_usd=Decimal("0.25")))
    assert total == Spent(requests=2, input_tokens=11, cached_tokens=4, output_tokens=3, cost_usd=Decimal("0.75"))


def test_an_unknown_price_stays_unknown() -> None:
    counted = purse(Budget())
    counted.spend(Usage(cost_usd=None))
    assert counted.spend(Usage(cost_usd=Decimal(1))).cost_usd is None


def test_refuses_the_request_that_could_go_over_the_tokens() -> None:
    with pytest.raises(LimitReached, match="300 tokens"):
        purse(Budget(tokens=300)).admit(REQUEST)


def test_limits_the_output_to_what_is_left() -> None:
    admitted = purse(Budget(tokens=2000)).admit(REQUEST)
    assert 256 <= admitted.max_output_tokens < 2000


def test_refuses_when_the_next_request_could_go_over_the_money() -> None:
    counted = purse(Budget(usd=Decimal("1.0")))
    counted.admit(REQUEST)
    counted.spend(Usage(cost_usd=Decimal("0.5")))
    with pytest.raises(LimitReached, match=r"\$1.0"):
        counted.admit(REQUEST)


def test_a_money_limit_needs_a_known_price() -> None:
    counted = purse(Budget(usd=Decimal(1)))
    counted.spend(Usage(cost_usd=None))
    with pytest.raises(LimitReached, match="not known"):
        counted.admit(REQUEST)


def test_refuses_after_the_time() -> None:
    late = purse(Budget(seconds=5), seconds=6.0)
    with pytest.raises(LimitReached, match="5 s"):
        late.admit(REQUEST)
    assert late.seconds_left == 0.0
