from fractions import Fraction

import pytest

from fractions_of import approximate, expand


@pytest.mark.parametrize("numerator", range(-12, 13))
@pytest.mark.parametrize("denominator", [1, 2, 7, 9])
def test_terms_lead_back(numerator, denominator):
    value = Fraction(0)
    terms = expand(numerator, denominator)
    value = Fraction(terms[-1])
    for term in reversed(terms[:-1]):
        value = term + 1 / value
    assert value == Fraction(numerator, denominator)


def test_between():
    assert approximate(Fraction(415, 93), 20) == Fraction(58, 13)


def test_zero():
    with pytest.raises(ZeroDivisionError):
        expand(5, 0)
