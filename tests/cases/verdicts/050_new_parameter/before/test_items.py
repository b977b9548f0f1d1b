from items import split_items


def test_split_items():
    assert split_items("a,b") == ["a", "b"]
