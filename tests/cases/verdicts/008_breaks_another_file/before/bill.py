from shop import total


def bill(items):
    return f"{total(items) + 1} with service"
