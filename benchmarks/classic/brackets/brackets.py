"""Are brackets in balance?"""

PAIRS = {")": "(", "]": "[", "}": "{"}


def balanced(text: str) -> bool:
    """Has each bracket its partner, properly nested? Other characters do not matter."""
    open_brackets: list[str] = []
    for character in text:
        if character in PAIRS.values():
            open_brackets.append(character)
        elif character in PAIRS and (not open_brackets or open_brackets.pop() != PAIRS[character]):
            return False
    return True
