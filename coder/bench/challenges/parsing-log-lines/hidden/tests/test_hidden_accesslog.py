import pytest

from accesslog import parse, slowest


def test_path_has_no_query():
    (request,) = parse(["2026-01-01T00:00:00Z DELETE /a/b?x=1&y=2 404 1.5"])
    assert (request.method, request.path, request.status, request.seconds) == ("DELETE", "/a/b", 404, 1.5)


def test_counts_all_lines():
    with pytest.raises(ValueError, match="4"):
        parse(["", "# x", "2026-01-01T00:00:00Z GET / 200 1", "2026-01-01T00:00:00Z GET / ok 1"])


def test_fewer_than_asked_for():
    assert slowest([], 3) == []
