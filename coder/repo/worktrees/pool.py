"""Pool of clean worktrees: one that was used is reset for the next run instead of being made anew."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from coder.core.errors import GitError
from coder.repo.worktrees.worktree import Worktree, remove_tree


class WorktreePool:
    """Clean worktrees of one repository, each used by one thread at a time; safe to call from several."""

    def __init__(
        self,
        free_path: Callable[[], Path],
        add: Callable[[Path, str], Worktree],
        *,
        copy_artifacts: Callable[[Path], object],
    ) -> None:
        """`add` makes a worktree with the content of a tree, and copies the artefacts that tests need."""
        self._free_path = free_path
        self._add = add
        self._copy_artifacts = copy_artifacts
        self._lock = threading.Lock()
        self._idle: list[Worktree] = []

    @contextmanager
    def checkout(self, tree: str) -> Iterator[Path]:
        """Provide a worktree with the content of `tree` and of nothing else, until exit.

        Its path is new each time, since much is remembered by path.
        """
        taken = self._reset_idle(self._free_path(), tree) or self._add(self._free_path(), tree)
        try:
            yield taken.path
        finally:
            with self._lock:
                self._idle.append(taken)

    def _reset_idle(self, path: Path, tree: str) -> Worktree | None:
        """Return an idle worktree, moved and reset to `tree`; None if there is none that can be."""
        with self._lock:
            taken = self._idle.pop() if self._idle else None
        if taken is None:
            return None
        with suppress(GitError, OSError):
            moved = move_worktree(taken, path)
            reset_clean(moved, tree)
            self._copy_artifacts(path)
            return moved
        remove_tree(taken.path)  # its entry in the repository goes when the session ends
        remove_tree(path)
        return None


def move_worktree(used: Worktree, path: Path) -> Worktree:
    """Move a worktree to a free path.

    Raises:
        OSError: it cannot be moved.
    """
    assert used.git.git_dir is not None
    used.path.rename(path)
    (used.git.git_dir / "gitdir").write_bytes(os.fsencode(f"{path / '.git'}\n"))
    return replace(used, path=path, git=replace(used.git, directory=path, work_tree=path))


def reset_clean(used: Worktree, tree: str) -> None:
    """Reset a worktree to `tree` and remove everything else in it, ignored files included.

    Raises:
        GitError: git could not reset it.
        OSError: something in it cannot be removed.
    """
    pointer = used.path / ".git"
    remove_tree(pointer)
    pointer.write_bytes(os.fsencode(f"gitdir: {used.git.git_dir}\n"))
    others = used.git.items("ls-files", "--others", "--directory", "-z")
    for path in (*used.artifacts, *others):  # git lists no file inside of a submodule
        remove_tree(used.path / path.rstrip("/"))
    for special in list(_find_special_files(used.path)):  # such as pipes, which git does not list
        special.unlink()
    used.git.call("read-tree", "--reset", "-u", tree)
    if left := used.git.items("ls-files", "--others", "--directory", "-z"):
        raise OSError(f"{left[0]} could not be removed")


def _find_special_files(directory: Path) -> Iterator[Path]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _find_special_files(Path(entry))
            elif not (entry.is_symlink() or entry.is_file(follow_symlinks=False)):
                yield Path(entry)
