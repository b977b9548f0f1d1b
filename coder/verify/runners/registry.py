"""All adapters, and the recognition of test commands by them."""

from collections.abc import Sequence
from pathlib import Path

from coder.core.values.base import Value
from coder.verify.runners.adapter import Adapter
from coder.verify.runners.mocha import Mocha
from coder.verify.runners.node_packages import find_runner_calls
from coder.verify.runners.node_test import NodeTest
from coder.verify.runners.vitest_jest import Jest, Vitest

ADAPTERS: tuple[Adapter, ...] = (Vitest(), Jest(), Mocha(), NodeTest())


class RecognizedCommand(Value):
    """A command that an adapter can run."""

    adapter: str
    """The adapter's name."""
    argv: tuple[str, ...]


def find_adapter(name: str) -> Adapter | None:
    """Return the adapter of this name."""
    return next((adapter for adapter in ADAPTERS if adapter.name == name), None)


def recognize_words(words: Sequence[str]) -> RecognizedCommand | None:
    """Return the command of the adapter that the words start; None if there is none."""
    for adapter in ADAPTERS:
        if argv := adapter.recognize(words):
            return RecognizedCommand(adapter=adapter.name, argv=argv)
    return None


def recognize_command(text: str, folder: Path) -> RecognizedCommand | None:
    """Return the one test runner that a command of a shell starts, also through a script of its package."""
    found = [
        recognized for words in find_runner_calls(text, folder) if (recognized := recognize_words(words))
    ]
    return found[0] if len(found) == 1 else None
