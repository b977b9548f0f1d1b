"""Words, and what is said of them in a style guide."""

SMALL = frozenset("a an and as at but by for in nor of on or the to up with".split())


def words(text: str) -> list[str]:
    """The words of a text; runs of white space separate."""
    return text.split()


def capitalised(word: str) -> str:
    """The word with a capital first letter; what follows stays as it is."""
    return word[:1].upper() + word[1:]
