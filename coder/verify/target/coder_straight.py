"""A pytest plugin that runs tests straight: of one that is green, nothing is told to anybody; it runs in the project's interpreter.

Stdlib only, Python 3.8 or later, pytest 6.2 or later. What pytest does for a test that passes is for the most part to report, three times
over, that nothing has happened.
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
TELLING = ("protocol", "logstart", "makereport", "logreport", "logfinish")
"""What is not called for a test that is run straight, so that nothing unknown may wait for it."""
KNOWN = ("_pytest.", "coder_", "_hypothesis_pytestplugin.", "hypothesis.", "xdist.")
"""Beginnings of the names of modules that change nothing there."""
ONCE = ("capturemanager", "faulthandler")
"""Plugins of which the part in each phase is done once for the whole test, or serves somebody who looks on."""
APART = frozenset({"caplog", "capfd", "capfdbinary", "capsys", "capsysbinary", "capteesys", "subtests"})
"""Fixtures that see where one phase ends and another begins."""
SHOWING = ("setuponly", "setupshow", "setupplan", "trace", "usepdb")
NOT_RED = (pytest.skip.Exception, pytest.xfail.Exception, unittest.SkipTest)


class Straight:
    """Takes the place of pytest's own protocol where nothing is different but what is told."""

    def __init__(self) -> None:
        self.possible = False

    def pytest_collection_finish(self, session: Any) -> None:
        """All plugins are there by now."""
        manager = session.config.pluginmanager
        self.capture, self.recorder, self.limited = map(
            manager.get_plugin, ("capturemanager", "coder_recorder", "coder_limited")
        )
        self.possible = not any(session.config.getoption(name, False) for name in SHOWING) and not any(
            unknown(session.config)
        )
        left_out = [plugin for plugin in map(manager.get_plugin, ONCE) if plugin is not None]
        self.phases = [
            (when, manager.subset_hook_caller(f"pytest_runtest_{when}", left_out)) for when in PHASES
        ]

    def fits(self, item: Any) -> bool:
        return self.possible and APART.isdisjoint(getattr(item, "fixturenames", ()))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> bool | None:
        if not self.fits(item):
            return None
        self.recorder.pytest_runtest_logstart(item.nodeid)
        started = time.perf_counter()
        with self.captured(item):
            telling = self.telling(item, nextitem)
        if telling is None:
            self.recorder.write("passed", id=item.nodeid, seconds=time.perf_counter() - started)
        else:
            if is_red(item, telling):  # what pytest has to say of it takes longer than many a test
                self.limited.hear(item.nodeid)
            tell(item, telling, nextitem)
        forget(item)
        return True

    def captured(self, item: Any) -> contextlib.AbstractContextManager[None]:
        if self.capture is None:
            return contextlib.nullcontext()
        return self.capture.item_capture("call", item)  # type: ignore[no-any-return, unused-ignore]

    def telling(self, item: Any, following: Any) -> Any:
        """Run a test up to the first phase of which there is anything to tell, and return its call; None where there is nothing."""
        if not getattr(item, "_request", True):
            item._initrequest()
        if hasattr(_pytest.tmpdir, "tmppath_result_key"):
            item.stash.setdefault(_pytest.tmpdir.tmppath_result_key, {})
        if hasattr(type(item), "addSubTest") and sys.version_info >= (
            3,
            11,
        ):  # before, it has other things to do as well
            item.addSubTest = lambda *told: told[-1] and type(item).addSubTest(item, *told)
        for when, phase in self.phases:
            call = called(phase, when, item=item, **({"nextitem": following} if when == "teardown" else {}))
            if (
                call.excinfo is not None
                or getattr(item, "_excinfo", None)
                or (when == "call" and item.get_closest_marker("xfail"))
            ):
                return call
        return None


def called(phase: Any, when: Any, **arguments: Any) -> Any:
    return pytest.CallInfo.from_call(
        lambda: phase(**arguments), when, reraise=(pytest.exit.Exception, KeyboardInterrupt)
    )


def tell(item: Any, call: Any, following: Any) -> None:
    """Do what pytest does from where a phase has ended."""
    report = item.ihook.pytest_runtest_makereport(item=item, call=call)
    item.ihook.pytest_runtest_logreport(report=report)
    if call.when != "teardown":
        stopping = item.session.shouldfail or item.session.shouldstop
        call_and_report(item, "teardown", nextitem=None if stopping else following)


def forget(item: Any) -> None:
    """The test's own values live no longer than it takes; it may be run again."""
    if hasattr(item, "_request"):
        item._request, item.funcargs = False, None
    if getattr(
        item, "_excinfo", None
    ):  # what unittest has told of it, which is only forgotten where it is reported
        item._excinfo = None


def is_red(item: Any, call: Any) -> bool:
    """Will its report be red, whatever else it says?"""
    return (
        call.excinfo is not None
        and not isinstance(call.excinfo.value, NOT_RED)
        and not item.get_closest_marker("xfail")
    )


def unknown(config: Any) -> Iterator[Any]:
    """Plugins that may change how a test ends by what they do when it is told, or that are not there for all tests."""
    for name in TELLING:
        for hook in getattr(config.hook, f"pytest_runtest_{name}").get_hookimpls():
            around = name == "protocol" and (hook.hookwrapper or getattr(hook, "wrapper", False))
            if not around and not f"{hook.function.__module__}.".startswith(KNOWN):
                yield hook.plugin
    for name in PHASES:
        for hook in getattr(config.hook, f"pytest_runtest_{name}").get_hookimpls():
            if hook.function.__module__.rpartition(".")[2] == "conftest":
                yield hook.plugin
