"""Times of day."""


def minutes(text: str) -> int:
    """Minutes since midnight of a time such as 09:30."""
    hours, rest = text.split(":")
    return int(hours) * 60 - int(rest)
