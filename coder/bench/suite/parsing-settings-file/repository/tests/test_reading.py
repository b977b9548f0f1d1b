import pytest

from plainconf import parse
from plainconf.errors import Malformed


def test_sections():
    assert parse("a = 1\n[s]\nb = yes\n") == {"": {"a": 1}, "s": {"b": True}}


def test_comments():
    assert parse("# no\n; no\n\nx = 1.5") == {"": {"x": 1.5}}


def test_malformed():
    with pytest.raises(Malformed) as caught:
        parse("a = 1\nnonsense\n")
    assert caught.value.number == 2
