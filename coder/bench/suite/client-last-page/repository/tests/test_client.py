import pytest
from catalogue import serving, some

from shelfmark import Client
from shelfmark.errors import NotFound


def test_one_book():
    with serving(some(3)) as (address, _):
        assert Client(address).book(2).title == "Volume 2"


def test_no_such_book():
    with serving([]) as (address, _), pytest.raises(NotFound):
        Client(address).book(7)


def test_a_listing_of_one_page():
    with serving(some(4)) as (address, asked):
        assert len(list(Client(address).books())) == 4
        assert len(asked) == 1
