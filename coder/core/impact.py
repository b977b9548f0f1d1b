"""Which tests a change may reach: asked by whoever runs tests or shows them to a model."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from coder.core.values.base import Value


class Reach(Value):
    """Which tests an edit may reach."""

    tests: tuple[str, ...] = ()
    """Node ids in the order in which they are collected, then files of new tests."""
    soonest: tuple[str, ...] = ()
    """The same in the order in which a red one is likely to come soonest."""
    everything: bool = False
    """Any test may be reached, whatever `tests` holds."""
    why: str = ""
    """Why it is everything, half a sentence."""


class Impact(Protocol):
    """Knows what each test of a tree executes and reads."""

    def reach(self, edits: Mapping[str, str | None]) -> Reach:
        """The tests that may end otherwise when files get other texts (None: no such file), by path relative to the tree.

        What is not known reaches everything; it is never said that nothing is reached.
        """
        ...

    def prepared(self) -> Iterator[str]:
        """Look at one source after another, for as long as this is asked on: what is asked of them later is answered at once."""
        ...

    def seconds(self, tests: Sequence[str]) -> float:
        """Processor time that tests have taken, as far as it is known."""
        ...
