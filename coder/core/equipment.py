"""Packages that a project's tests need and its environment lacks: asked for by a session, installed by whoever can."""

from collections.abc import Sequence
from typing import Protocol

from coder.core.values.verdict import TestReport


class Equipment(Protocol):
    """Can add to what tests run with, never in an environment of the person's."""

    def lacks(self, report: TestReport) -> tuple[str, ...]:
        """The names of packages without which tests of the untouched base cannot run."""
        ...

    def install(self, packages: Sequence[str]) -> str:
        """Install packages for all later runs of this project's tests; returns why it cannot be done, or nothing."""
        ...
