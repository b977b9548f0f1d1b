"""Private temporary directories."""

from pathlib import Path

from coder.sandbox.process.scratch import Scratch, remove_abandoned


def test_a_live_scratch_directory_is_left_alone() -> None:
    scratch = Scratch()
    remove_abandoned(scratch.path.parent.parent)
    assert scratch.path.is_dir()
    scratch.close()
    assert not scratch.path.exists()


def test_what_a_killed_owner_left_is_removed(tmp_path: Path) -> None:
    abandoned = tmp_path / "coder-sandbox-x"
    (abandoned / "tmp").mkdir(parents=True)
    (abandoned / "lock").touch()
    unlocked = tmp_path / "coder-sandbox-y"
    unlocked.mkdir()
    remove_abandoned(tmp_path)
    assert (abandoned.exists(), unlocked.exists()) == (False, True)
