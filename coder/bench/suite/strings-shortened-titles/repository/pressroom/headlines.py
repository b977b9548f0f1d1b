"""Headlines, ready for the page."""

from pressroom.titles import shorten, title_case


def headline(text: str, *, limit: int = 60, kicker: str = "") -> str:
    """The headline in title case, shortened; a kicker stands in front and does not count."""
    shown = shorten(title_case(text), limit)
    return f"{kicker.upper()}: {shown}" if kicker else shown
