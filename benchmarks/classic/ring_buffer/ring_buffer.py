"""A queue of fixed size in a list that is never moved."""


class RingBuffer:
    def __init__(self, capacity):
        self._slots = [None] * capacity
        self._start = 0
        self._count = 0

    def __len__(self):
        return self._count

    def put(self, item):
        """Append an item; the oldest one gives way where there is no room."""
        end = (self._start + self._count) % len(self._slots)
        self._slots[end] = item
        if self._count < len(self._slots):
            self._count += 1
        else:
            self._start = self._start + 1

    def items(self):
        """Oldest first."""
        return [self._slots[(self._start + offset) % len(self._slots)] for offset in range(self._count)]

    def oldest(self):
        return self._slots[self._start] if self._count else None
