import pytest

from store import get


def test_missing_key_is_an_error():
    with pytest.raises(KeyError):
        get({}, "a")


def test_missing_key_has_a_default():
    assert get({}, "a", default=1) == 1
