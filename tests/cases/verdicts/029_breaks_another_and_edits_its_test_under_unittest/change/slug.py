def slug(title):
    return title.lower().replace(" ", "-")


def shorten(text, most):
    return text[: most + 1]
