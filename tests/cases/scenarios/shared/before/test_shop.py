from shop import logo, total


def test_sum():
    assert total([10, 20]) == 30


def test_percentage():
    assert total([200], 10) == 180


def test_sign():
    assert logo() == "S"
