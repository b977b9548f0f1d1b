from pathlib import Path

from coder.core.values import Candidate, Patch
from coder.patching.git_hunks import split_git_diff
from coder.strategies.review import change_excerpts, covered_lines

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


def test_names_deleted_file(tmp_path: Path) -> None:
    assert (
        change_excerpts(Candidate(id="c1", worktree=tmp_path, base="b"), Patch(diff=DIFF, paths=("a.py",)))
        == "a.py: gone, or not to be shown"
    )
