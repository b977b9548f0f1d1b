"""Prices of a small shop."""

PRICES = {"tea": 3, "cake": 5}


def total(items):
    """The sum of what the items cost."""
    return sum(PRICES[item] for item in items)


def cheapest(items):
    return min(items, key=PRICES.get)


def mean(items):
    return total(items) / len(items)
