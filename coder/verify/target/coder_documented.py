"""Asks whether functions still do what the examples in their documentation show; it runs in the project's interpreter.

Stdlib only, Python 3.8 or later.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import signal
from collections.abc import Iterator
from typing import Any

from coder_compare import CALL_SECONDS, too_long  # type: ignore[import-not-found]  # they all lie beside this file

MOST = 60
SHOWN, KEPT = ">>> ", "as documented"
"""How an example is named among the calls, and what the answer to one is that comes out as it is written."""


def examples(modules: list[Any]) -> dict[str, Any]:
    """The examples of modules, one piece of documentation each, by the name of what it documents."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    found: dict[str, Any] = {}
    for module in modules:
        with contextlib.suppress(
            Exception
        ):  # whatever its attributes do when they are looked at: it has no examples then
            found.update(
                {SHOWN + test.name: test for test in finder.find(module, module.__name__) if test.examples}
            )
    return dict(list(found.items())[:MOST])


def documented(names: list[str], modules: list[Any]) -> Iterator[str]:
    """One answer for each piece of documentation."""
    signal.signal(signal.SIGPROF, too_long)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    here = examples(modules)
    for name in names:
        if name not in here:
            yield "gone"
            continue
        try:
            signal.setitimer(signal.ITIMER_PROF, 2 * CALL_SECONDS, 0.05)
            failed, tried = runner.run(here[name], out=io.StringIO().write)[:2]
            signal.setitimer(signal.ITIMER_PROF, 0)
            yield f"{failed} of {tried} otherwise" if failed else KEPT
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is the answer
            signal.setitimer(signal.ITIMER_PROF, 0)
            yield f"raises {type(error).__name__}"
