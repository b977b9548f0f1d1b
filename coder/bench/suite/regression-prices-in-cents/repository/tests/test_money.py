import pytest

from lampshop.money import cents, written


@pytest.mark.parametrize("text", ["0.00", "2.95", "40.00", "-1.05"])
def test_there_and_back(text):
    assert written(cents(text)) == text
