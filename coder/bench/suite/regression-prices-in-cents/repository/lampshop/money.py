"""Amounts in cents."""

from decimal import ROUND_HALF_UP, Decimal


def cents(text):
    """Whole cents of an amount such as `12.50`."""
    return int((Decimal(text) * 100).quantize(Decimal(1), rounding=ROUND_HALF_UP))


def written(amount):
    """Cents as an amount such as `12.50`."""
    sign = "-" if amount < 0 else ""
    return f"{sign}{abs(amount) // 100}.{abs(amount) % 100:02}"
