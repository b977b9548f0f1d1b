import os
import subprocess
import sys
from pathlib import Path

import pytest

from coder.repo.worktrees import remove_tree, remove_worktree, remove_worktrees
from tests.builders import write


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
    remove_worktree(tmp_path / "common", tmp_path / "w" / "s-c1")
    assert sorted(entry.name for entry in entries.iterdir()) == ["other", "s-c10", "s-c2", "s-c3"]
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
