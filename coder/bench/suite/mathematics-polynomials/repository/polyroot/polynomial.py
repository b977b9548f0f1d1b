"""Polynomials as lists of coefficients."""

from itertools import zip_longest

from polyroot.printing import written


class Polynomial:
    """Coefficients by power, the constant first; zeros at the end are dropped."""

    def __init__(self, coefficients):
        kept = list(coefficients)
        while kept and kept[-1] == 0:
            kept.pop()
        self.coefficients = tuple(kept)

    @property
    def degree(self):
        return len(self.coefficients) - 1

    def __call__(self, value):
        result = 0
        for coefficient in reversed(self.coefficients):
            result = result * value + coefficient
        return result

    def __eq__(self, other):
        return isinstance(other, Polynomial) and self.coefficients == other.coefficients

    def __hash__(self):
        return hash(self.coefficients)

    def __add__(self, other):
        return Polynomial(one + another for one, another in zip_longest(self.coefficients, other.coefficients, fillvalue=0))

    def __mul__(self, other):
        product = [0] * (len(self.coefficients) + len(other.coefficients))
        for power, coefficient in enumerate(self.coefficients):
            for other_power, other_coefficient in enumerate(other.coefficients):
                product[power + other_power] += coefficient * other_coefficient
        return Polynomial(product)

    def derivative(self):
        """The first derivative."""
        return Polynomial(max(1, power) * coefficient for power, coefficient in enumerate(self.coefficients[1:]))

    def __repr__(self):
        return written(self.coefficients)
