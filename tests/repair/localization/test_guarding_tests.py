"""Passing tests that guard an edit."""

from coder.core.ports.repair import Trace
from coder.core.values.verdict import TestResult
from coder.python.source import Source
from coder.repair.localization.guarding_tests import Guards
from tests.repair.places import candidate

TEXT = "LIMIT = 1\n\n\ndef f(a):\n    return a < 1\n\n\ndef g(a):\n    return a > 1\n"


def trace(name: str, seconds: float, *lines: int) -> Trace:
    return Trace(result=TestResult(id=name, outcome="passed", seconds=seconds), lines={"a.py": lines})


TRACES = [trace("slow", 0.3, 5), trace("quick", 0.1, 5), trace("other", 0.0, 9), trace("endless", 60.0, 5)]


def test_selects_quickest_tests_of_changed_function() -> None:
    assert Guards(TRACES).of(candidate(TEXT, "a < 1", "a <= 1"), Source("a.py", TEXT)) == ("quick", "slow")


def test_selects_tests_of_file_outside_functions() -> None:
    assert Guards(TRACES).of(candidate(TEXT, "LIMIT = 1", "LIMIT = 2"), Source("a.py", TEXT)) == (
        "other",
        "quick",
        "slow",
    )


def test_keeps_one_slow_guard() -> None:
    assert Guards(TRACES[3:]).of(candidate(TEXT, "a < 1", "a <= 1"), Source("a.py", TEXT)) == ("endless",)


def test_interleaves_test_functions() -> None:
    traces = [
        trace("told[1]", 0.1, 5),
        trace("told[2]", 0.2, 5),
        trace("other", 0.3, 5),
        trace("told[0]", 0.0, 5),
    ]
    guards = Guards(traces).of(candidate(TEXT, "a < 1", "a <= 1"), Source("a.py", TEXT))
    assert guards == ("told[0]", "other", "told[1]", "told[2]")
