"""Private temporary directories."""

import errno
import fcntl
import tempfile
from pathlib import Path

import pytest

from coder.files.regular_files import ScratchDirectory, remove_abandoned
from coder.repo.git import session_lock, state_lock


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
