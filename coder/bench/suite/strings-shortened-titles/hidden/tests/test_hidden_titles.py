import pytest

from pressroom import headline
from pressroom.titles import shorten

TITLE = "Autumn in the harbor"


def test_exactly_as_long():
    assert shorten(TITLE, len(TITLE)) == TITLE


@pytest.mark.parametrize("limit", range(1, 40))
def test_never_longer_than_the_limit(limit):
    assert len(shorten(TITLE, limit)) <= limit


def test_one_less():
    assert shorten(TITLE, len(TITLE) - 1) == "Autumn in the…"


def test_headline():
    assert headline("rain", limit=4) == "Rain"
