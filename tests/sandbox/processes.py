"""Search for processes by a mark in their environment, since a sandbox gives them other numbers."""

import time
from collections.abc import Callable
from pathlib import Path

MARK = "CODER_TEST_MARK"


def marked_processes(mark: str) -> list[int]:
    """Return the processes that carry the mark, except zombies."""
    pids = []
    for entry in Path("/proc").iterdir():
        try:
            marked = entry.name.isdigit() and f"{MARK}={mark}".encode() in (entry / "environ").read_bytes()
            if marked and (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                pids.append(int(entry.name))
        except OSError:
            continue
    return pids


def child_processes(parent: int, words: str) -> list[int]:
    """Return the children of a process whose command line contains the text."""
    pids = []
    for entry in Path("/proc").iterdir():
        try:
            if (
                entry.name.isdigit()
                and int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == parent
            ):
                pids += [int(entry.name)] if words in (entry / "cmdline").read_text() else []
        except OSError:
            continue
    return pids


def all_gone(mark: str) -> bool:
    """Return whether all have ended within a moment."""
    return _wait_until(lambda: not marked_processes(mark))


def has_appeared(mark: str, count: int) -> bool:
    """Return whether that many appear within a moment."""
    return _wait_until(lambda: len(marked_processes(mark)) >= count)


def _wait_until(claim: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if claim():
            return True
        time.sleep(0.02)
    return False
