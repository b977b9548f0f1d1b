def go(x):
    # Round half up, as in the books.
    x = abs(x)
    y = x + 0.5
    return int(y)
