"""Caesar's cipher."""

import string


def shifted(text: str, by: int) -> str:
    """The text with each letter moved along the alphabet; all else stays."""
    return "".join(_shifted(character, by) for character in text)


def _shifted(character: str, by: int) -> str:
    if character not in string.ascii_letters:
        return character
    first = ord("a") if character.islower() else ord("A")
    return chr(first + (ord(character) - first + by))
