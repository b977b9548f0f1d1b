"""Threads that share work."""

import queue
import threading

from crew.counter import Counter
from crew.results import Results


class JobFailed(RuntimeError):
    """One of the jobs raised."""


class Pool:
    """At most `size` jobs run at a time."""

    def __init__(self, size):
        if size < 1:
            raise ValueError("a pool needs at least one thread")
        self.size = size
        self.running = Counter()

    def map(self, function, items):
        """What `function` returns for each item, in the order of the items.

        Raises:
            JobFailed: a job raised; its error is the cause.
        """
        waiting = queue.SimpleQueue()
        for job in enumerate(items):
            waiting.put(job)
        results = Results()
        threads = [threading.Thread(target=self._work, args=(function, waiting, results)) for _ in range(self.size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if (failure := results.first_failure) is not None:
            raise JobFailed(str(failure)) from failure
        return results.values()

    def _work(self, function, waiting, results):
        while True:
            try:
                number, item = waiting.get_nowait()
            except queue.Empty:
                return
            with self.running:
                try:
                    results.keep(number, function(item))
                except Exception as error:
                    results.fail(number, error)
