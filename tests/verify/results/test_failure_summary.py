"""Summary of failures, and evidence attached to a commit."""

from coder.core.verdict import Counts, TestReport, TestRun, Verdict, VerdictKind
from coder.core.verdict_summary import LONGEST_SUMMARY, commit_trailers, markdown_report, summarize_failures
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


def test_old_failures_with_the_error_of_what_is_red_are_counted() -> None:
    old = failed_result("a.py::test_old", "TypeError", "Promise.withResolvers is not a function")
    other = failed_result("a.py::test_other")
    report = TestReport(command="pytest", results=(old, other))
    reds = [old.model_copy(update={"id": "b.py::test_new"}), other]
    (line,) = describe_old_failures(report, report, reds)
    assert line.startswith(
        "2 tests fail with and without the change, 1 of them by the error of the red test:"
    )


PROVEN = Verdict(
    kind=VerdictKind.PROVEN,
    reason="1 test went from red to green.",
    targets=("t.py::test_a",),
    before=Counts(passed=3, failed=1),
    after=Counts(passed=4),
    runs=(
        TestRun(
            label="suite", command="python -m pytest", counts=Counts(passed=4), exit_code=0, seconds=1.26
        ),
    ),
    hashes={"t.py": "ab12"},
    circumstances=("Test command: python -m pytest, the default.",),
    seconds=2.34,
    tree="abc",
)


def test_trailers_state_verdict() -> None:
    assert commit_trailers(PROVEN) == (
        "Coder-Verdict: PROVEN",
        "Coder-Test: t.py::test_a",
        "Coder-Suite: 4 passed, 0 failed, 0 skipped; before: 3 passed, 1 failed, 0 skipped",
    )
    many = PROVEN.model_copy(update={"targets": tuple(f"t{number}" for number in range(7)), "after": None})
    assert commit_trailers(many)[1:] == (
        *(f"Coder-Test: t{number}" for number in range(5)),
        "Coder-Test: and 2 more",
    )


def test_evidence_page_is_complete() -> None:
    verdict = PROVEN.model_copy(update={"after": None, "broken": (failed_result("t.py::test_b"),)})
    assert markdown_report(verdict) == "\n".join(
        [
            "# PROVEN",
            "",
            "1 test went from red to green.",
            "",
            "    broken   passed before, fails now: t.py::test_b: AssertionError: assert 1 == 2",
            "    tests    suite: 4 passed in 2 s with python -m pytest",
            "",
            "## Failing tests",
            "",
            "    t.py::test_b: AssertionError: assert 1 == 2",
            "",
            "## Tests that were red before and are green now",
            "",
            "    t.py::test_a",
            "",
            "## Test runs",
            "",
            "    suite  all  4 passed  1.3 s",
            "",
            "## Circumstances",
            "",
            "    Test command: python -m pytest, the default.",
            "",
            "## Hashes",
            "",
            "    t.py: ab12",
            "    tree abc",
            "",
        ]
    )
