from shop.prices import net


def total(prices, rate):
    """Sum of the net prices, to cents."""
    return round(sum(net(price, rate) for price in prices), 2)
