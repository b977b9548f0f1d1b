import os
import subprocess
import sys
from pathlib import Path

import pytest

from coder.repo.worktrees import remove_tree, remove_worktrees
from tests.builders import git, repo, write
from tests.repo.opened import open_candidate, open_session_repository
from tests.repo.test_repository import files


def test_removes_entry_of_interrupted_worktree_creation(tmp_path: Path) -> None:
    entries = tmp_path / "common" / "worktrees"
    write(
        entries,
        {
            "s-c1/locked": "",
            "s-c10/locked": "",
            "s-c2/gitdir": f"{tmp_path}/w/s-c2/.git\n",
            "s-c3/gitdir": "/elsewhere/s-c3/.git\n",
        },
    )
    write(entries, {"other/locked": ""})
    remove_worktrees(tmp_path / "common", tmp_path / "w", prefix="s-")
    assert sorted(entry.name for entry in entries.iterdir()) == ["other", "s-c3"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody whom permissions stop")
def test_removes_read_only_files_as_plain_user(tmp_path: Path) -> None:
    stubborn = tmp_path / "stubborn"
    write(stubborn, {"inner/deep/file": "x"})
    for directory in (stubborn / "inner" / "deep", stubborn / "inner"):
        directory.chmod(0o500)
    for path in (tmp_path, stubborn, *stubborn.rglob("*")):
        os.chown(path, 65534, 65534)
    script = (
        "import os, pathlib\nfrom coder.repo.worktrees import remove_tree\nos.setuid(65534)\n"
        "remove_tree(pathlib.Path('stubborn'))"
    )
    root = Path(__file__).parents[3]
    subprocess.run(
        [sys.executable, "-c", script], check=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(root)}
    )
    assert not stubborn.exists()


def test_removes_link_and_keeps_its_target(tmp_path: Path) -> None:
    write(tmp_path, {"kept/file": "x"})
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    remove_tree(tmp_path / "link")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept" / "file").exists()


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
