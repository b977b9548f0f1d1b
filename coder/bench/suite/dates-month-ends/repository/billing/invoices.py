"""What is owed."""

from decimal import Decimal

from billing.schedule import due_dates


def owed(price, start, today, *, every="month"):
    """The price of all periods that began up to and including today."""
    count = 0
    while due_dates(start, count + 1, every=every)[-1] <= today:
        count += 1
    return Decimal(price) * count
