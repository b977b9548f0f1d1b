from spool.printer import drain
from spool.queue import TaskQueue


def test_drain_with_a_limit():
    queue = TaskQueue()
    for task in "abc":
        queue.add(task)
    assert drain(queue, limit=2) == ["a", "b"]
    assert "c" in queue
    assert len(queue) == 1
