"""Context windows, and costs of requests with their upper bounds, from the model library's price list."""

from decimal import Decimal

from genai_prices import Usage, calc_price
from genai_prices.types import AbstractUsage, PriceCalculation

from coder.models.catalog import ModelChoice


def find_list_price(choice: ModelChoice, input_tokens: int, output_tokens: int) -> Decimal | None:
    """Return the highest price of a request of this size in US dollars; None if the model is not listed."""
    billings = (
        Usage(input_tokens=input_tokens, output_tokens=output_tokens),
        Usage(input_tokens=input_tokens, cache_write_tokens=input_tokens, output_tokens=output_tokens),
    )
    try:
        return max(
            calc_price(billing, model_ref=choice.model, provider_id=choice.provider).total_price
            for billing in billings
        )
    except (LookupError, ValueError):
        return None


def find_cost(choice: ModelChoice, usage: AbstractUsage) -> Decimal | None:
    """Return the cost of a request by the price that its limit was reserved at; None if it is not listed."""
    try:
        return calc_price(usage, model_ref=choice.model, provider_id=choice.provider).total_price
    except (LookupError, ValueError):
        return None


def find_context_tokens(choice: ModelChoice) -> int | None:
    """Return the size of the model's context window; None if it is not listed."""
    listed = _find_listing(choice)
    return listed.model.context_window if listed else None


def describe_price(choice: ModelChoice) -> str:
    """Describe the context and price of a model, such as `128k tokens, $2.5 in and $10 out per million`."""
    listed = _find_listing(choice)
    if listed is None:
        return "context and price unknown"
    window = listed.model.context_window
    context = f"{window // 1000}k tokens" if window else "context unknown"
    into, out = (f"${(1000 * part).normalize():f}" for part in (listed.input_price, listed.output_price))
    return f"{context}, {into} in and {out} out per million"


def _find_listing(choice: ModelChoice) -> PriceCalculation | None:
    """Return a model's entry, with the price of a thousand tokens each way."""
    try:
        return calc_price(
            Usage(input_tokens=1000, output_tokens=1000), model_ref=choice.model, provider_id=choice.provider
        )
    except (LookupError, ValueError):
        return None
