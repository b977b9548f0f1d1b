"""Tells what a change has broken from what fails by turns, or by the order in which tests run."""

from collections.abc import Callable, Sequence

from coder.core.values.base import Value
from coder.core.values.verdict import TestReport, TestResult
from coder.verify.results.comparison import passes, short

Run = Callable[[str, Sequence[str]], TestReport]
"""Runs tests, under a label for whoever watches."""


class Examined(Value):
    """What became of tests that seemed broken."""

    blamed: tuple[TestResult, ...] = ()
    """They fail on the change each time that they run as they ran first, and never on the base."""
    flaky: tuple[str, ...] = ()
    """They have failed and passed on the change, run in the same way."""
    notes: tuple[str, ...] = ()
    """What was seen of those that are not blamed, and of those that fail after other tests only; half a sentence each."""


def examine(
    suspected: Sequence[TestResult], order: Sequence[str], *, on_change: Run, on_base: Run
) -> Examined:
    """Run what failed alone, and where that is not what happened before, again behind all that ran before it, on both sides.

    `order` holds the ids of all tests in the order in which they ran.
    """
    tests = [result.id for result in suspected]
    alone, base = on_change("again, on the change", tests), on_base("again, on the base", tests)
    blamed = [result for result in suspected if not passes(alone, result.id) and passes(base, result.id)]
    unsure = [result for result in suspected if result not in blamed]
    if not unsure:
        return Examined(blamed=tuple(blamed))
    before = before_last(order, [result.id for result in unsure])
    in_order = on_change("again in order, on the change", before)
    again = [result for result in unsure if not passes(in_order, result.id)]
    base_in_order = on_base("again in order, on the base", before) if again else TestReport(command="")
    flaky, notes = [], []
    for result in unsure:
        name = short(result.id)
        if result not in again:
            flaky.append(result.id)
            notes.append(f"{name} is flaky: it has failed and passed on the change")
        elif passes(base_in_order, result.id):
            blamed.append(result)
            alone_it = "passes" if passes(alone, result.id) else "fails on the base as well"
            notes.append(
                f"{name} depends on the order: alone it {alone_it}, after other tests it fails on the change"
            )
        else:
            notes.append(f"{name} is flaky or depends on the order, on the base as well")
    return Examined(
        blamed=tuple(result for result in suspected if result in blamed),
        flaky=tuple(flaky),
        notes=tuple(notes),
    )


def before_last(order: Sequence[str], tests: Sequence[str]) -> list[str]:
    """The ids up to the last of the tests; with those that are not there at the end."""
    there = [index for index, test in enumerate(order) if test in frozenset(tests)]
    return [*dict.fromkeys([*(order[: there[-1] + 1] if there else ()), *tests])]


def recovered(reds: Sequence[TestResult], order: Sequence[str], *, on_change: Run) -> tuple[TestResult, ...]:
    """Those of the red tests that are green when they and all before them run again: they are flaky."""
    again = on_change("again in order, on the change", before_last(order, [result.id for result in reds]))
    return tuple(result for result in reds if passes(again, result.id))
