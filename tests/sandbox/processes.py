"""Finds processes by a mark in their environment: behind walls, they have other numbers."""

import time
from collections.abc import Callable
from pathlib import Path

MARK = "CODER_TEST_MARK"


def living(mark: str) -> list[int]:
    """The processes that carry the mark, zombies left out."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            marked = entry.name.isdigit() and f"{MARK}={mark}".encode() in (entry / "environ").read_bytes()
            if marked and (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def children(parent: int, words: str) -> list[int]:
    """The children of a process whose command line holds these words."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if (
                entry.name.isdigit()
                and int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == parent
            ):
                found += [int(entry.name)] if words in (entry / "cmdline").read_text() else []
        except OSError:
            continue
    return found


def all_gone(mark: str) -> bool:
    """Have they all ended, within a moment?"""
    return _waited(lambda: not living(mark))


def appears(mark: str, count: int) -> bool:
    """Are there so many, within a moment?"""
    return _waited(lambda: len(living(mark)) >= count)


def _waited(claim: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if claim():
            return True
        time.sleep(0.02)
    return False
