from web import Client


def test_type():
    assert Client().get('/') > 0
