def total(prices):
    return sum(prices) + 1


def count(prices):
    return len(prices)
