import pytest

from polyroot import Polynomial, root


@pytest.mark.parametrize(
    ("coefficients", "derived"),
    [([], []), ([4], []), ([1, 2], [2]), ([1, 2, 3], [2, 6]), ([0, 0, 0, 1], [0, 0, 3]), ([7, 0, 5, 0, 2], [0, 10, 0, 8])],
)
def test_derivative(coefficients, derived):
    assert Polynomial(coefficients).derivative() == Polynomial(derived)


@pytest.mark.parametrize(("power", "near"), [(2, 1.0), (3, 1.0), (5, 1.2)])
def test_roots_of_two(power, near):
    found = root(Polynomial([-2] + [0] * (power - 1) + [1]), near=near)
    assert found == pytest.approx(2 ** (1 / power))
