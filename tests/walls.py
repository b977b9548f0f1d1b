"""The walls that work on the machine that the tests run on: a bare one may have none."""

from functools import cache

from coder.sandbox.backends.backend import Walls
from coder.sandbox.choice import FLAG, choose


@cache
def walls() -> Walls | None:
    """The best there are; None, as if the person had given the flag, where there are none."""
    return choose().walls


def flags() -> tuple[str, ...]:
    """What to add to a command line that runs something."""
    return () if walls() else (FLAG,)
