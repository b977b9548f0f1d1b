"""The process that runs the whole suite of a repository in the background: its start and its stop."""

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from coder.directories import index_database
from coder.files.regular_files import lock_file


def start_suite_process(command: Sequence[str], root: Path) -> None:
    """Start a process that holds a lock on its repository's file from its first moment to its last.

    Raises:
        OSError: it cannot be started.
    """
    stop_suite_process(root)
    path = _process_file(root)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # locked until the process that was stopped has ended
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    null = subprocess.DEVNULL
    try:
        lock_file(lock)
        process = subprocess.Popen(
            command, stdin=null, stdout=null, stderr=null, cwd="/", start_new_session=True, pass_fds=(lock,)
        )
        os.write(lock, str(process.pid).encode())
    finally:
        os.close(lock)


def stop_suite_process(directory: Path) -> None:
    """Stop the process of the repository that contains a directory, if any; return immediately.

    This reads one file for each parent directory, so that a command can do it first.
    """
    directory = directory.absolute()
    for root in (directory, *directory.parents):
        with suppress(OSError, ValueError), _process_file(root).open("rb") as file:
            if lock_file(file.fileno(), wait=False) is False:  # it lives, and so has its number
                os.kill(int(file.read()), signal.SIGTERM)


def _process_file(root: Path) -> Path:
    """Return the file that names the process of a repository's whole suite."""
    return index_database(root).with_suffix(".whole_suite")
