"""Execution of single collected tests, with nothing but their outcome."""

from __future__ import annotations

import contextlib
import inspect
import os
import signal
import unittest
from types import FrameType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from _pytest.warnings import catch_warnings_for_item
from coder_limits import TooLong  # type: ignore[import-not-found]  # on the import path of the run
from coder_straight import forget  # type: ignore[import-not-found]

PROCESSOR_TIMER, WALL_TIMER = (signal.SIGPROF, signal.ITIMER_PROF), (signal.SIGALRM, signal.ITIMER_REAL)


class SingleTestRunner:
    """Tests by id; a pytest plugin while they run."""

    def __init__(self, items: dict[str, Any], tree: str) -> None:
        self.items = items
        self.keeps_session = not any(uses_session_fixture(item, tree + os.sep) for item in items.values())
        self.expired = False
        self.part_failed = False
        for item in [*items.values()][:1]:
            item.config.pluginmanager.register(self, "coder_single")
            self.straight = item.config.pluginmanager.get_plugin("coder_straight")

    def run(self, test: str, following: str | None, *, limit: float, waiting: float) -> str:
        """Run a test and return `passed`, `failed` or `timeout`.

        `limit` is in seconds of processor time, `waiting` in seconds of wall time. Fixtures shared with the
        `following` test stay set up, unless the test is not green: then nothing follows.
        """
        item = self.items[test]
        self.expired = self.part_failed = passed = False
        # A test that waits forever uses no processor time.
        for signal_number, timer, seconds in ((*PROCESSOR_TIMER, limit), (*WALL_TIMER, waiting)):
            signal.signal(signal_number, self.too_long)
            signal.setitimer(timer, seconds, 0.1)
        try:
            with warning_filters(item):
                passed = self.passes(item, self.items[following] if following else None)
        except BaseException:  # noqa: BLE001, S110 - exit, interrupt or time limit: the test is not green
            pass
        finally:
            for _, timer in (PROCESSOR_TIMER, WALL_TIMER):
                signal.setitimer(timer, 0)
        if passed and not self.expired and not self.part_failed:
            return "passed"
        with contextlib.suppress(BaseException):
            tear_down(item.session, down_to_session=self.keeps_session)
        return "timeout" if self.expired else "failed"

    def passes(self, item: Any, following: Any) -> bool:
        """Run a test's phases and tell whether it passes."""
        if self.straight.fits(item) and not item.get_closest_marker("xfail"):
            failed_call = self.straight.run_until_reportable(item, following)
            forget(item)
            return failed_call is None
        reports = runtestprotocol(item, log=False, nextitem=following)
        has_passed_call = any(report.when == "call" and report.outcome == "passed" for report in reports)
        return has_passed_call and not any(report.failed for report in reports)

    def too_long(self, _number: int, _frame: FrameType | None) -> None:
        """Raise TooLong, which `except Exception` in the project does not catch."""
        self.expired = True
        raise TooLong("the test has used all the processor time that it may")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Record a failed subtest; other reports are suppressed in runtestprotocol."""
        self.part_failed = self.part_failed or report.failed

    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        """Return a failure without its text, which would take longer to render than the test to run."""
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


def warning_filters(item: Any) -> contextlib.AbstractContextManager[Any]:
    """Return a context with the project's warning filters, such as `filterwarnings = error`.

    Empty if the project has none.
    """
    options = getattr(item.config, "known_args_namespace", None)
    filters = (
        item.config.getini("filterwarnings")
        or getattr(options, "pythonwarnings", None)
        or item.get_closest_marker("filterwarnings")
    )
    if not filters or not item.config.pluginmanager.has_plugin("warnings"):
        return contextlib.nullcontext()
    return catch_warnings_for_item(config=item.config, ihook=item.ihook, when="runtest", item=item)  # type: ignore[no-any-return, unused-ignore]


def uses_session_fixture(item: Any, tree: str) -> bool:
    """Tell whether a test uses a session fixture of the project.

    Such a fixture may hold objects made by the tried code.
    """
    definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).values()
    functions = [
        inspect.unwrap(entry.func) for entries in definitions for entry in entries if entry.scope == "session"
    ]
    return any(
        getattr(getattr(function, "__code__", None), "co_filename", tree).startswith(tree)
        for function in functions
    )


def tear_down(session: Any, *, down_to_session: bool) -> None:
    """Tear down everything that is still set up, or all but the session fixtures of plugins.

    Not through the hook, since plugins expect it once per test.
    """
    setups = session._setupstate
    if hasattr(setups, "teardown_all"):  # before pytest 7
        setups.teardown_all()
    else:
        setups.teardown_exact(session if down_to_session else None)
