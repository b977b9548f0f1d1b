from app.main import greeting


def test_english():
    assert greeting("Ada") == "Hello, Ada!"
