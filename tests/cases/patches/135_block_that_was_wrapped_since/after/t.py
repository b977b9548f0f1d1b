def go(x):
    with lock:
        y = x
        if y:
            z = y
        return z
