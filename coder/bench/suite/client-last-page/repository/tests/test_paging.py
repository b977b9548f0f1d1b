from shelfmark.paging import all_items


def test_one_page():
    assert list(all_items(lambda number: (["a", "b"], 1))) == ["a", "b"]


def test_no_items():
    assert list(all_items(lambda number: ([], 0))) == []
