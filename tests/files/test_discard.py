"""Removal of trees, at once and in the background."""

import os
import time
from pathlib import Path

import pytest

from coder.files.regular_files import discard_tree


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
