from cart import count


def test_count():
    assert count([1, 2]) == 2
