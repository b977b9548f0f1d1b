def go(x):
    # Round half up, as in the books.
    y = x + 0.5
    return int(y)
