import subprocess
from pathlib import Path

import pytest

from coder.core.values import Hunk
from coder.patching.git_hunks import hunk_lines, rebuild_diff, split_git_diff
from tests.builders import ISOLATED, git, repo, write

NUMBERS = [f"line {number}" for number in range(1, 41)]
TRAPS = "- minus\n-- two\n@@ -1 +1 @@\ndiff --git a/x b/x\n\x0cform\u2028feed\rreturn\n"
BEFORE = {
    "long.py": "\n".join(NUMBERS) + "\n",
    "gone.py": "print(1)\n",
    "old name.py": "".join(f"{number}\n" for number in range(9)),
    "traps.txt": TRAPS + "end",
    "binary": "\0one",
}


@pytest.fixture
def staged_repository(tmp_path: Path) -> Path:
    """Return a repository whose index changes, removes, renames and creates files in every way that a fix
    may.
    """
    root = repo(tmp_path / "repo", BEFORE)
    lines = NUMBERS.copy()
    lines[37:39] = ["thirty-eight"]
    lines[19] = "twenty\ntwenty and a half\ntwenty and three quarters"
    del lines[:3]
    git(root, "rm", "--quiet", "gone.py")
    git(root, "mv", "old name.py", "new näme.py")
    renamed = "".join(f"{number}\n" for number in range(8)) + "eight\n"
    write(
        root,
        {
            "long.py": "\n".join(lines) + "\n",
            "new näme.py": renamed,
            "traps.txt": "++ plus\n" + TRAPS + "end\n",
        },
    )
    write(root, {"binary": "\0two", "made.py": "a = 1\n", "empty/__init__.py": ""})
    git(root, "add", "--all")
    return root


def diff_of(root: Path) -> str:
    command = ["git", "-c", "core.quotePath=false", "diff", "--cached", "--find-renames", "--binary"]
    return subprocess.run(command, cwd=root, env=ISOLATED, capture_output=True, check=True).stdout.decode()


def git_apply(root: Path, diff: str, *options: str) -> str:
    """Apply to the index and the files, and return git's message."""
    command = ["git", "apply", "--index", "--verbose", "--whitespace=nowarn", *options]
    return subprocess.run(
        command, cwd=root, input=diff.encode(), env=ISOLATED, check=True, capture_output=True
    ).stderr.decode()


def test_numbers_hunks_in_the_order_of_the_diff(staged_repository: Path) -> None:
    matches = [
        (hunk.path, hunk.body.partition("\n")[0]) for hunk in split_git_diff(diff_of(staged_repository))
    ]
    assert matches == [
        ("binary", ""),
        ("empty/__init__.py", ""),
        ("gone.py", "@@ -1 +0,0 @@"),
        ("long.py", "@@ -1,6 +1,3 @@"),
        ("long.py", "@@ -17,7 +14,9 @@ line 16"),
        ("long.py", "@@ -35,6 +34,5 @@ line 34"),
        ("made.py", "@@ -0,0 +1 @@"),
        ("new näme.py", "@@ -6,4 +6,4 @@"),
        ("traps.txt", "@@ -1,6 +1,7 @@"),
    ]


def test_hunk_has_its_lines_and_file_header() -> None:
    diff = "diff --git a/a.py b/a.py\nindex 1..2 100644\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-1\n+2\n"
    header, body = diff[: diff.index("@@")], diff[diff.index("@@") :]
    assert split_git_diff(diff) == (Hunk(path="a.py", header=header, body=body),)


def test_selecting_all_or_no_hunks_round_trips(staged_repository: Path) -> None:
    diff = diff_of(staged_repository)
    assert rebuild_diff(diff, range(len(split_git_diff(diff)))) == diff
    assert rebuild_diff(diff, ()) == ""
    assert split_git_diff("") == ()


def test_every_selection_of_hunks_applies_at_its_lines(staged_repository: Path) -> None:
    diff = diff_of(staged_repository)
    for chosen in [(3,), (4,), (5,), (3, 4), (3, 5), (4, 5)]:
        git(staged_repository, "reset", "--quiet", "--hard")
        assert "offset" not in git_apply(staged_repository, rebuild_diff(diff, chosen))


@pytest.mark.parametrize("hunk_numbers", [(0, 4, 7), (1, 2, 5, 8), (3, 6)])
def test_selection_is_whole_minus_rest(staged_repository: Path, hunk_numbers: tuple[int, ...]) -> None:
    diff = diff_of(staged_repository)
    rest = rebuild_diff(diff, {*range(len(split_git_diff(diff)))} - {*hunk_numbers})
    git_apply(staged_repository, rest, "--reverse")
    less = git(staged_repository, "write-tree")
    git(staged_repository, "reset", "--quiet", "--hard")
    git_apply(staged_repository, rebuild_diff(diff, hunk_numbers))
    assert git(staged_repository, "write-tree") == less


def test_wrong_hunk_counts_lose_no_line() -> None:
    header = "diff --git a/key b/key\n--- a/key\n+++ b/key\n"
    for body in ("@@ -1,4 +1,4 @@\n a\n-[masked]\n+b\n", "@@ -1 +1 @@\n-a\n+b\n+c\n"):
        assert split_git_diff(header + body) == (Hunk(path="key", header=header, body=body),)
        assert rebuild_diff(header + body, [0]) == header + body


@pytest.mark.parametrize(
    "body", ["", "Binary files differ\n", "@@ -1,2 +1 @@\n-1\n+2\n", "@@ -1 +1 @@\n=1\n"]
)
def test_lines_that_do_not_fit_their_heading_are_not_offered(body: str) -> None:
    assert hunk_lines(body) == ()
