import pytest
from catalogue import serving, some

from shelfmark import Client


@pytest.mark.parametrize(("count", "requests"), [(0, 1), (10, 1), (11, 2), (20, 2), (25, 3)])
def test_all_books(count, requests):
    with serving(some(count)) as (address, asked):
        assert [book.id for book in Client(address).books()] == list(range(1, count + 1))
        assert len(asked) == requests


def test_of_an_author():
    with serving(some(15, "Ada") + some(3, "Ben")) as (address, _):
        assert len(list(Client(address).books(author="Ada"))) == 15
