from slug import slugify


def test_spaces():
    assert slugify("a b") == "a-b"
