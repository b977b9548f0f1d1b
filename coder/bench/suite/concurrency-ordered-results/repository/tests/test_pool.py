import pytest

from crew import JobFailed, Pool


def test_one_thread():
    assert Pool(1).map(str.upper, "abc") == ["A", "B", "C"]


def test_nothing_to_do():
    assert Pool(3).map(str, []) == []


def test_never_more_than_the_limit():
    pool = Pool(2)
    pool.map(lambda item: sum(range(1000)), range(20))
    assert pool.running.peak <= 2
    assert pool.running.value == 0


def test_a_failure_is_told():
    with pytest.raises(JobFailed, match="by zero"):
        Pool(2).map(lambda item: 1 / item, [1, 0])


def test_no_threads():
    with pytest.raises(ValueError):
        Pool(0)
