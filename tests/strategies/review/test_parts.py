"""Parts of the review: who reads, what of a change is shown, where findings may be mended, merging."""

from pathlib import Path

import pytest

from coder.core.notes import ReviewFinding
from coder.core.values import Candidate, Patch
from coder.core.verdict import BehaviorExample, BehaviorReport, Verdict, VerdictKind
from coder.patching.git_hunks import split_git_diff
from coder.strategies.review import (
    LARGE_LINES,
    change_excerpts,
    changed_lines,
    committee_reviewers,
    covered_lines,
    editable_lines,
    risk_reviewers,
)


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


DIFF = (
    "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -40,2 +40,3 @@ def f():\n x = 39\n-x = 40\n"
    "+x = 0\n+x = 1\n"
)


def test_hunk_lines_are_numbered_in_changed_file() -> None:
    assert list(covered_lines(split_git_diff(DIFF)[0])) == [40, 41, 42]


def test_shows_code_around_change_with_line_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("".join(f"x = {number}\n" for number in range(100)))
    excerpt = change_excerpts(
        Candidate(id="c1", worktree=tmp_path, base="b"), Patch(diff=DIFF, paths=("a.py",))
    )
    lines = excerpt.splitlines()
    assert (lines[0], lines[1], lines[-1]) == ("a.py", "   15| x = 14", "   67| x = 66")


TEXT = "import os\n\n\ndef first():\n    return 1\n\n\ndef second():\n    return 2\n"


def finding(line: int, path: str = "a.py") -> ReviewFinding:
    return ReviewFinding(severity="major", path=path, line=line, text="wrong")


def spans(line: int, text: str = TEXT) -> list[int]:
    return [*editable_lines(finding(line), text)]


def test_allows_edits_in_definition_around_finding() -> None:
    assert spans(5) == [4, 5, 6]


def test_allows_new_import_anywhere() -> None:
    assert list(changed_lines(TEXT, TEXT.replace("import os\n", "import os\nimport re\n"))) == []


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
    assert risk_reviewers(make_patch("a.py", 1), verdict) == reviewers
