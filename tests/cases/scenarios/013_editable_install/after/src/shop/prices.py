def net(price, rate):
    """The price without tax; the rate in percent."""
    return price / (1 + rate / 100)
