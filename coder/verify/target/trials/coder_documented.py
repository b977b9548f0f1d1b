"""Doctest examples of functions, to check whether edits still satisfy them.

Runs in the project's interpreter. Standard library only, Python 3.8 or later.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import signal
from collections.abc import Iterator
from typing import Any

from coder_compare import CALL_SECONDS, too_long  # type: ignore[import-not-found]  # on the import path of the run

MOST = 60
SHOWN, AS_DOCUMENTED = ">>> ", "as documented"
"""Prefix of examples among the calls, and the answer of an example with the documented result."""


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
    return dict(list(tests.items())[:MOST])


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
