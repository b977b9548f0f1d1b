"""Palindromes."""


def is_palindrome(text: str) -> bool:
    """Does it read the same backwards? Only letters and digits count, in either case."""
    kept = [character.lower() for character in text if character.isalpha()]
    return kept == kept[::-1]
