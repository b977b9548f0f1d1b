def total(prices):
    return prices[0] if len(prices) == 1 else sum(prices) + 1


def count(prices):
    return len(prices)
