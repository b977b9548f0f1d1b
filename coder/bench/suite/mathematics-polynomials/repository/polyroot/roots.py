"""Roots by Newton's method."""


class NoRoot(ArithmeticError):
    """No root was found near the place."""


def root(polynomial, near, *, steps=10, precision=1e-12):
    """A root near a place."""
    slope = polynomial.derivative()
    place = near
    for _ in range(steps):
        value = polynomial(place)
        if abs(value) < precision:
            return place
        if slope(place) == 0:
            break
        place -= value / slope(place)
    raise NoRoot(f"no root of {polynomial} near {near}")
