import pytest

from words import initials


def test_two_parts():
    assert initials("ada lovelace") == "AL"


def test_two_spaces():
    with pytest.raises(IndexError):
        initials("ada  lovelace")
