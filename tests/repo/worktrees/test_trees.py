from pathlib import Path

from coder.repo import worktrees
from coder.repo.git import find_checkout
from tests.builders import git, repo, write

LINES = "".join(f"line {number}\n" for number in range(1, 31))


def commit(root: Path, files: dict[str, str | None], *, parent: str = "HEAD") -> str:
    """Create a commit on top of `parent` with some files changed (None: deleted), on no branch."""
    git(root, "checkout", "-q", "--detach", parent)
    write(root, {name: text for name, text in files.items() if text is not None})
    for name in (name for name, text in files.items() if text is None):
        git(root, "rm", "-rq", name)
    git(root, "add", "--all")
    git(root, "commit", "-q", "--allow-empty", "-m", "x")
    return git(root, "rev-parse", "HEAD")


def test_diff_ignores_user_configuration(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", {"a.py": "one\n", ".gitattributes": "*.py diff=evil\n"})
    new = commit(root, {"a.py": "two\n"})
    plain = worktrees.diff_trees(find_checkout(root).git, old="main", new=new)
    for key, value in {
        "diff.noprefix": "true",
        "diff.mnemonicPrefix": "true",
        "diff.orderFile": "missing",
        "color.ui": "always",
        "diff.external": f"touch {tmp_path}/ran",
        "diff.evil.textconv": f"touch {tmp_path}/ran; cat",
        "diff.evil.command": f"touch {tmp_path}/ran",
    }.items():
        git(root, "config", key, value)
    assert worktrees.diff_trees(find_checkout(root).git, old="main", new=new) == plain
    assert "--- a/a.py\n+++ b/a.py\n" in plain
    assert not (tmp_path / "ran").exists()


def test_composes_some_paths_of_a_tree_deletions_included(tmp_path: Path) -> None:
    root = repo(
        tmp_path / "r", {"a.py": "a\n", "b.py": "b\n", "tests/t.py": "t\n", "tests/u.py": "u\n", "f": "f\n"}
    )
    new = commit(
        root, {"a.py": "changed\n", "b.py": None, "tests/t.py": "changed\n", "tests/u.py": None, "f": None}
    )
    new = commit(root, {"f/inner.py": "f\n"}, parent=new)
    tree = worktrees.compose_tree(
        find_checkout(root).git, old="main", new=new, paths=["tests/", "b.py", "f", "absent.py"]
    )
    assert git(root, "diff", "--no-renames", "--name-status", "main", tree).split("\n") == [
        "D\tb.py",
        "D\tf",
        "A\tf/inner.py",
        "M\ttests/t.py",
        "D\ttests/u.py",
    ]


def test_rebases_change_over_other_work_in_same_file(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", {"a.py": LINES, "b.py": "b\n"})
    old = commit(
        root,
        {
            "a.py": LINES.replace("line 3\n", "line 3, uncommitted\n"),
            "b.py": "uncommitted\n",
            "new.py": "n\n",
        },
    )
    new = commit(
        root,
        {
            "a.py": git(root, "show", f"{old}:a.py").replace("line 20", "line 20, fixed") + "\n",
            "test.py": "t\n",
        },
        parent=old,
    )
    tree = worktrees.merge_change(find_checkout(root).git, old=old, new=new, onto="main")
    assert tree is not None
    assert git(root, "diff", "--name-only", "main", tree).split() == ["a.py", "test.py"]
    assert git(root, "show", f"{tree}:a.py") + "\n" == LINES.replace("line 20", "line 20, fixed")


def test_does_not_rebase_change_that_needs_other_work(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", {"a.py": LINES})
    old = commit(root, {"a.py": LINES.replace("line 3\n", "line 3, uncommitted\n"), "new.py": "n\n"})
    same_line = commit(root, {"a.py": LINES.replace("line 3\n", "line 3, fixed\n")}, parent=old)
    new_file = commit(root, {"new.py": "fixed\n"}, parent=old)
    door = find_checkout(root).git
    assert worktrees.merge_change(door, old=old, new=same_line, onto="main") is None
    assert worktrees.merge_change(door, old=old, new=new_file, onto="main") is None


def test_rebases_bytes_and_modes_but_no_partial_binary(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", {"run.sh": LINES, "data": "d\n"})
    (root / "data").write_bytes(bytes(range(256)))
    git(root, "commit", "-qam", "binary")
    start = git(root, "rev-parse", "HEAD")
    old = commit(root, {"run.sh": LINES.replace("line 3\n", "line 3, uncommitted\n")})
    (root / "run.sh").chmod(0o755)
    (root / "data").write_bytes(bytes(range(255, -1, -1)))
    new = commit(root, {}, parent=old)
    door = find_checkout(root).git
    tree = worktrees.merge_change(door, old=old, new=new, onto=start)
    assert tree is not None
    assert git(root, "ls-tree", tree, "run.sh").startswith("100755")
    git(root, "checkout", "-q", start)
    (root / "data").write_bytes(b"\0other")
    other = commit(root, {}, parent="HEAD")
    assert worktrees.merge_change(door, old=old, new=new, onto=other) is None


def test_does_not_merge_links_as_text(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", {"a.py": "a\n"})
    commits = []
    for first, last in (("old", "old"), ("ours", "old"), ("old", "theirs")):
        (root / "link").unlink(missing_ok=True)
        (root / "link").symlink_to(f"{first}\n1\n2\n3\n4\n{last}")
        commits.append(commit(root, {}))
    old, ours, theirs = commits
    assert worktrees.merge_change(find_checkout(root).git, old=old, new=theirs, onto=ours) is None
