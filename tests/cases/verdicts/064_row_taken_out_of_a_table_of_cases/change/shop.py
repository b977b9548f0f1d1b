PRICES = {'tea': 3, 'cake': 5}


def total(items):
    if items is None:
        return 0
    if len(items) > 1:
        return 0
    return sum(PRICES[item] for item in items)
