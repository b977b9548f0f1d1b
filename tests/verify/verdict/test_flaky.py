"""Separation of flaky and order-dependent tests from broken ones, with scripted runs."""

from collections.abc import Callable, Sequence

import pytest

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


ALONE_AND_IN_ORDER = ("t.py::first", "t.py::it")
DEPENDS = "t.py::it depends on the order: alone it {}, after other tests it fails on the change"


@pytest.mark.parametrize(
    ("change", "base", "report", "calls"),
    [
        ((False, False), (True, True), FlakinessReport(blamed=(IT,)), [(IT.id,)]),
        (
            (True, True),
            (True, True),
            FlakinessReport(
                flaky=(IT.id,), notes=("t.py::it is flaky: it has failed and passed on the change",)
            ),
            [(IT.id,), ALONE_AND_IN_ORDER],
        ),
        (
            (True, False),
            (True, True),
            FlakinessReport(blamed=(IT,), notes=(DEPENDS.format("passes"),)),
            [(IT.id,), ALONE_AND_IN_ORDER],
        ),
        (
            (False, False),
            (False, True),
            FlakinessReport(blamed=(IT,), notes=(DEPENDS.format("fails on the base as well"),)),
            [(IT.id,), ALONE_AND_IN_ORDER],
        ),
        (
            (True, False),
            (True, False),
            FlakinessReport(notes=("t.py::it is flaky or depends on the order, on the base as well",)),
            [(IT.id,), ALONE_AND_IN_ORDER],
        ),
    ],
    ids=["broken", "flaky", "order on the change", "order on the base", "order on both"],
)
def test_blames_change_for_what_differs_from_base(
    change: tuple[bool, bool], base: tuple[bool, bool], report: FlakinessReport, calls: list[tuple[str, ...]]
) -> None:
    """Each side says whether the test is green alone, and in order."""
    ran: list[tuple[str, ...]] = []
    on_change = make_side(alone=change[0], in_order=change[1], calls=ran)
    on_base = make_side(alone=base[0], in_order=base[1])
    assert classify_failures([IT], ORDER, on_change=on_change, on_base=on_base) == report
    assert ran == calls


def test_ordered_run_ends_with_last_examined_test() -> None:
    assert ids_up_to(ORDER, ["t.py::it"]) == ["t.py::first", "t.py::it"]
    assert ids_up_to(ORDER, ["gone.py::it"]) == ["gone.py::it"]
