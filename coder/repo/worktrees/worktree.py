"""Creation and removal of linked worktrees, detached and filled from a tree."""

import os
import shutil
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from coder.repo.git import Checkout, Git
from coder.repo.locks import repository_lock


@dataclass(frozen=True, kw_only=True)
class Worktree:
    """A linked worktree, and its git directory as of its creation."""

    path: Path
    git: Git
    artifacts: frozenset[str]
    """Copied artefacts, which are part of no change."""


def add_worktree(checkout: Checkout, path: Path, *, commit: str, tree: str) -> Git:
    """Create a worktree with the content of `tree` and a detached HEAD at `commit`; return its git."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with repository_lock(checkout.common_directory):
        (checkout.common_directory / "worktrees").mkdir(exist_ok=True)
        checkout.git.call("worktree", "add", "--quiet", "--no-checkout", "--detach", str(path), commit)
    # Git made the pointer lead into the stand-in of the shared directory, which this process removes.
    git_dir = (
        checkout.common_directory
        / "worktrees"
        / Path(os.fsdecode((path / ".git").read_bytes()).rstrip("\n")).name
    )
    (path / ".git").write_bytes(os.fsencode(f"gitdir: {git_dir}\n"))
    git = Git(directory=path, git_dir=git_dir, work_tree=path, inert=checkout.git.inert)
    git.call("read-tree", "--reset", "-u", tree)
    return git


def remove_worktree(common: Path, path: Path) -> None:
    """Remove a worktree in any state; in the repository, only its own entry is touched."""
    _remove_entries(
        common,
        [
            entry
            for entry, recorded in _list_entries(common)
            if recorded == path or (recorded is None and entry.name == path.name)
        ],
    )
    remove_tree(path)


def remove_worktrees(common: Path, directory: Path, *, prefix: str) -> None:
    """Remove a directory of worktrees whose names start with `prefix`.

    This includes worktrees whose location a killed git did not record.
    """
    entries = _list_entries(common)
    _remove_entries(
        common,
        [
            entry
            for entry, recorded in entries
            if entry.name.startswith(prefix) and (recorded is None or recorded.parent == directory)
        ],
    )
    remove_tree(directory)


def _list_entries(common: Path) -> list[tuple[Path, Path | None]]:
    """Return the repository's entry for each worktree, and the worktree's path if the entry records it."""
    entries: list[tuple[Path, Path | None]] = []
    for entry in (common / "worktrees").glob("*"):
        pointer_file = entry / "gitdir"
        pointer = os.fsdecode(pointer_file.read_bytes()).strip() if pointer_file.is_file() else ""
        entries.append((entry, Path(pointer).parent if pointer else None))
    return entries


def _remove_entries(common: Path, entries: list[Path]) -> None:
    for entry in entries:
        remove_tree(entry)
    with repository_lock(common), suppress(OSError):  # used by others, or missing
        (common / "worktrees").rmdir()


def remove_tree(path: Path) -> None:
    """Remove a path as far as possible; the rest is left to the next recovery."""
    if path.is_symlink() or path.is_file():
        path.unlink(missing_ok=True)
    elif path.is_dir():
        try:
            shutil.rmtree(path)
        except OSError:
            _make_writable(path)
            shutil.rmtree(path, ignore_errors=True)


def _make_writable(path: Path) -> None:
    """Make directories writable: tests leave read-only ones behind."""
    with suppress(OSError):
        path.chmod(stat.S_IRWXU)
        for directory, names, _ in os.walk(path):
            for inner in (Path(directory, name) for name in names):
                if not inner.is_symlink():
                    inner.chmod(stat.S_IRWXU)
