"""A pool of threads."""

from crew.pool import JobFailed, Pool

__all__ = ["JobFailed", "Pool"]
