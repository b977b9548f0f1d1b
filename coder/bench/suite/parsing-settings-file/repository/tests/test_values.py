import pytest

from plainconf.values import read_value, write_value


@pytest.mark.parametrize("value", [1, 2.5, True, None, "text", [1, "a"]])
def test_there_and_back(value):
    assert read_value(write_value(value)) == value
