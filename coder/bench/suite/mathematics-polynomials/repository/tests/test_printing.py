import pytest

from polyroot import Polynomial


@pytest.mark.parametrize(
    ("coefficients", "text"), [([], "0"), ([1], "1"), ([1, -3, 1], "x^2 - 3x + 1"), ([0, -1], "-x"), ([-2, 0, 0, 2], "2x^3 - 2")]
)
def test_written(coefficients, text):
    assert repr(Polynomial(coefficients)) == text
