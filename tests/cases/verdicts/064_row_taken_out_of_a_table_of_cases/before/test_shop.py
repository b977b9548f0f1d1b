import pytest

from shop import total


@pytest.mark.parametrize(('items', 'expected'), [
    (['tea'], 3),
    (['tea', 'cake'], 8),
])
def test_total(items, expected):
    assert total(items) == expected
