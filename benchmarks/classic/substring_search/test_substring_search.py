import pytest

from substring_search import borders, find


def test_no_pattern():
    assert find("abc", "") == 0


def test_absent():
    assert find("abc", "d") == -1


@pytest.mark.parametrize(("text", "pattern"), [("hello world", "world"), ("aaab", "aab"), ("abcabd", "abd")])
def test_found(text, pattern):
    assert find(text, pattern) == text.index(pattern)


def test_borders():
    assert borders("aaaa") == [0, 1, 2, 3]
    assert borders("abcd") == [0, 0, 0, 0]


def test_borders_fall_back():
    assert borders("aabaaa") == [0, 1, 0, 1, 2, 2]
