"""Sandbox backend that works on the machine that runs the tests: a bare one may have none."""

from functools import cache

from coder.sandbox.backend import SandboxBackend
from coder.sandbox.choice import UNSAFE_FLAG, choose_backend


@cache
def walls() -> SandboxBackend | None:
    """Return the best backend, or None as with the flag that disables it."""
    return choose_backend().backend


def flags() -> tuple[str, ...]:
    """Return the options that a command line needs to run commands here."""
    return () if walls() else (UNSAFE_FLAG,)
