from decimal import Decimal

from coder.models.catalog import ModelChoice, find_list_price


def choice(provider: str, model: str) -> ModelChoice:
    return ModelChoice(provider=provider, model=model, reason="named")


def test_worst_case_cost_counts_input_as_cache_write() -> None:
    model = choice("anthropic", "claude-sonnet-4-5")
    read_cost = find_list_price(model, 10_000, 0)
    write_cost = find_list_price(model, 10_000, 1_000)
    assert read_cost is not None
    assert write_cost is not None
    assert Decimal(0) < read_cost < write_cost
    assert read_cost > Decimal("0.03")  # cost of the same input without any cache write


def test_unlisted_model_has_no_price() -> None:
    assert find_list_price(choice("compatible", "bridge"), 10, 10) is None
