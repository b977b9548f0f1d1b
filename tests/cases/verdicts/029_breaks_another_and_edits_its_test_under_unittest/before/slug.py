def slug(title):
    return title.lower().replace(" ", "-", 1)


def shorten(text, most):
    return text[:most]
