from coder.core.values import Patch
from coder.strategies.review import LARGE_LINES, committee_reviewers, risk_reviewers


def make_patch(path: str, lines: int) -> Patch:
    added = "".join(f"+x = {number}\n" for number in range(lines))
    return Patch(
        diff=f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -0,0 +1,{lines} @@\n{added}",
        paths=(path,),
    )


def test_two_reviewers_read_small_change() -> None:
    assert committee_reviewers(make_patch("a.py", LARGE_LINES)) == ("correctness", "tests")
    assert committee_reviewers(make_patch("tests/test_a.py", 2 * LARGE_LINES)) == ("correctness", "tests")


def test_large_change_adds_simplicity_and_risky_adds_security() -> None:
    assert committee_reviewers(make_patch("a.py", LARGE_LINES + 1)) == ("correctness", "tests", "simplicity")
    assert committee_reviewers(make_patch("login.py", 1)) == ("correctness", "tests", "security")


def test_otherwise_reviews_only_risky_change() -> None:
    assert (risk_reviewers(make_patch("login.py", 1)), risk_reviewers(make_patch("a.py", 100))) == (
        ("security",),
        (),
    )
