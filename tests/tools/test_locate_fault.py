"""Report to the model about the places that failing tests point to."""

from dataclasses import replace
from pathlib import Path

from coder.core.ports import Progress
from coder.core.values import Suspect, SuspectRanking
from coder.core.verdict import TestReport, TestResult
from coder.tools.locate_fault import locate_fault
from tests.tools.fakes import FakeTests, call_refused_tool, call_tool, workspace

TEXT = "class Cart:\n    def total(self):\n        return 1\n\n\nLIMIT = 3\n"
RED = TestResult(id="tests/test_cart.py::test_total", outcome="failed")


def test_shows_source_of_top_functions(tmp_path: Path) -> None:
    calls: list[tuple[str, ...]] = []

    def suspects(tests: tuple[str, ...], _progress: Progress) -> SuspectRanking:
        calls.append(tests)
        places = [("cart.py::Cart.total", 3), ("cart.py:6", 6), ("gone.py::f", 1), ("cart.py::Cart.last", 2)]
        return SuspectRanking(
            suspects=tuple(Suspect(place=place, line=line, score=0.7) for place, line in places[:2]),
            tests=tests,
        )

    report = TestReport(command="pytest", results=(RED,))
    space = replace(
        workspace(tmp_path, {"cart.py": TEXT}, tests=FakeTests(report=report, before=report)),
        suspects=suspects,
    )
    answer = call_tool(locate_fault, space)
    assert calls == [(RED.id,)]
    assert "1. cart.py::Cart.total (suspicion 0.70, most at line 3)\ncart.py, lines 2-3 of 6" in answer
    assert "    3|         return 1" in answer
    assert "2. cart.py:6 (suspicion 0.70" in answer
    assert "    6| LIMIT = 3" in answer
    assert "cart.py" in space.named


def test_without_failing_test_explains_what_to_do(tmp_path: Path) -> None:
    assert "Name one that fails" in call_refused_tool(locate_fault, workspace(tmp_path, {"cart.py": TEXT}))


def test_reports_untraceable_tests(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"tests/test_cart.py": ""})
    assert (
        call_tool(locate_fault, space, tests=[RED.id])
        == "The fault cannot be located by tests: No test can be traced here."
    )
