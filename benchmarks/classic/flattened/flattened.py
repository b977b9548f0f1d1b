"""Nested lists made flat."""


def flattened(items):
    """All that is not a list, in order, however deep it lies."""
    found = []
    for item in items:
        if isinstance(item, list):
            found.append(flattened(item))
        else:
            found.append(item)
    return found


def depth(items):
    """1 for a list that holds no list."""
    return 1 + max((depth(item) for item in items if isinstance(item, list)), default=0)
