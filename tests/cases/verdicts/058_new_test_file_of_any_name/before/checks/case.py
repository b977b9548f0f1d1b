from slug import slugify


def test_lower():
    assert slugify("A") == "a"
