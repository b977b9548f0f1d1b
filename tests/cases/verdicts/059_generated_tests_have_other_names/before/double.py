def double(n):
    return abs(n) * 2
