def put(items, key, value):
    items[key] = value
    return items


def get(items, key):
    return items[key]
