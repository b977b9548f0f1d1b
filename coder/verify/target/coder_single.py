"""Runs one test at a time in a process that has collected it, and says no more than how it ends; it runs in the project's interpreter.

Stdlib only, Python 3.8 or later, pytest 6.2 or later.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import unittest
from types import FrameType
from typing import Any

import coder_timers  # type: ignore[import-not-found]  # they all lie beside this file
import pytest
from _pytest.runner import runtestprotocol
from _pytest.warnings import catch_warnings_for_item
from coder_compare import TooLong  # type: ignore[import-not-found]
from coder_straight import forget  # type: ignore[import-not-found]


class Single:
    """The tests by their ids; a plugin of pytest while they run."""

    def __init__(self, items: dict[str, Any], tree: str) -> None:
        self.items = items
        self.keeps_session = not any(shared(item, tree + os.sep) for item in items.values())
        self.expired = False
        self.part_failed = False
        for item in [*items.values()][:1]:
            item.config.pluginmanager.register(self, "coder_single")
            self.straight = item.config.pluginmanager.get_plugin("coder_straight")

    def run(self, test: str, following: str | None, *, limit: float, waiting: float) -> str:
        """`passed`, `failed` or `timeout`, after seconds of processor time or on the wall.

        What it shares with the following test stays set up, unless it is not green: then it is the last.
        """
        item = self.items[test]
        self.expired = self.part_failed = passed = False
        coder_timers.begin(limit, waiting, self.too_long)
        try:
            with filtered(item):
                passed = self.passes(item, self.items[following] if following else None)
        except BaseException:  # noqa: BLE001, S110 - an exit, an interrupt, our own time limit: whatever it was, the test is not green
            pass
        finally:
            coder_timers.end()
        if passed and not self.expired and not self.part_failed:
            return "passed"
        with contextlib.suppress(BaseException):
            tear_down(item.session, down_to_session=self.keeps_session)
        return "timeout" if self.expired else "failed"

    def passes(self, item: Any, following: Any) -> bool:
        if self.straight.fits(item) and not item.get_closest_marker("xfail"):
            telling = self.straight.telling(item, following)
            forget(item)
            return telling is None
        reports = runtestprotocol(item, log=False, nextitem=following)
        ran = any(report.when == "call" and report.outcome == "passed" for report in reports)
        return ran and not any(report.failed for report in reports)

    def too_long(self, _number: int, _frame: FrameType | None) -> None:
        """No `except Exception` of the project keeps a test alive that has used more processor time than it may."""
        self.expired = True
        raise TooLong("the test has used all the processor time that it may")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Only subtests report here: runtestprotocol was asked not to."""
        self.part_failed = self.part_failed or report.failed

    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        """A failure without its text, which would take longer to write than the test to run."""
        if call.excinfo is None or isinstance(call.excinfo.value, (pytest.skip.Exception, unittest.SkipTest)):
            return None
        return pytest.TestReport(
            nodeid=item.nodeid,
            location=item.location,
            keywords={},
            outcome="failed",
            longrepr="",
            when=call.when,
            duration=call.duration,
        )


def filtered(item: Any) -> contextlib.AbstractContextManager[Any]:
    """Warnings as the project has them around its tests, such as `filterwarnings = error`; nothing where it has no wish of its own."""
    options = getattr(item.config, "known_args_namespace", None)
    wishes = (
        item.config.getini("filterwarnings")
        or getattr(options, "pythonwarnings", None)
        or item.get_closest_marker("filterwarnings")
    )
    if not wishes or not item.config.pluginmanager.has_plugin("warnings"):
        return contextlib.nullcontext()
    return catch_warnings_for_item(config=item.config, ihook=item.ihook, when="runtest", item=item)  # type: ignore[no-any-return, unused-ignore]


def shared(item: Any, tree: str) -> bool:
    """Does it use a fixture of the project's that tests share for a whole session? What that holds was made by the code that was tried."""
    definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).values()
    functions = [
        inspect.unwrap(entry.func) for several in definitions for entry in several if entry.scope == "session"
    ]
    return any(
        getattr(getattr(function, "__code__", None), "co_filename", tree).startswith(tree)
        for function in functions
    )


def tear_down(session: Any, *, down_to_session: bool) -> None:
    """All that is still set up, or all but what plugins have set up for the whole session; not by the hook, for plugins expect theirs to be
    called once a test."""
    setups = session._setupstate
    if hasattr(setups, "teardown_all"):  # before pytest 7
        setups.teardown_all()
    else:
        setups.teardown_exact(session if down_to_session else None)
