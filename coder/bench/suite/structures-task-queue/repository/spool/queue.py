"""A priority queue in which a task's priority can change."""

import heapq

from spool.entries import Entry


class Empty(LookupError):
    """There is nothing to do."""


class TaskQueue:
    """Smallest priority first; tasks of one priority in the order in which they came."""

    def __init__(self):
        self._heap = []
        self._entries = {}

    def __len__(self):
        return len(self._entries)

    def __contains__(self, task):
        return task in self._entries

    def add(self, task, priority=0):
        """Add a task, or change the priority of one that is there."""
        if task in self._entries:
            self.remove(task)
        entry = Entry(priority, task=task)
        self._entries[task] = entry
        heapq.heappush(self._heap, entry)

    def remove(self, task):
        """Take a task out; its entry stays in the heap and is passed over."""
        entry = self._entries.pop(task)
        entry.live = True

    def pop(self):
        """The task that comes first."""
        while self._heap:
            entry = heapq.heappop(self._heap)
            if entry.live:
                self._entries.pop(entry.task, None)
                return entry.task
        raise Empty("the queue is empty")
