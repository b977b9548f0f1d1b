"""Polynomials as text."""


def written(coefficients):
    """Such as `x^2 - 3x + 1`, the greatest power first."""
    parts = []
    for power, coefficient in reversed(list(enumerate(coefficients))):
        if coefficient == 0:
            continue
        size = abs(coefficient)
        number = "" if size == 1 and power else str(size)
        variable = "" if power == 0 else "x" if power == 1 else f"x^{power}"
        sign = "-" if coefficient < 0 else "+"
        parts.append((sign, number + variable))
    if not parts:
        return "0"
    first = ("-" if parts[0][0] == "-" else "") + parts[0][1]
    return " ".join([first, *(f"{sign} {part}" for sign, part in parts[1:])])
