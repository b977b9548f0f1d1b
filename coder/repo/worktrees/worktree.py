"""Linked worktrees: made detached and filled from a tree, removed without asking the tree itself."""

import os
import shutil
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from coder.repo.git import Git, Place
from coder.repo.locks import repository_lock


@dataclass(frozen=True, kw_only=True)
class Worktree:
    """A linked worktree and where its git directory was when it was made."""

    path: Path
    git: Git
    brought: frozenset[str]
    """Copied artefacts, which are no part of any change."""


def add(place: Place, path: Path, *, commit: str, tree: str) -> Git:
    """Make a worktree with the content of `tree` and its HEAD at `commit`, on no branch."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with repository_lock(place.common):
        (place.common / "worktrees").mkdir(exist_ok=True)
        place.git.call("worktree", "add", "--quiet", "--no-checkout", "--detach", str(path), commit)
    # The pointer leads into the stand-in of the shared directory, which is gone with this process.
    git_dir = place.common / "worktrees" / Path(os.fsdecode((path / ".git").read_bytes()).rstrip("\n")).name
    (path / ".git").write_bytes(os.fsencode(f"gitdir: {git_dir}\n"))
    git = Git(directory=path, git_dir=git_dir, work_tree=path, inert=place.git.inert)
    git.call("read-tree", "--reset", "-u", tree)
    return git


def remove(common: Path, path: Path) -> None:
    """Remove a worktree in whatever state it is; of the repository only its own entry is touched."""
    _forget(
        common,
        [
            entry
            for entry, place in _listed(common)
            if place == path or (place is None and entry.name == path.name)
        ],
    )
    remove_tree(path)


def remove_all(common: Path, directory: Path, *, prefix: str) -> None:
    """Remove a directory of worktrees whose names start so, those too that git was killed over before it noted their place."""
    listed = _listed(common)
    _forget(
        common,
        [
            entry
            for entry, place in listed
            if entry.name.startswith(prefix) and (place is None or place.parent == directory)
        ],
    )
    remove_tree(directory)


def _listed(common: Path) -> list[tuple[Path, Path | None]]:
    """The repository's entry for each worktree, and the worktree's place as far as the entry tells."""
    listed: list[tuple[Path, Path | None]] = []
    for entry in (common / "worktrees").glob("*"):
        place = entry / "gitdir"
        told = os.fsdecode(place.read_bytes()).strip() if place.is_file() else ""
        listed.append((entry, Path(told).parent if told else None))
    return listed


def _forget(common: Path, entries: list[Path]) -> None:
    for entry in entries:
        remove_tree(entry)
    with repository_lock(common), suppress(OSError):  # in use by others, or never there
        (common / "worktrees").rmdir()


def remove_tree(path: Path) -> None:
    """Remove all of it that can be; the rest is for the next recovery."""
    if path.is_symlink() or path.is_file():
        path.unlink(missing_ok=True)
    elif path.is_dir():
        try:
            shutil.rmtree(path)
        except OSError:
            _make_writable(path)
            shutil.rmtree(path, ignore_errors=True)


def _make_writable(path: Path) -> None:
    """Tests leave read-only directories behind."""
    with suppress(OSError):
        path.chmod(stat.S_IRWXU)
        for directory, names, _ in os.walk(path):
            for inner in (Path(directory, name) for name in names):
                if not inner.is_symlink():
                    inner.chmod(stat.S_IRWXU)
