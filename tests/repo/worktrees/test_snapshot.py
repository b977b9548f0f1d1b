import os
import subprocess
from pathlib import Path

import pytest

from coder.core.errors import UserError
from coder.repo import worktrees
from coder.repo.git import find_checkout
from tests.builders import git, repo, write
from tests.repo.opened import fingerprint

FILES = {"a.py": "a\n", "b.py": "b\n", "d/c.py": "c\n", ".gitignore": "*.log\n"}


def snapshot(root: Path, index: Path) -> worktrees.WorkTreeSnapshot:
    place = find_checkout(root)
    return worktrees.take_snapshot(place.git, head=place.head, index=index)


def snapshot_content(root: Path, index: Path) -> dict[str, str]:
    """Return the content of the snapshot, by path."""
    commit = snapshot(root, index).commit
    return {
        path: git(root, "show", f"{commit}:{path}")
        for path in git(root, "ls-tree", "-r", "--name-only", commit).splitlines()
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repo(tmp_path / "r", FILES)


def test_holds_all_uncommitted_work_and_touches_nothing(root: Path, tmp_path: Path) -> None:
    write(root, {"a.py": "staged\n", "new.py": "new\n", "planned.py": "planned\n", "noise.log": "ignored\n"})
    git(root, "add", "a.py")
    git(root, "add", "--intent-to-add", "planned.py")
    write(root, {"a.py": "staged, then changed\n"})
    (root / "b.py").unlink()
    before = fingerprint(root)
    content = snapshot_content(root, tmp_path / "i")
    assert content == {
        ".gitignore": "*.log",
        "a.py": "staged, then changed",
        "d/c.py": "c",
        "new.py": "new",
        "planned.py": "planned",
    }
    assert fingerprint(root) == before


def test_detects_change_with_same_timestamp(root: Path, tmp_path: Path) -> None:
    git(root, "config", "core.trustctime", "false")
    index = root / ".git" / "index"
    moment = index.stat().st_mtime_ns - 3600 * 10**9
    os.utime(root / "a.py", ns=(moment, moment))
    git(root, "update-index", "--refresh")
    write(root, {"a.py": "z\n"})
    os.utime(root / "a.py", ns=(moment, moment))
    os.utime(index, ns=(moment, moment))
    assert snapshot_content(root, tmp_path / "i")["a.py"] == "z"


def test_keeps_modes_links_and_type_changes(root: Path, tmp_path: Path) -> None:
    (root / "a.py").chmod(0o755)
    (root / "link").symlink_to("a.py")
    (root / "d" / "c.py").unlink()
    (root / "d").rmdir()
    write(root, {"d": "a file now\n"})
    (root / "b.py").unlink()
    write(root, {"b.py/inner.py": "a directory now\n"})
    commit = snapshot(root, tmp_path / "i").commit
    modes = {line.split("\t")[1]: line[:6] for line in git(root, "ls-tree", "-r", commit).splitlines()}
    assert modes == {
        ".gitignore": "100644",
        "a.py": "100755",
        "b.py/inner.py": "100644",
        "d": "100644",
        "link": "120000",
    }


def test_does_not_follow_link_replacing_directory(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (root / "d" / "c.py").rename(tmp_path / "outside" / "c.py")
    (root / "d").rmdir()
    (root / "d").symlink_to(tmp_path / "outside")
    write(tmp_path, {"outside/c.py": "secret\n"})
    content = snapshot_content(root, tmp_path / "i")
    assert "d/c.py" not in content
    assert content["d"] == str(tmp_path / "outside")


def test_takes_unmerged_files_verbatim(root: Path, tmp_path: Path) -> None:
    git(root, "checkout", "-q", "-b", "other")
    write(root, {"a.py": "theirs\n"})
    git(root, "rm", "-q", "b.py")
    git(root, "commit", "-qam", "theirs")
    git(root, "checkout", "-q", "main")
    write(root, {"a.py": "ours\n", "b.py": "ours\n"})
    git(root, "commit", "-qam", "ours")
    subprocess.run(["git", "merge", "-q", "other"], cwd=root, capture_output=True, check=False)
    (root / "b.py").unlink()
    before = fingerprint(root)
    content = snapshot_content(root, tmp_path / "i")
    assert content["a.py"].startswith("<<<<<<<")
    assert "b.py" not in content
    assert fingerprint(root) == before


def test_skips_huge_unreadable_and_nested_repositories(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worktrees, "LARGEST_UNTRACKED_BYTES", 1 << 20)
    (root / "data.bin").write_bytes(b"0" * (3 << 20))
    repo(root / "nested", {"n.py": "n\n"})
    git(root, "init", "-q", "unborn")
    write(root, {"unborn/x.py": "x\n", "kept.py": "kept\n"})
    result = snapshot(root, tmp_path / "i")
    assert result.exclusions == (
        "data.bin (untracked, 3 MB)",
        "nested/ (untracked, a git repository of its own)",
        "unborn/ (untracked, a git repository of its own)",
    )
    assert set(git(root, "diff", "--name-only", "HEAD", result.commit).splitlines()) == {"kept.py"}


def test_skips_unignored_caches_and_environments(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", {"a.py": "a\n", "lib/venv/x.py": "x\n", "kept.pyc": "tracked\n"})
    write(
        root,
        {
            name: "x\n"
            for name in (
                "__pycache__/a.pyc",
                "b.pyc",
                ".venv/bin/python",
                "venv/pyvenv.cfg",
                "node_modules/m.js",
            )
        },
    )
    write(root, {"lib/venv/new.py": "new\n", "kept.pyc": "changed\n"})
    assert snapshot_content(root, tmp_path / "i") == {
        "a.py": "a",
        "kept.pyc": "changed",
        "lib/venv/new.py": "new",
        "lib/venv/x.py": "x",
    }


def test_refuses_home_directory(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worktrees, "MOST_UNTRACKED", 2)
    write(root, {f"new{number}.py": "n\n" for number in range(3)})
    with pytest.raises(UserError, match="holds 3 untracked files"):
        snapshot_content(root, tmp_path / "i")


def test_keeps_file_name_that_is_not_utf8(root: Path, tmp_path: Path) -> None:
    try:
        Path(os.fsdecode(os.fsencode(root) + b"/\xff.py")).write_text("x\n", encoding="utf-8")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    commit = snapshot(root, tmp_path / "i").commit
    assert find_checkout(root).git.items("diff-tree", "-z", "--name-only", "HEAD", commit) == ["\udcff.py"]


def test_a_file_into_which_the_process_prints_is_no_work_of_the_user(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, {"log.txt": "judging ...\n", "new.py": "1\n"})
    with (root / "log.txt").open() as log:
        real = os.fstat
        monkeypatch.setattr(os, "fstat", lambda number: real(log.fileno() if number == 1 else number))
        found = worktrees.find_untracked_files(find_checkout(root).git)
    assert found == ["new.py"]
