import pytest

from spool.queue import Empty, TaskQueue


def queue_of(**tasks):
    queue = TaskQueue()
    for task, priority in tasks.items():
        queue.add(task, priority)
    return queue


def test_smallest_first():
    assert queue_of(late=5, early=1).pop() == "early"


def test_equal_in_their_order():
    queue = queue_of(first=1, second=1)
    assert [queue.pop(), queue.pop()] == ["first", "second"]


def test_empty():
    with pytest.raises(Empty):
        TaskQueue().pop()


def test_put_off():
    queue = queue_of(poster=1, letter=5)
    queue.add("poster", 9)
    assert [queue.pop(), queue.pop()] == ["letter", "poster"]
