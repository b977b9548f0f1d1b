"""Separation of flaky and order-dependent tests from broken ones, with scripted runs."""

from collections.abc import Callable, Sequence

from coder.core.verdict import TestReport, TestResult
from coder.verify.judge import FlakinessReport, classify_failures, ids_up_to
from tests.verify.fakes import failed_result, passed_result

ORDER = ("t.py::first", "t.py::it", "t.py::last")
IT = failed_result("t.py::it")
Run = Callable[[str, Sequence[str]], TestReport]


def make_side(*, alone: bool, in_order: bool, calls: list[tuple[str, ...]] | None = None) -> Run:
    """Return one side, on which `t.py::it` is green as the arguments say."""

    def run(_label: str, tests: Sequence[str]) -> TestReport:
        if calls is not None:
            calls.append(tuple(tests))
        green = in_order if "t.py::first" in tests else alone
        results: list[TestResult] = [
            failed_result(test) if test == IT.id and not green else passed_result(test) for test in tests
        ]
        return TestReport(command="pytest", results=tuple(results))

    return run


def test_repeated_failure_only_on_change_is_broken() -> None:
    calls: list[tuple[str, ...]] = []
    change, base = make_side(alone=False, in_order=False, calls=calls), make_side(alone=True, in_order=True)
    assert classify_failures([IT], ORDER, on_change=change, on_base=base) == FlakinessReport(blamed=(IT,))
    assert calls == [("t.py::it",)]


def test_passing_alone_and_in_order_is_flaky() -> None:
    calls: list[tuple[str, ...]] = []
    change, base = make_side(alone=True, in_order=True, calls=calls), make_side(alone=True, in_order=True)
    notes = ("t.py::it is flaky: it has failed and passed on the change",)
    assert classify_failures([IT], ORDER, on_change=change, on_base=base) == FlakinessReport(
        flaky=(IT.id,), notes=notes
    )
    assert calls == [("t.py::it",), ("t.py::first", "t.py::it")]


def test_order_dependent_failure_only_on_change_is_broken() -> None:
    change, base = make_side(alone=True, in_order=False), make_side(alone=True, in_order=True)
    notes = ("t.py::it depends on the order: alone it passes, after other tests it fails on the change",)
    assert classify_failures([IT], ORDER, on_change=change, on_base=base) == FlakinessReport(
        blamed=(IT,), notes=notes
    )


def test_failure_alone_on_both_sides_is_judged_in_order() -> None:
    change, base = make_side(alone=False, in_order=False), make_side(alone=False, in_order=True)
    notes = (
        (
            "t.py::it depends on the order: alone it fails on the base as well, after other tests it "
            "fails on the change"
        ),
    )
    assert classify_failures([IT], ORDER, on_change=change, on_base=base) == FlakinessReport(
        blamed=(IT,), notes=notes
    )


def test_failure_in_order_on_base_is_not_blamed() -> None:
    change, base = make_side(alone=True, in_order=False), make_side(alone=True, in_order=False)
    notes = ("t.py::it is flaky or depends on the order, on the base as well",)
    assert classify_failures([IT], ORDER, on_change=change, on_base=base) == FlakinessReport(notes=notes)


def test_ordered_run_ends_with_last_examined_test() -> None:
    assert ids_up_to(ORDER, ["t.py::it"]) == ["t.py::first", "t.py::it"]
    assert ids_up_to(ORDER, ["gone.py::it"]) == ["gone.py::it"]
