"""Times elsewhere."""

from clock import minutes


def ahead(text: str, by: int) -> int:
    """Minutes since midnight, so many hours to the east."""
    return minutes(text) - by * 60
