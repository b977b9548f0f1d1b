"""Sandboxes around a sandbox: one ends its commands at once, one removes what they leave."""

import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from threading import Event
from typing import Any

from coder.core.errors import SandboxError
from coder.core.ports import Execution, Sandbox


class SandboxWrapper:
    """A Sandbox that passes all on to another one."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def run(self, argv: Sequence[str], **options: Any) -> Execution:
        return self._sandbox.run(argv, **options)

    def select_builds(self, private: Path, content: str) -> None:
        self._sandbox.select_builds(private, content)

    def share_builds(self, private: Path) -> None:
        self._sandbox.share_builds(private)

    def stop(self) -> None:
        self._sandbox.stop()


class BoundedSandbox(SandboxWrapper):
    """A Sandbox whose commands end as at their time limit once an event is set; none starts after it."""

    def __init__(self, sandbox: Sandbox, cut: Event) -> None:
        super().__init__(sandbox)
        self._cut = cut

    def run(self, argv: Sequence[str], **options: Any) -> Execution:
        if self._cut.is_set():
            raise SandboxError("the time for this is over")
        return super().run(argv, **{**options, "cut": options.get("cut") or self._cut})


FileStamp = tuple[int, int, int]
"""A file stamp that changes with every write: inode, size, change time in nanoseconds."""
Residue = dict[str, tuple[str, FileStamp]]
"""By path, relative to the worktree: what it is, as a phrase for the user, and its stamp."""


class ResidueSandbox(SandboxWrapper):
    """A Sandbox for a worktree that outlives its commands."""

    def __init__(self, sandbox: Sandbox, tree: Path, report: Callable[[str], None]) -> None:
        """Wrap `sandbox` for the worktree `tree`.

        `report` is called with a sentence on what was removed, in the thread that ran the command.
        """
        super().__init__(sandbox)
        self._tree = tree
        self._tell = report
        self._lock = threading.Lock()

    def run(self, argv: Sequence[str], **options: Any) -> Execution:
        with self.check_residue() as removed:
            execution = super().run(argv, **options)
        note = "".join(f"\n[{sentence}]" for sentence in removed)
        return execution.model_copy(update={"output": execution.output + note}) if note else execution

    @contextmanager
    def check_residue(self) -> Iterator[list[str]]:
        """Survey the worktree before and after the block, and remove what leads out of it or to git.

        On exit the list holds a sentence on each that was removed.
        """
        removed: list[str] = []
        with self._lock:
            pointer = _pointer_content(self._tree / ".git")
            before = survey_worktree(self._tree)
            try:
                yield removed
            finally:
                _restore_pointer(self._tree / ".git", pointer)
                for path, found in sorted(survey_worktree(self._tree).items()):
                    if before.get(path) != found:
                        _remove(self._tree / path)
                        removed.append(f"A command made {path}, {found[0]}; it was removed.")
                        self._tell(removed[-1])


def _pointer_content(pointer: Path) -> bytes | None:
    return pointer.read_bytes() if pointer.is_file() and not pointer.is_symlink() else None


def _restore_pointer(pointer: Path, content: bytes | None) -> None:
    """Restore a worktree's pointer to its repository, which some backends cannot protect."""
    if content is None or _pointer_content(pointer) == content:
        return
    _remove(pointer)
    pointer.write_bytes(content)


ENVIRONMENTS = frozenset({".venv", "venv", "env", "node_modules", ".tox", ".nox", "__pycache__"})
"""Directories that contain links and programs by design, and that are part of no change."""


def survey_worktree(tree: Path) -> Residue:
    """Return the repositories inside of a worktree, and the links that lead out of it."""
    return {path: (text, _file_stamp(tree / path)) for path, text in _find_residue(tree)}


def _remove(path: Path) -> None:
    """Remove a path; no symbolic link on the way is followed, since the survey followed none."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _find_residue(tree: Path) -> Iterator[tuple[str, str]]:
    root = os.path.realpath(tree)
    for directory, folders, files in os.walk(tree):
        relative = PurePosixPath(os.path.relpath(directory, tree))
        if relative.parts and {"HEAD", "objects", "refs"} <= {*folders, *files}:
            yield str(relative), "a bare git repository inside of the worktree"
            folders.clear()
            continue
        for path in (relative / name for name in (*folders, *files)):
            if path.name == ".git":
                if relative.parts:
                    yield str(path), "a git repository inside of the worktree"
            elif (tree / path).is_symlink():
                target = Path(os.path.realpath(tree / path))
                if not target.is_relative_to(root):
                    yield str(path), f"a symbolic link that leads out of the worktree, to {target}"
        folders[:] = [name for name in folders if name != ".git" and name not in ENVIRONMENTS]


def _file_stamp(path: Path) -> FileStamp:
    status = path.lstat()
    return status.st_ino, status.st_size, status.st_ctime_ns
