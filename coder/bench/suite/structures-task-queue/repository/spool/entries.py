"""Entries of the queue's heap."""

from dataclasses import dataclass, field
from itertools import count

_numbers = count()


@dataclass(order=True)
class Entry:
    """Sorted by priority, then by age."""

    priority: int
    number: int = field(default_factory=lambda: next(_numbers))
    task: str = field(compare=False, default="")
    live: bool = field(compare=False, default=True)
