"""Where results are put until all are there."""

import threading


class Results:
    """Results by the number of their job."""

    def __init__(self):
        self._lock = threading.Lock()
        self._kept = {}
        self._failures = []

    def keep(self, number, value):
        with self._lock:
            self._kept[number] = value

    def fail(self, number, error):
        with self._lock:
            self._failures.append((number, error))

    @property
    def first_failure(self):
        """The error of the earliest job that failed, or None."""
        return min(self._failures, key=lambda failure: failure[0])[1] if self._failures else None

    def values(self):
        """Results in the order of their jobs."""
        return list(self._kept.values())
