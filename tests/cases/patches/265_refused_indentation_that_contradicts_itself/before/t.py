if c:
        d()
    e()
