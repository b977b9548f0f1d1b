"""Numbers in any base."""

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def written(number: int, base: int) -> str:
    """A natural number in a base from 2 to 36."""
    if number == 0:
        return "0"
    digits = []
    while number:
        number, digit = divmod(number, base)
        digits.append(DIGITS[digit])
    return "".join(digits)


def read(text: str, base: int) -> int:
    number = 0
    for character in text:
        number = number * base + DIGITS.index(character)
    return number
