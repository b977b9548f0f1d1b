import pytest

from matrix_product import identity, product


def test_square():
    assert product([[1, 2], [3, 4]], [[5, 6], [7, 8]]) == [[19, 22], [43, 50]]


def test_identity():
    assert product(identity(3), identity(3)) == identity(3)


def test_to_a_column():
    assert product([[1, 2], [3, 4]], [[1], [1]]) == [[3], [7]]


def test_to_more_columns():
    assert product([[2]], [[1, 2, 3]]) == [[2, 4, 6]]


def test_that_do_not_fit():
    with pytest.raises(ValueError):
        product([[1, 2]], [[1]])
