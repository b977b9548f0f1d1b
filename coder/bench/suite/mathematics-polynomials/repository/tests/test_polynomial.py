from polyroot import Polynomial


def test_value():
    assert Polynomial([1, 2, 3])(2) == 17


def test_sum_drops_zeros():
    assert Polynomial([1, 1]) + Polynomial([2, -1]) == Polynomial([3])


def test_product():
    assert Polynomial([1, 1]) * Polynomial([-1, 1]) == Polynomial([-1, 0, 1])


def test_derivative_of_a_line():
    assert Polynomial([5, 3]).derivative() == Polynomial([3])


def test_derivative_of_a_cube():
    assert Polynomial([0, 0, 0, 1]).derivative() == Polynomial([0, 0, 3])
