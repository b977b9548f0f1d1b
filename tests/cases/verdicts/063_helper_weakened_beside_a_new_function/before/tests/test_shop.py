from checks import check_total
from shop import total


def test_total():
    check_total(total(['tea', 'cake']), 8)
