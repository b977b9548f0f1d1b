"""What the verifier has seen at the place of a finding."""

import pytest

from coder.core.notes import ReviewFinding
from coder.core.verdict import Failure, Frame, MutationReport, TestResult, UntestedPlace, Verdict, VerdictKind
from coder.ui.lines import observation

FAILURE = Failure(type="E", message="", frames=(Frame(path="a.py", line=5, function="f"),))
BROKEN = TestResult(id="t.py::test_a", outcome="failed", failure=FAILURE)
GUARDED = MutationReport(
    survivors=(UntestedPlace(path="a.py", line=20, what="`<` became `<=`"),), tried=4, mutants=3, caught=2
)


@pytest.mark.parametrize(
    ("path", "line", "phrase"),
    [
        ("a.py", 7, "t.py::test_a fails here"),
        ("a.py", 0, "t.py::test_a fails here"),
        ("a.py", 21, "none would notice a difference here (`<` became `<=`, line 20)"),
        ("a.py", 12, "none fails here; they caught 3 of 4 deliberate defects of the change"),
        ("b.py", 5, "none fails here; they caught 3 of 4 deliberate defects of the change"),
    ],
)
def test_observation_near_a_finding(path: str, line: int, phrase: str) -> None:
    verdict = Verdict(kind=VerdictKind.BROKEN, reason="", broken=(BROKEN,), mutation=GUARDED)
    assert observation(ReviewFinding(severity="major", path=path, line=line, text=""), verdict) == phrase


def test_says_that_nothing_was_tried() -> None:
    finding = ReviewFinding(severity="minor", path="a.py", text="")
    verdict = Verdict(kind=VerdictKind.PASSING, reason="")
    assert observation(finding, verdict).endswith("whether one would notice a difference here was not tried")
