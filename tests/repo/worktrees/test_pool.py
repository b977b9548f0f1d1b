"""Worktrees that are used again: nothing of one use is seen by the next."""

import os
import subprocess
from pathlib import Path

from coder.repo.worktrees import remove_tree
from tests.builders import git, repo, write
from tests.repo.opened import open_candidate, open_session_repository
from tests.repo.test_repository import files

FILES = {
    "a.py": "one\n",
    "pkg/b.py": "two\n",
    ".gitignore": "_version.py\n__pycache__/\n*.pth\n",
}


def _pollute(tree: Path) -> None:
    """Leave behind what tests of a change could leave to mislead a later run."""
    (tree / "a.py").write_text("bad\n", encoding="utf-8")
    os.utime(tree / "a.py", (0, 0))
    (tree / "pkg" / "b.py").chmod(0o755)
    (tree / "_version.py").write_text("bad\n", encoding="utf-8")
    write(tree, {"pkg/__pycache__/b.pyc": "bad", "new.pth": "bad", "untracked/x.py": "bad"})
    git(tree, "init", "-q", "nested")
    write(tree / "nested", {"x.py": "bad"})
    (tree / "link").symlink_to("/etc")
    remove_tree(tree / ".git")
    (tree / ".git").mkdir()
    (tree / "empty").mkdir()
    os.mkfifo(tree / "pipe")
    (tree / "pkg").chmod(0o500)


def test_reused_worktree_is_as_clean_as_a_new_one(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", FILES)
    write(root, {"_version.py": "1\n"})
    with open_candidate(root) as (repository, candidate):
        write(candidate.worktree, {"a.py": "fixed\n", "c.py": "new\n"})
        changed = repository.candidate_patch(candidate).tree
        with repository.checkout(changed) as first:
            _pollute(first)
            inode = first.stat().st_ino
        with repository.checkout(repository.base, ()) as second:
            assert second != first
            assert second.stat().st_ino == inode
            assert files(second) == {**FILES, "_version.py": "1\n"}
            assert not os.access(second / "pkg" / "b.py", os.X_OK)
            assert sorted(path.name for path in second.iterdir()) == [
                ".git",
                ".gitignore",
                "_version.py",
                "a.py",
                "pkg",
            ]
            head = subprocess.run(
                ["git", "rev-parse", "HEAD"], cwd=second, capture_output=True, text=True, check=True
            )
            assert head.stdout.strip() == repository.base
        with repository.checkout(changed) as third:
            assert files(third) == {**FILES, "a.py": "fixed\n", "c.py": "new\n", "_version.py": "1\n"}


def test_replaces_a_worktree_that_cannot_be_reset(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", FILES)
    with open_session_repository(root) as repository:
        with repository.checkout(repository.base) as broken:
            entry = Path((broken / ".git").read_text(encoding="utf-8").removeprefix("gitdir: ").strip())
            (entry / "index").write_bytes(b"damaged")
        with repository.checkout(repository.base) as place:
            assert place != broken
            assert files(place) == FILES
    assert not (root / ".git" / "worktrees").exists()
