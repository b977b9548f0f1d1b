"""Titles as they are printed."""

from pressroom.words import SMALL, capitalised, words

ELLIPSIS = "…"


def title_case(text: str) -> str:
    """Capitalise all words but small ones; the first and the last are always capitalised."""
    found = words(text)
    last = len(found) - 1
    return " ".join(capitalised(word) if index in (0, last) or word not in SMALL else word for index, word in enumerate(found))


def shorten(text: str, limit: int) -> str:
    """The text in at most `limit` characters: whole words, then an ellipsis where something is left out."""
    if len(text) < limit:
        return text
    kept = ""
    for word in words(text):
        longer = f"{kept} {word}".strip()
        if len(longer) + len(ELLIPSIS) > limit:
            break
        kept = longer
    return kept + ELLIPSIS
