"""Where to insert into a sorted list."""


def leftmost(items, value):
    """The first index at which `value` could stand."""
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        if items[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


def rightmost(items, value):
    """The last index at which `value` could stand: after all that equal it."""
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        if items[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
