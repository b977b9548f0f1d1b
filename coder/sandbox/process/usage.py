"""What a tree of processes uses, read from /proc; standard library only, for the launcher."""

import contextlib
import os
import sys
import time
from typing import Any

SHORTEST_PAUSE, LONGEST_PAUSE = 0.1, 1.0
SHARE = 50
"""Looking may take one part in so many of the time."""
PAGE = os.sysconf("SC_PAGE_SIZE")
# ruff: noqa: PTH112, PTH116, PTH123, PTH208 - no pathlib: start-up time


class Watch:
    """Says when a tree takes more than it may of what the kernel cannot refuse: memory and processes in sum, disk."""

    def __init__(self, limits: dict[str, Any]) -> None:
        self._processes: int = limits["processes"]
        self._memory: int = limits["resident_bytes"]
        self._disk: int = limits["disk_bytes"]
        self._free = {directory: free_bytes(directory) for directory in limits["directories"]}
        self._shared = shared_bytes()
        self.pause = SHORTEST_PAUSE
        """Seconds until the next look."""

    def exceeded(self, root: int) -> str:
        """Which limit the processes below `root` have exceeded, in words."""
        started = time.monotonic()
        found = self._exceeded(descendants(root))
        self.pause = min(max(SHORTEST_PAUSE, SHARE * (time.monotonic() - started)), LONGEST_PAUSE)
        return found

    def _exceeded(self, pids: list[int]) -> str:
        if len(pids) > self._processes:
            return f"more than {self._processes} processes"
        # Memory in a memfd or a tmpfs that nobody has mapped is in no process: only the sum of the whole machine shows it.
        if sum(map(private_bytes, pids)) + max(0, shared_bytes() - self._shared) > self._memory:
            return f"more than {self._memory >> 20} MiB of memory"
        if any(before - free_bytes(directory) > self._disk for directory, before in self._free.items()):
            return f"more than {self._disk >> 20} MiB of disk"
        return ""


def descendants(root: int) -> list[int]:
    """All processes below `root`."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:
                children.setdefault(int(stat.read().rpartition(b")")[2].split()[1]), []).append(int(name))
    found: list[int] = []
    todo = [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def private_bytes(pid: int) -> int:
    """Resident memory of a process that it shares with no file and no other."""
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/statm", "rb") as statm:
        words = statm.read().split()
        return (int(words[1]) - int(words[2])) * PAGE
    return 0


def shared_bytes() -> int:
    """Memory of this machine in memfds, tmpfs and shared anonymous mappings."""
    with contextlib.suppress(OSError), open("/proc/meminfo", "rb") as meminfo:
        return next((int(line.split()[1]) << 10 for line in meminfo if line.startswith(b"Shmem:")), 0)
    return 0


def free_bytes(directory: str) -> int:
    try:
        told = os.statvfs(directory)
    except OSError:  # it is gone: nothing is written there any more
        return sys.maxsize
    return told.f_bavail * told.f_frsize


def threads_of_user(user: int) -> int:
    """How many threads a user has; 0 for root, whom the kernel does not limit, and where it cannot be told."""
    count = 0
    for name in os.listdir("/proc") if user and os.path.isdir("/proc") else ():
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                if os.stat(f"/proc/{name}").st_uid == user:
                    with open(f"/proc/{name}/stat", "rb") as stat:
                        count += int(stat.read().rpartition(b")")[2].split()[17])
    return count
