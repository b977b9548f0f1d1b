"""Counters that threads share."""

import threading


class Counter:
    """Counts up and down, and remembers its peak."""

    def __init__(self):
        self._lock = threading.Lock()
        self.value = 0
        self.peak = 0

    def __enter__(self):
        with self._lock:
            self.value += 1
            self.peak = max(self.peak, self.value)
        return self

    def __exit__(self, *error):
        with self._lock:
            self.value -= 1
