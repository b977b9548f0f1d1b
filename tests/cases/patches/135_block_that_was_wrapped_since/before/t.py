def go(x):
    with lock:
        y = x
        z = y
        return z
