import pytest

from coder.core.values import Patch
from coder.core.verdict import BehaviorExample, BehaviorReport, Verdict, VerdictKind
from coder.strategies.review import LARGE_LINES, committee_reviewers, risk_reviewers


def make_patch(path: str, lines: int) -> Patch:
    added = "".join(f"+x = {number}\n" for number in range(lines))
    return Patch(
        diff=f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -0,0 +1,{lines} @@\n{added}",
        paths=(path,),
    )


VERDICT = Verdict(kind=VerdictKind.PROVEN, reason="")
OTHER_ANSWER = BehaviorExample(call="ordinal(31)", before="'31st'", after="'31th'")


@pytest.mark.parametrize(
    ("path", "lines", "reviewers"),
    [
        ("a.py", LARGE_LINES, ()),
        ("tests/test_a.py", 2 * LARGE_LINES, ()),
        ("a.py", LARGE_LINES + 1, ("simplicity",)),
        ("login.py", 1, ("security",)),
    ],
)
def test_reviewers_follow_size_and_risk(path: str, lines: int, reviewers: tuple[str, ...]) -> None:
    patch = make_patch(path, lines)
    assert committee_reviewers(patch, VERDICT) == ("correctness", "tests", *reviewers)
    assert risk_reviewers(patch, VERDICT) == tuple(name for name in reviewers if name == "security")


@pytest.mark.parametrize("is_tested", [True, False])
def test_behavior_beyond_tests_is_reviewed(is_tested: bool) -> None:
    example = OTHER_ANSWER.model_copy(update={"tested": is_tested})
    report = BehaviorReport(calls=1, compared=1, inputs=9, changed=2, examples=(example,))
    verdict = VERDICT.model_copy(update={"behavior": report})
    assert risk_reviewers(make_patch("a.py", 1), verdict) == (() if is_tested else ("behavior",))
