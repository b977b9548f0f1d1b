def put(items, key, value):
    items[key] = value
    return items


_NONE = object()


def get(items, key, default=_NONE):
    return items[key] if default is _NONE else items.get(key, default)
