"""Private temporary directories."""

from pathlib import Path

from coder.files.regular_files import ScratchDirectory, remove_abandoned


def test_keeps_scratch_directory_in_use() -> None:
    scratch = ScratchDirectory()
    remove_abandoned(scratch.path.parent.parent)
    assert scratch.path.is_dir()
    scratch.close()
    assert not scratch.path.exists()


def test_removes_scratch_directory_of_killed_owner(tmp_path: Path) -> None:
    abandoned = tmp_path / "coder-scratch-x"
    (abandoned / "tmp").mkdir(parents=True)
    (abandoned / "lock").touch()
    unlocked = tmp_path / "coder-scratch-y"
    unlocked.mkdir()
    remove_abandoned(tmp_path)
    assert (abandoned.exists(), unlocked.exists()) == (False, True)
