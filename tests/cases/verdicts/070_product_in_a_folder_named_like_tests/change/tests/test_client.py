from web import Client


def test_type():
    assert Client().get('/') > 0


def test_get():
    assert Client().get('/') == 200
