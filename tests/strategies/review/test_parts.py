"""Parts of the review: who reads, what of a change is shown."""

from pathlib import Path

import pytest

from coder.core.values import Candidate, Patch
from coder.core.verdict import BehaviorExample, BehaviorReport, Verdict, VerdictKind
from coder.strategies.review import (
    change_excerpts,
    committee_reviewers,
    risk_reviewers,
)


def make_patch(path: str) -> Patch:
    diff = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -0,0 +1 @@\n+x = 1\n"
    return Patch(diff=diff, paths=(path,))


VERDICT = Verdict(kind=VerdictKind.PROVEN, reason="")
OTHER_ANSWER = BehaviorExample(call="ordinal(31)", before="'31st'", after="'31th'")


@pytest.mark.parametrize(
    ("path", "reviewers"),
    [
        ("a.py", ()),
        ("tests/test_a.py", ()),
        ("login.py", ("security",)),
    ],
)
def test_reviewers_follow_risk(path: str, reviewers: tuple[str, ...]) -> None:
    patch = make_patch(path)
    assert committee_reviewers(patch, VERDICT) == ("correctness", "tests", *reviewers)
    assert risk_reviewers(patch, VERDICT) == reviewers


@pytest.mark.parametrize("is_tested", [True, False])
def test_behavior_beyond_tests_is_reviewed(is_tested: bool) -> None:
    example = OTHER_ANSWER.model_copy(update={"tested": is_tested})
    report = BehaviorReport(calls=1, compared=1, inputs=9, changed=2, examples=(example,))
    verdict = VERDICT.model_copy(update={"behavior": report})
    assert risk_reviewers(make_patch("a.py"), verdict) == (() if is_tested else ("behavior",))


DIFF = (
    "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -40,2 +40,3 @@ def f():\n x = 39\n-x = 40\n"
    "+x = 0\n+x = 1\n"
)


def test_shows_code_around_change_with_line_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("".join(f"x = {number}\n" for number in range(100)))
    excerpt = change_excerpts(
        Candidate(id="c1", worktree=tmp_path, base="b"), Patch(diff=DIFF, paths=("a.py",))
    )
    lines = excerpt.splitlines()
    assert (lines[0], lines[1], lines[-1]) == ("a.py", "   15| x = 14", "   67| x = 66")


@pytest.mark.parametrize(
    ("before", "after", "reviewers"),
    [
        ("raises KeyError: 1", "raises TypeError: no", ()),
        ("raises KeyError: 1", "raises KeyError: 1", ("behavior",)),
        ("{}", "raises TypeError: no", ("behavior",)),
    ],
)
def test_another_error_for_the_same_input_asks_for_no_review(
    before: str, after: str, reviewers: tuple[str, ...]
) -> None:
    example = BehaviorExample(call="read(None)", before=before, after=after)
    report = BehaviorReport(calls=1, compared=1, inputs=9, changed=2, examples=(example,))
    verdict = VERDICT.model_copy(update={"behavior": report})
    assert risk_reviewers(make_patch("a.py"), verdict) == reviewers
