"""Questions that tell edits apart: recorded calls, variations of them, documented examples.

Runs in the project's interpreter. Standard library only, Python 3.8 or later.
"""

# ruff: noqa: B905 - zip is strict from Python 3.10 on
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from coder_compare import Recorder, answers, call_text  # type: ignore[import-not-found]  # on the import path of the run
from coder_documented import example_answers, examples  # type: ignore[import-not-found]
from coder_varied import vary_calls  # type: ignore[import-not-found]

MOST, MOST_INNER = 320, 160
"""Limits of calls into the project, and of calls of the edited functions, variations included."""


class Questions:
    """The same questions for each edit."""

    def __init__(self, recorder: Recorder, modules: list[Any]) -> None:
        self.calls = [*vary_calls(recorder.inner, MOST_INNER), *vary_calls(recorder.calls, MOST)]
        self.modules = modules
        self.examples = [*examples(modules)]

    def keep(self, flags: list[bool]) -> None:
        """Drop the questions whose flag is false; questions without a flag are dropped as well."""
        example_flags = flags[len(self.calls) :]
        self.calls = [call for call, keep in zip(self.calls, flags) if keep]
        self.examples = [example for example, keep in zip(self.examples, example_flags) if keep]

    def as_text(self) -> list[str]:
        """Return all questions as text."""
        return [*(call_text(call) for call in self.calls), *self.examples]

    def answers(self) -> Iterator[str]:
        """Yield one answer per question, in order."""
        yield from answers(self.calls)
        yield from example_answers(self.examples, self.modules)
