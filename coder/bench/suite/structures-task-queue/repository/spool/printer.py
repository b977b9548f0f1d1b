"""What a printer does with a queue."""

from spool.queue import Empty


def drain(queue, limit=None):
    """Serve tasks until there are no more, or `limit` of them; the tasks in the order in which they were served."""
    served = []
    while limit is None or len(served) < limit:
        try:
            served.append(queue.pop())
        except Empty:
            break
    return served
