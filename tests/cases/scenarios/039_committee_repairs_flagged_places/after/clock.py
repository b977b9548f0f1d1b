"""Times of day."""


def minutes(text: str) -> int:
    """Minutes since midnight of a time such as 09:30."""
    hours, rest = text.split(":")
    return int(hours) * 60 + int(rest.strip())


def hours(text: str) -> int:
    """The hour of a time."""
    return int(text.strip().partition(":")[0])


def written(count: int) -> str:
    """The time so many minutes after midnight."""
    return f"{count // 60}:{count % 60:02}"
