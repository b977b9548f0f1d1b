"""Money."""


def check_cents(cents: int) -> int:
    """Return an amount that is not negative."""
    if cents < 0:
        raise ValueError("negative amount")
    return cents
