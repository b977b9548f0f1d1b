"""Evidence attached to a commit."""

from coder.core.verdict import Counts, TestRun, Verdict, VerdictKind
from coder.verify.verdict import markdown_report, trailers
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
    assert trailers(PROVEN) == (
        "Coder-Verdict: PROVEN",
        "Coder-Test: t.py::test_a",
        "Coder-Suite: 4 passed, 0 failed, 0 skipped; before: 3 passed, 1 failed, 0 skipped",
    )
    many = PROVEN.model_copy(update={"targets": tuple(f"t{number}" for number in range(7)), "after": None})
    assert trailers(many)[1:] == (
        *(f"Coder-Test: t{number}" for number in range(5)),
        "Coder-Test: and 2 more",
    )


def test_evidence_page_is_complete() -> None:
    verdict = PROVEN.model_copy(update={"after": None, "broken": (failed_result("t.py::test_b"),)})
    assert markdown_report(verdict) == (
        "# PROVEN\n\n1 test went from red to green.\n\n"
        "| suite | passed | failed | skipped |\n|---|---|---|---|\n| before | 3 | 1 | 0 |\n"
        "| after | not run | | |\n\n"
        "Red on the base for the right reason, green on the change:\n\n- `t.py::test_a`\n\n"
        "Passed before the change and do not pass now:\n\n"
        "- `t.py::test_b`: failed, AssertionError: assert 1 == 2\n\n"
        "| run | tests | result | exit code | seconds |\n|---|---|---|---|---|\n"
        "| suite | all | 4 passed | 0 | 1.3 |\n\n"
        "- Test command: python -m pytest, the default.\n- `t.py`, the same on both sides: SHA-256 `ab12`\n"
        "- tree: `abc`\n- seconds: 2.3\n"
    )
