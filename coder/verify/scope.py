"""Tests that a change is judged by beside its targets: the whole suite, or those that reach it."""

from coder.core.values import Value
from coder.core.verdict import TestReport
from coder.verify.base import SuiteLimits
from coder.verify.select import SuiteSelection

LEAST_BUDGET, TARGET_TIMES = 20.0, 3.0
"""Seconds of the tests that reach a change: so many times as long as its targets took, within bounds."""
LONG_START = 2.0
"""Seconds of a start of the test runner from which on chunks are few."""
LEAST_FILE = 1.0
"""Seconds that a test file takes at least, its collection included."""


class Scope(Value):
    """Tests to run on a change, and for how long."""

    selection: SuiteSelection | None = None
    """Test files or tests, nearest first; None where the runner cannot select any."""
    whole: bool = False
    """Whether the suite runs without a selection, in its own order; if cut, the selection follows."""
    seconds: float
    """Time limit of all these tests together."""
    at_once: bool = False
    """Whether the time is known to suffice for all of them, so that one run has them all."""


def choose_scope(
    selection: SuiteSelection | None,
    *,
    limits: SuiteLimits,
    target_seconds: float,
    suite_seconds: float | None,
    selects_all: bool = False,
) -> Scope:
    """Return the whole suite where it fits into the budget, else the tests of a selection.

    `selects_all` tells that the selection has all test files: those which ran already need not run again.
    """
    budget = max(LEAST_BUDGET, min(TARGET_TIMES * target_seconds, limits.reaching_seconds))
    seconds = limits.suite_seconds if limits.waits else min(budget, limits.suite_seconds)
    if suite_seconds is not None and suite_seconds <= seconds:
        return Scope(selection=selection, whole=not selects_all, seconds=seconds, at_once=True)
    return Scope(selection=selection, whole=selection is None, seconds=seconds)


def next_chunk_size(size: int, report: TestReport, *, left: float, file_seconds: float = LEAST_FILE) -> int:
    """Return how many test files to run after a report on `size`: twice as many where a start is cheap.

    Where starts of the runner take long, the next chunk has as many as are likely to fit into the `left`
    seconds, so that there are two chunks at most. A file takes `file_seconds` at least.
    """
    running = sum(result.seconds for result in report.results)
    start = report.seconds - running
    if start < LONG_START or not size:
        return max(2 * size, 1)
    return max(size, int((left - start) / max(running / size, file_seconds)))
