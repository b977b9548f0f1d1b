"""What a request can cost at most, by the price list that comes with the model library."""

from decimal import Decimal

from genai_prices import Usage, calc_price

from coder.models.catalog import Choice


def listed(choice: Choice, input_tokens: int, output_tokens: int) -> Decimal | None:
    """The dearest way to be billed for a request of this size; None where the list has no such model."""
    ways = (
        Usage(input_tokens=input_tokens, output_tokens=output_tokens),
        Usage(input_tokens=input_tokens, cache_write_tokens=input_tokens, output_tokens=output_tokens),
    )
    try:
        return max(
            calc_price(way, model_ref=choice.model, provider_id=choice.provider).total_price for way in ways
        )
    except (LookupError, ValueError):
        return None
