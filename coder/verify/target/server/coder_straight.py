"""Pytest plugin that runs tests without reporting of passing phases.

Runs in the project's interpreter. Standard library only, Python 3.8 or later, pytest 6.2 or later. For a test
that passes, pytest spends most of its time on reporting three times that nothing happened.
"""

from __future__ import annotations

import contextlib
import sys
import time
import unittest
from collections.abc import Iterator
from typing import Any

import _pytest.tmpdir
import pytest
from _pytest.runner import call_and_report

PHASES = ("setup", "call", "teardown")
REPORTING_HOOKS = ("protocol", "logstart", "makereport", "logreport", "logfinish")
"""Hooks not called for tests run this way, so no unknown plugin may implement them."""
KNOWN_PREFIXES = ("_pytest.", "coder_", "_hypothesis_pytestplugin.", "hypothesis.", "xdist.")
"""Prefixes of modules whose hooks have no effect on the outcome."""
ONCE_PER_TEST = ("capturemanager", "faulthandler")
"""Plugins whose work in each phase is done once for the whole test, or only serves an onlooker."""
PHASE_FIXTURES = frozenset(
    {"caplog", "capfd", "capfdbinary", "capsys", "capsysbinary", "capteesys", "subtests"}
)
"""Fixtures that observe the boundaries of phases."""
SHOWING = ("setuponly", "setupshow", "setupplan", "trace", "usepdb")
NOT_RED = (pytest.skip.Exception, pytest.xfail.Exception, unittest.SkipTest)


class DirectProtocol:
    """Replacement of pytest's test protocol for tests whose outcome it does not affect."""

    def __init__(self) -> None:
        self.possible = False

    def pytest_collection_finish(self, session: Any) -> None:
        """Decide whether tests can run this way: all plugins are registered by now."""
        manager = session.config.pluginmanager
        self.capture, self.recorder, self.limited = map(
            manager.get_plugin, ("capturemanager", "coder_recorder", "coder_limited")
        )
        self.possible = not any(session.config.getoption(name, False) for name in SHOWING) and not any(
            unknown_plugins(session.config)
        )
        skipped_plugins = [plugin for plugin in map(manager.get_plugin, ONCE_PER_TEST) if plugin is not None]
        self.phases = [
            (when, manager.subset_hook_caller(f"pytest_runtest_{when}", skipped_plugins)) for when in PHASES
        ]

    def fits(self, item: Any) -> bool:
        """Tell whether a test can run this way."""
        return self.possible and PHASE_FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> bool | None:
        if not self.fits(item):
            return None
        self.recorder.pytest_runtest_logstart(item.nodeid)
        start = time.perf_counter()
        with self.capture_output(item):
            call = self.run_until_reportable(item, nextitem)
        if call is None:
            self.recorder.write("passed", id=item.nodeid, seconds=time.perf_counter() - start)
        else:
            if is_red(item, call):  # report at once: rendering by pytest takes long
                self.limited.hear(item.nodeid)
            tell(item, call, nextitem)
        forget(item)
        return True

    def capture_output(self, item: Any) -> contextlib.AbstractContextManager[None]:
        if self.capture is None:
            return contextlib.nullcontext()
        return self.capture.item_capture("call", item)  # type: ignore[no-any-return, unused-ignore]

    def run_until_reportable(self, item: Any, following: Any) -> Any:
        """Run a test up to the first phase that needs a report, and return its call.

        None if no phase does.
        """
        if not getattr(item, "_request", True):
            item._initrequest()
        if hasattr(_pytest.tmpdir, "tmppath_result_key"):
            item.stash.setdefault(_pytest.tmpdir.tmppath_result_key, {})
        # In older versions it does more than report.
        if hasattr(type(item), "addSubTest") and sys.version_info >= (3, 11):
            item.addSubTest = lambda *arguments: arguments[-1] and type(item).addSubTest(item, *arguments)
        for when, phase in self.phases:
            arguments = {"nextitem": following} if when == "teardown" else {}
            call = call_phase(phase, when, item=item, **arguments)
            is_xfail = when == "call" and item.get_closest_marker("xfail")
            if call.excinfo is not None or getattr(item, "_excinfo", None) or is_xfail:
                return call
        return None


def call_phase(phase: Any, when: Any, **arguments: Any) -> Any:
    """Call a phase of a test and return its CallInfo."""
    return pytest.CallInfo.from_call(
        lambda: phase(**arguments), when, reraise=(pytest.exit.Exception, KeyboardInterrupt)
    )


def tell(item: Any, call: Any, following: Any) -> None:
    """Report a phase and tear down, as pytest does after a phase."""
    report = item.ihook.pytest_runtest_makereport(item=item, call=call)
    item.ihook.pytest_runtest_logreport(report=report)
    if call.when != "teardown":
        is_stopping = item.session.shouldfail or item.session.shouldstop
        call_and_report(item, "teardown", nextitem=None if is_stopping else following)


def forget(item: Any) -> None:
    """Drop the values of the test; it may run again."""
    if hasattr(item, "_request"):
        item._request, item.funcargs = False, None
    if getattr(item, "_excinfo", None):  # set by unittest; otherwise only cleared when it is reported
        item._excinfo = None


def is_red(item: Any, call: Any) -> bool:
    """Tell whether the report of a phase will be red."""
    return (
        call.excinfo is not None
        and not isinstance(call.excinfo.value, NOT_RED)
        and not item.get_closest_marker("xfail")
    )


def unknown_plugins(config: Any) -> Iterator[Any]:
    """Yield plugins that may change an outcome in a reporting hook, or that do not apply to all tests."""
    for name in REPORTING_HOOKS:
        for hook in getattr(config.hook, f"pytest_runtest_{name}").get_hookimpls():
            is_wrapper = name == "protocol" and (hook.hookwrapper or getattr(hook, "wrapper", False))
            if not is_wrapper and not f"{hook.function.__module__}.".startswith(KNOWN_PREFIXES):
                yield hook.plugin
    for name in PHASES:
        for hook in getattr(config.hook, f"pytest_runtest_{name}").get_hookimpls():
            if hook.function.__module__.rpartition(".")[2] == "conftest":
                yield hook.plugin
