"""All that edits are asked to tell them apart: recorded calls, calls made of these, examples of the documentation.

It runs in the project's interpreter. Stdlib only, Python 3.8 or later.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from coder_compare import answers, described  # type: ignore[import-not-found]  # they all lie beside this file
from coder_documented import documented, examples  # type: ignore[import-not-found]
from coder_varied import varied  # type: ignore[import-not-found]

MOST = 320


class Questions:
    """The same for each edit."""

    def __init__(self, recorded: list[Any], modules: list[Any]) -> None:
        self.calls = varied(recorded, MOST)
        self.modules = modules
        self.examples = [*examples(modules)]

    def described(self) -> list[str]:
        return [*(described(call) for call in self.calls), *self.examples]

    def answers(self) -> Iterator[str]:
        """One for each, in their order."""
        yield from answers(self.calls)
        yield from documented(self.examples, self.modules)
