def join_items(items):
    return ",".join(items)
