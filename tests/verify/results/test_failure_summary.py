"""Summary of failures."""

from coder.core.verdict import TestReport, Verdict, VerdictKind
from coder.core.verdict_summary import LONGEST_SUMMARY, summarize_failures
from coder.verify.results import describe_old_failures
from tests.verify.fakes import failed_result

AT = ("calc.py", 2, "add")


def test_reports_similar_failures_once() -> None:
    reds = tuple(failed_result(f"t.py::test_{number}", frames=[AT]) for number in range(9))
    verdict = Verdict(
        kind=VerdictKind.BROKEN,
        reason="It breaks.",
        broken=reds,
        still_red=(failed_result("t.py::other", "KeyError"),),
    )
    assert summarize_failures(verdict) == (
        "BROKEN: It breaks.\n\n"
        "Broken by the change: t.py::test_0 fails\nAssertionError: assert 1 == 2\n"
        "The same happens in t.py::test_1, t.py::test_2, t.py::test_3, t.py::test_4, t.py::test_5 "
        "and 3 more.\n\n"
        "Not green yet: t.py::other fails\nKeyError: assert 1 == 2"
    )


def test_one_error_in_lines_of_many_tests_is_reported_once() -> None:
    reds = tuple(
        failed_result(f"t.py::test_{number}", "OSError", "disk full", frames=[("t.py", number, "f")])
        for number in range(9)
    )
    verdict = Verdict(kind=VerdictKind.BROKEN, reason="It breaks.", broken=reds)
    assert summarize_failures(verdict).count("OSError: disk full") == 1


def test_a_long_report_is_cut_to_its_limit() -> None:
    reds = tuple(
        failed_result(f"t.py::test_{number}", message="x" * 9000, frames=[("calc.py", 1, f"f{number}")])
        for number in range(8)
    )
    text = summarize_failures(Verdict(kind=VerdictKind.BROKEN, reason="It breaks.", broken=reds))
    assert text.startswith(
        "BROKEN: It breaks.\n\nBroken by the change: t.py::test_0 fails\nAssertionError: xxx"
    )
    assert text.endswith("... and 5 more that fail in 5 other ways.")
    assert len(text) <= LONGEST_SUMMARY


def test_tests_that_cannot_run_in_the_sandbox_are_no_old_failures() -> None:
    old, denied = failed_result("a.py::test_old"), failed_result("a.py::test_denied")
    report = TestReport(command="pytest", results=(old, denied.model_copy(update={"denied": "network"})))
    assert describe_old_failures(report, report) == [
        "1 test fails with and without the change: a.py::test_old"
    ]
