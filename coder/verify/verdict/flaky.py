"""Separation of broken tests from flaky and order-dependent ones."""

from collections.abc import Callable, Sequence

from coder.core.values import Value
from coder.core.verdict import TestReport, TestResult
from coder.verify.results.comparison import passes, shorten_test_id

RunTests = Callable[[str, Sequence[str]], TestReport]
"""Runs tests, under a label for progress reports."""


class FlakinessReport(Value):
    """Classification of tests that appeared broken."""

    blamed: tuple[TestResult, ...] = ()
    """Fail on the change in every run under the same conditions, and never on the base."""
    flaky: tuple[str, ...] = ()
    """Failed and passed on the change under the same conditions."""
    notes: tuple[str, ...] = ()
    """Observations on tests that are not blamed or depend on the order; half a sentence each."""


def classify_failures(
    suspected: Sequence[TestResult], order: Sequence[str], *, on_change: RunTests, on_base: RunTests
) -> FlakinessReport:
    """Run failed tests again alone, then unexplained ones after all tests that preceded them, on both sides.

    `order` holds the ids of all tests in the order in which they ran.
    """
    tests = [result.id for result in suspected]
    alone, base = on_change("again, on the change", tests), on_base("again, on the base", tests)
    blamed = [result for result in suspected if not passes(alone, result.id) and passes(base, result.id)]
    unsure = [result for result in suspected if result not in blamed]
    if not unsure:
        return FlakinessReport(blamed=tuple(blamed))
    before = ids_up_to(order, [result.id for result in unsure])
    in_order = on_change("again in order, on the change", before)
    still_red = [result for result in unsure if not passes(in_order, result.id)]
    base_in_order = on_base("again in order, on the base", before) if still_red else TestReport(command="")
    flaky, notes = [], []
    for result in unsure:
        name = shorten_test_id(result.id)
        if result not in still_red:
            flaky.append(result.id)
            notes.append(f"{name} is flaky: it has failed and passed on the change")
        elif passes(base_in_order, result.id):
            blamed.append(result)
            alone_outcome = "passes" if passes(alone, result.id) else "fails on the base as well"
            notes.append(
                f"{name} depends on the order: alone it {alone_outcome}, "
                "after other tests it fails on the change"
            )
        else:
            notes.append(f"{name} is flaky or depends on the order, on the base as well")
    return FlakinessReport(
        blamed=tuple(result for result in suspected if result in blamed),
        flaky=tuple(flaky),
        notes=tuple(notes),
    )


def ids_up_to(order: Sequence[str], tests: Sequence[str]) -> list[str]:
    """Return the ids up to the last of the tests; missing tests come at the end."""
    positions = [index for index, test in enumerate(order) if test in frozenset(tests)]
    return [*dict.fromkeys([*(order[: positions[-1] + 1] if positions else ()), *tests])]


def recovered_tests(
    reds: Sequence[TestResult], order: Sequence[str], *, on_change: RunTests
) -> tuple[TestResult, ...]:
    """Return the red tests that are green when they and all tests before them run again: they are flaky."""
    again = on_change("again in order, on the change", ids_up_to(order, [result.id for result in reds]))
    return tuple(result for result in reds if passes(again, result.id))
