"""Removal of directory trees that nobody waits for."""

import os
import secrets
import subprocess
import time
from contextlib import suppress
from pathlib import Path

DISCARDED = ".removed-"
"""Marks the name of a tree that is being removed."""
PATIENCE_SECONDS = 0.2
"""Time that the caller spends on a removal; a larger tree is left to a process of its own."""
REMOVAL = (
    '( nice -n 19 rm -rf -- "$1" || { find "$1" -type d -exec chmod u+rwx {} \\; ; rm -rf -- "$1"; } ) &'
)
"""Shell script that removes a tree in the background; tests leave read-only directories behind."""


def discard_tree(path: Path, *, lock: int | None = None) -> None:
    """Remove a path: on return it is gone, though a large tree still exists under another name beside it.

    The process that removes the rest shares the descriptor `lock`, so that its lock is held until then.
    """
    if path.is_symlink() or path.is_file():
        path.unlink(missing_ok=True)
        return
    if not path.is_dir():
        return
    doomed = path.with_name(f"{path.name.partition(DISCARDED)[0]}{DISCARDED}{secrets.token_hex(4)}")
    with suppress(FileNotFoundError):
        path.rename(doomed)
        if not _remove_until(doomed, deadline=time.monotonic() + PATIENCE_SECONDS):
            _remove_in_background(doomed, lock)


def _remove_until(directory: Path, *, deadline: float) -> bool:
    """Remove a tree without following links; return False if time ran out or something cannot be removed."""
    try:
        for _, directories, files, descriptor in os.fwalk(directory, topdown=False, onerror=_raise):
            for name in files:
                os.unlink(name, dir_fd=descriptor)
            for name in directories:
                _remove_entry(name, descriptor)
            if time.monotonic() > deadline:
                return False
        directory.rmdir()
    except FileNotFoundError:  # another process removes it, too
        return not directory.exists()
    except OSError:
        return False
    return True


def _raise(error: OSError) -> None:
    raise error


def _remove_entry(name: str, descriptor: int) -> None:
    """Remove an empty directory, or a link to a directory."""
    try:
        os.rmdir(name, dir_fd=descriptor)
    except NotADirectoryError:
        os.unlink(name, dir_fd=descriptor)


def _remove_in_background(directory: Path, lock: int | None) -> None:
    with suppress(OSError):
        subprocess.run(
            ["/bin/sh", "-c", REMOVAL, "sh", str(directory)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"PATH": "/usr/bin:/bin"},
            start_new_session=True,
            pass_fds=() if lock is None else (lock,),
            check=False,
        )
