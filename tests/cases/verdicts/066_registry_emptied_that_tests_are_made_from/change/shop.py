PRICES = {}


def total(items):
    return sum(PRICES[item] for item in items)
