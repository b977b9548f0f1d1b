from joining import join_items


def test_join_items():
    assert join_items(["a", "b"]) == "a,b"


def test_join_nothing():
    assert join_items([]) == ""
