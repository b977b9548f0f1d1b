import pytest

from spool.printer import drain
from spool.queue import Empty, TaskQueue


def test_a_removed_task_is_not_served():
    queue = TaskQueue()
    queue.add("a", 1)
    queue.add("b", 2)
    queue.remove("a")
    assert drain(queue) == ["b"]


def test_changed_many_times():
    queue = TaskQueue()
    for priority in (5, 1, 7, 3):
        queue.add("a", priority)
    queue.add("b", 2)
    assert drain(queue) == ["b", "a"]
    with pytest.raises(Empty):
        queue.pop()


def test_removed_and_added_again():
    queue = TaskQueue()
    queue.add("a", 1)
    queue.remove("a")
    queue.add("a", 4)
    queue.add("b", 2)
    assert drain(queue) == ["b", "a"]
