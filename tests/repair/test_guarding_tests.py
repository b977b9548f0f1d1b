"""Passing tests that guard an edit."""

from coder.core.ports import Trace
from coder.core.verdict import TestResult
from coder.python.source import PythonSource
from coder.repair.localization import GuardSelector
from tests.repair.places import candidate

TEXT = "LIMIT = 1\n\n\ndef f(a):\n    return a < 1\n\n\ndef g(a):\n    return a > 1\n"


def trace(name: str, seconds: float, *lines: int) -> Trace:
    return Trace(result=TestResult(id=name, outcome="passed", seconds=seconds), lines={"a.py": lines})


TRACES = [trace("slow", 0.3, 5), trace("quick", 0.1, 5), trace("other", 0.0, 9), trace("endless", 60.0, 5)]


def select(traces: list[Trace], old: str = "a < 1", new: str = "a <= 1") -> tuple[str, ...]:
    return GuardSelector(traces).select_guards(candidate(TEXT, old, new), PythonSource("a.py", TEXT))


def test_selects_quickest_tests_of_changed_function() -> None:
    assert select(TRACES) == ("quick", "slow")


def test_interleaves_test_functions() -> None:
    seconds = {"t::told[1]": 0.1, "t::told[2]": 0.2, "t::other": 0.3, "t::told[0]": 0.0}
    traces = [trace(name, duration, 5) for name, duration in seconds.items()]
    assert select(traces) == ("t::told[0]", "t::other", "t::told[1]", "t::told[2]")
