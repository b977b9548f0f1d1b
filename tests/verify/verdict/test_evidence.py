"""Evidence attached to a commit."""

from coder.core.verdict import Counts, TestRun, Verdict, VerdictKind
from coder.core.verdict_summary import commit_trailers, markdown_report
from tests.verify.fakes import failed_result

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
