import pytest

from listing import fetch_all


def test_last_page_without_next():
    assert fetch_all(lambda path: {"items": [{"p": path}]}, "/x") == [{"p": "/x"}]


def test_attempts_count_for_each_page():
    calls = []

    def get(path):
        calls.append(path)
        if calls.count(path) == 1:
            raise ConnectionError
        return {"items": [1], "next": "/b" if path == "/a" else None}

    assert fetch_all(get, "/a", attempts=2) == [1, 1]


def test_longer_loops():
    pages = {"/a": {"items": [], "next": "/b"}, "/b": {"items": [], "next": "/a"}}
    with pytest.raises(ValueError):
        fetch_all(pages.__getitem__, "/a")
