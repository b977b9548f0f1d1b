"""Addresses of articles."""

import re
import unicodedata

from pressroom.words import SMALL, words


def slug(title: str) -> str:
    """Small letters, digits and hyphens; small words are left out where others remain."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    cleaned = re.sub(r"[^a-z0-9\s-]", "", plain)
    kept = [word for word in words(cleaned.replace("-", " ")) if word not in SMALL]
    return "-".join(kept or words(cleaned))
