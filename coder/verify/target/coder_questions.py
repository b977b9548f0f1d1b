"""All that edits are asked to tell them apart: recorded calls, calls made of these, examples of the documentation.

It runs in the project's interpreter. Stdlib only, Python 3.8 or later.
"""

# ruff: noqa: B905 - zip is strict from Python 3.10 on
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from coder_compare import Recorder, answers, described  # type: ignore[import-not-found]  # they all lie beside this file
from coder_documented import documented, examples  # type: ignore[import-not-found]
from coder_varied import varied  # type: ignore[import-not-found]

MOST, MOST_INNER = 320, 160
"""Of calls into the project, and of the edited functions themselves, with what is made of them."""


class Questions:
    """The same for each edit."""

    def __init__(self, recorder: Recorder, modules: list[Any]) -> None:
        self.calls = [*varied(recorder.inner, MOST_INNER), *varied(recorder.calls, MOST)]
        self.modules = modules
        self.examples = [*examples(modules)]

    def keep(self, kept: list[bool]) -> None:
        """Ask no more than those of the first questions of which this is so."""
        behind = kept[len(self.calls) :]
        self.calls = [call for call, keep in zip(self.calls, kept) if keep]
        self.examples = [example for example, keep in zip(self.examples, behind) if keep]

    def described(self) -> list[str]:
        return [*(described(call) for call in self.calls), *self.examples]

    def answers(self) -> Iterator[str]:
        """One for each, in their order."""
        yield from answers(self.calls)
        yield from documented(self.examples, self.modules)
