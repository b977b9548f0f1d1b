"""Questions that tell edits apart: recorded calls, variations of them, documented examples.

Runs in the project's interpreter. Standard library only, Python 3.8 or later.
"""

# ruff: noqa: B905 - zip is strict from Python 3.10 on
from __future__ import annotations

import contextlib
import doctest
import io
import signal
from collections.abc import Iterator
from typing import Any

from coder_compare import CALL_SECONDS, Recorder, answers, call_text, too_long  # type: ignore[import-not-found]  # on the import path of the run
from coder_varied import vary_calls  # type: ignore[import-not-found]

MOST, MOST_INNER = 320, 160
"""Limits of calls into the project, and of calls of the edited functions, variations included."""
MOST_EXAMPLES = 60
SHOWN, AS_DOCUMENTED = ">>> ", "as documented"
"""Prefix of examples among the calls, and the answer of an example with the documented result."""


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
        return [*(call_text(call) for call in self.calls), *self.examples]

    def answers(self) -> Iterator[str]:
        """Yield one answer per question, in order."""
        yield from answers(self.calls)
        yield from example_answers(self.examples, self.modules)


def examples(modules: list[Any]) -> dict[str, Any]:
    """Return the docstrings of modules that contain examples, as doctests by the documented name."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    tests: dict[str, Any] = {}
    for module in modules:
        with contextlib.suppress(
            Exception
        ):  # attributes may raise anything when inspected: the module then has no examples
            tests.update(
                {SHOWN + test.name: test for test in finder.find(module, module.__name__) if test.examples}
            )
    return dict(list(tests.items())[:MOST_EXAMPLES])


def example_answers(names: list[str], modules: list[Any]) -> Iterator[str]:
    """Yield one answer for each docstring."""
    signal.signal(signal.SIGPROF, too_long)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    tests = examples(modules)
    for name in names:
        if name not in tests:
            yield "gone"
            continue
        try:
            signal.setitimer(signal.ITIMER_PROF, 2 * CALL_SECONDS, 0.05)
            failed, tried = runner.run(tests[name], out=io.StringIO().write)[:2]
            signal.setitimer(signal.ITIMER_PROF, 0)
            yield f"{failed} of {tried} otherwise" if failed else AS_DOCUMENTED
        except BaseException as error:  # noqa: BLE001 - any exception is the answer
            signal.setitimer(signal.ITIMER_PROF, 0)
            yield f"raises {type(error).__name__}"
