from coder.core.values.candidate import Patch
from coder.strategies.review.reviewers import LARGE_LINES, committee, for_risk


def patch(path: str, lines: int) -> Patch:
    added = "".join(f"+x = {number}\n" for number in range(lines))
    return Patch(
        diff=f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -0,0 +1,{lines} @@\n{added}",
        paths=(path,),
    )


def test_a_committee_of_two_reads_what_is_small() -> None:
    assert committee(patch("a.py", LARGE_LINES)) == ("correctness", "tests")
    assert committee(patch("tests/test_a.py", 2 * LARGE_LINES)) == ("correctness", "tests")


def test_what_is_large_is_read_for_simplicity_and_what_is_risky_for_security() -> None:
    assert committee(patch("a.py", LARGE_LINES + 1)) == ("correctness", "tests", "simplicity")
    assert committee(patch("login.py", 1)) == ("correctness", "tests", "security")


def test_elsewhere_only_what_is_risky_is_read() -> None:
    assert (for_risk(patch("login.py", 1)), for_risk(patch("a.py", 100))) == (("security",), ())
