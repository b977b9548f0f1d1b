import pytest

from binary_search import binary_search

PRIMES = [2, 3, 5, 7, 11, 13, 17]


def test_absent():
    assert binary_search(PRIMES, 4) == -1
    assert binary_search([], 1) == -1


def test_middle():
    assert binary_search(PRIMES, 7) == 3


@pytest.mark.parametrize("index", range(len(PRIMES)))
def test_each(index):
    assert binary_search(PRIMES, PRIMES[index]) == index


def test_alone():
    assert binary_search([5], 5) == 0
