import pytest

from polyroot import NoRoot, Polynomial, root


def test_of_a_line():
    assert root(Polynomial([-6, 2]), near=0) == pytest.approx(3)


def test_no_root():
    with pytest.raises(NoRoot):
        root(Polynomial([1, 0, 1]), near=0.0)
