import pytest

from shop import total


@pytest.mark.parametrize(('items', 'expected'), [
    (['tea'], 3),
    (None, 0),
])
def test_total(items, expected):
    assert total(items) == expected
