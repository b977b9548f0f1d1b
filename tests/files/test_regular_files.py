import errno
import fcntl
import os
import tempfile
import time
from pathlib import Path

import pytest

from coder.core.errors import UserError
from coder.files.regular_files import ScratchDirectory, discard_tree, read_regular, remove_abandoned
from coder.repo.artifacts import copy_artifacts
from coder.repo.git import session_lock, state_lock
from coder.repo.history import resolve_change
from coder.settings import collect_settings
from coder.verify.layout import pytest_options
from coder.verify.project import find_hints
from tests.builders import repo, write


@pytest.mark.parametrize("target", ["/proc/self/environ", "/dev/zero", "../outside"])
def test_reads_and_copies_nothing_through_link(tmp_path: Path, target: str) -> None:
    write(tmp_path, {"outside": "secret\n", "tree/inside": "x\n"})
    link = tmp_path / "tree" / "version.txt"
    link.symlink_to(target)
    (tmp_path / "copy").mkdir()
    assert read_regular(link) is None
    assert (
        copy_artifacts({"version.txt": "version.txt"}, source=tmp_path / "tree", target=tmp_path / "copy")
        == set()
    )
    link.unlink()
    link.symlink_to("inside")
    assert read_regular(link) == b"x\n"


@pytest.mark.parametrize("name", ["pyproject.toml", "setup.cfg", "tox.ini", "pytest.ini", "Makefile"])
def test_skips_pipe_in_place_of_configuration(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    assert list(find_hints(tmp_path)) == []
    pytest_options(tmp_path)
    assert collect_settings(tmp_path, environment={"XDG_CONFIG_HOME": str(tmp_path / "none")})


@pytest.mark.parametrize("name", [".gitignore", ".gitattributes"])
def test_reports_pipe_that_git_would_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    root = repo(tmp_path / "r", {"a.py": "a\n"})
    write(root, {"a.py": "changed\n"})
    os.mkfifo(root / name)
    with pytest.raises(UserError, match=rf"{name} is not a regular file.* Remove it"):
        resolve_change(root, revision=None, against=None)


def test_removes_scratch_directory_of_killed_owner(tmp_path: Path) -> None:
    abandoned = [
        tmp_path / name for name in ("coder.12345678/t", "coder.abcdefgh/builds", "coder-s-12345678/tmp")
    ]
    for directory in abandoned:
        directory.mkdir(parents=True)
        (directory.parent / "lock").touch()
    unlocked = tmp_path / "coder-scratch-y"
    unlocked.mkdir()
    users = [tmp_path / "coder.notebook" / name for name in ("lock", "plan.txt")]
    lock = tmp_path / "coder.programs" / "lock"
    for file, text in (*((file, "") for file in users), (lock, "1.2.3")):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    remove_abandoned(tmp_path)
    assert [path for path in abandoned if path.exists()] == []
    assert unlocked.exists()
    assert all(file.exists() for file in (*users, lock))


def test_file_system_without_locks_is_worked_on_and_keeps_what_may_be_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(fcntl, "flock", refuse)
    scratch = ScratchDirectory()
    assert len(str(scratch.path)) <= len(str(tmp_path)) + len("/coder.12345678/t")
    remove_abandoned(tmp_path)
    assert scratch.path.is_dir()
    with session_lock(tmp_path / "session"), state_lock(tmp_path / "state" / "lock"):
        pass
    scratch.close()


def make_tree(root: Path, *, directories: int) -> Path:
    tree = root / "tree"
    for number in range(directories):
        (tree / f"d{number}" / "inner").mkdir(parents=True)
        (tree / f"d{number}" / "inner" / "file").write_text("x")
    return tree


def wait_until_empty(root: Path) -> None:
    deadline = time.monotonic() + 60
    while list(root.iterdir()):
        assert time.monotonic() < deadline, list(root.iterdir())
        time.sleep(0.02)


def test_follows_no_links(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "kept").mkdir(parents=True)
    tree = make_tree(tmp_path, directories=2)
    (tree / "directory").symlink_to(outside)
    (tree / "file").symlink_to(outside / "kept")
    os.mkfifo(tree / "pipe")
    discard_tree(tree)
    assert [path.name for path in tmp_path.iterdir()] == ["outside"]
    assert (outside / "kept").is_dir()
    (tmp_path / "link").symlink_to(outside)
    discard_tree(tmp_path / "link")
    discard_tree(tmp_path / "missing")
    assert [path.name for path in tmp_path.iterdir()] == ["outside"]


def test_leaves_the_rest_to_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coder.files.regular_files.PATIENCE_SECONDS", -1.0)
    tree = make_tree(tmp_path, directories=50)
    discard_tree(tree)
    assert not tree.exists()
    wait_until_empty(tmp_path)


def test_removes_read_only_directories(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, directories=2)
    (tree / "d0" / "inner").chmod(0o500)
    (tree / "d1").chmod(0o000)
    discard_tree(tree)
    assert not tree.exists()
    wait_until_empty(tmp_path)
