"""Receipts for the till."""

from lampshop.money import written


def receipt(cart, paid):
    """What was paid and what is given back, both in cents."""
    change = paid - cart.total()
    if change < 0:
        raise ValueError(f"{written(-change)} is missing")
    return f"Paid {written(paid)}, change {written(change)}"
