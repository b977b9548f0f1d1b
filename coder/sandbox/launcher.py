"""Launcher process that starts each command with its limits and waits until its process tree is gone.

One process forks for every command, because starting Python each time would take longer than setting up the
sandbox. Standard library only. For each command one byte comes through the door with four descriptors:
ORDERS, a file; LIFELINE, a pipe whose other end only coder holds: when it closes (time-out, stop, coder
itself killed), the tree is killed; STATUS, which takes lines: `supervisor N`, `pid N`, then `exit N`,
`exceeded TEXT` or `error TEXT`, then `gone now`; OUTPUT, for stdout and stderr of the command.
"""

import contextlib
import ctypes
import errno
import gc
import marshal
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any

from coder.sandbox import broker
from coder.sandbox.confinement import confine_process

SHORTEST_PAUSE, LONGEST_PAUSE = 0.1, 1.0
CHECK_TIME_SHARE = 50
"""Checking the limits may take one part in so many of the time."""
PAGE = os.sysconf("SC_PAGE_SIZE")
PS = "/bin/ps"


# ruff: noqa: PTH110, PTH116, PTH123, PTH208 - no pathlib: start-up time


class LimitMonitor:
    """Monitor of the limits that the kernel does not enforce: total memory, processes, disk."""

    def __init__(self, limits: dict[str, Any]) -> None:
        self._processes: int = limits["processes"]
        self._memory: int = limits["resident_bytes"]
        self._disk: int = limits["disk_bytes"]
        self._free = {directory: free_bytes(directory) for directory in limits["directories"]}
        self._shared = shared_bytes()
        self.pause = SHORTEST_PAUSE
        """Seconds until the next check."""

    def find_exceeded_limit(self, root: int) -> str:
        """Return which limit the processes below `root` exceed, in words; empty if none."""
        started = time.monotonic()
        limit = self._find_exceeded(descendants(root, parents()))
        self.pause = min(max(SHORTEST_PAUSE, CHECK_TIME_SHARE * (time.monotonic() - started)), LONGEST_PAUSE)
        return limit

    def _find_exceeded(self, pids: list[int]) -> str:
        if len(pids) > self._processes:
            return f"more than {self._processes} processes"
        # Unmapped memory in a memfd or tmpfs belongs to no process: only the total of the machine shows it.
        if private_bytes(pids) + max(0, shared_bytes() - self._shared) > self._memory:
            return f"more than {self._memory >> 20} MiB of memory"
        if any(before - free_bytes(directory) > self._disk for directory, before in self._free.items()):
            return f"more than {self._disk >> 20} MiB of disk"
        return ""


def descendants(root: int, table: Mapping[int, int]) -> list[int]:
    """Return the ids of all processes below `root`, by the table of parents."""
    children: dict[int, list[int]] = {}
    for pid, parent in table.items():
        children.setdefault(parent, []).append(pid)
    pids: list[int] = []
    pending = [root]
    while pending:
        direct_children = children.get(pending.pop(), [])
        pids += direct_children
        pending += direct_children
    return pids


def parents() -> dict[int, int]:
    """Return the parent's id by process id, from /proc or, where there is none, from ps(1)."""
    if not has_proc():
        return {pid: parent for pid, parent, _ in list_processes()}
    table = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:
                table[int(name)] = int(stat.read().rpartition(b")")[2].split()[1])
    return table


def has_proc() -> bool:
    """Return whether this system shows processes as files (Linux)."""
    return os.path.exists("/proc/self/stat")


def list_processes() -> list[tuple[int, int, int]]:
    """Return the id, parent's id and resident bytes of all processes, from ps(1) of POSIX."""
    arguments = [PS, "-A", "-o", "pid=", "-o", "ppid=", "-o", "rss="]
    reading, writing = os.pipe()
    pid = os.posix_spawn(
        PS,
        arguments,
        {"PATH": "/usr/bin:/bin"},
        file_actions=[(os.POSIX_SPAWN_DUP2, writing, 1), (os.POSIX_SPAWN_CLOSE, reading)],
    )
    os.close(writing)
    with open(reading, encoding="ascii", errors="replace") as output:
        rows = [line.split() for line in output]
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
    return [
        (int(row[0]), int(row[1]), int(row[2]) << 10) for row in rows if len(row) == 3 and int(row[0]) != pid
    ]


def private_bytes(pids: list[int]) -> int:
    """Return the resident memory of processes that they share with no file and no other process.

    Without /proc, their resident memory: what they share counts for each.
    """
    if not has_proc():
        return sum(resident for pid, _, resident in list_processes() if pid in pids)
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/statm", "rb") as statm:
            words = statm.read().split()
            total += (int(words[1]) - int(words[2])) * PAGE
    return total


def shared_bytes() -> int:
    """Return this machine's memory in memfds, tmpfs and shared anonymous mappings."""
    with contextlib.suppress(OSError), open("/proc/meminfo", "rb") as meminfo:
        return next((int(line.split()[1]) << 10 for line in meminfo if line.startswith(b"Shmem:")), 0)
    return 0


def free_bytes(directory: str) -> int:
    """Return the free bytes of a directory's file system; the largest integer if the directory is gone."""
    try:
        status = os.statvfs(directory)
    except OSError:  # it is gone: nothing is written there any more
        return sys.maxsize
    return status.f_bavail * status.f_frsize


def threads_of_user(user: int) -> int:
    """Return the number of a user's threads.

    0 for root, whom the kernel does not limit, and where the number cannot be read.
    """
    count = 0
    for name in os.listdir("/proc") if user and has_proc() else ():
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                if os.stat(f"/proc/{name}").st_uid == user:
                    with open(f"/proc/{name}/stat", "rb") as stat:
                        count += int(stat.read().rpartition(b")")[2].split()[17])
    return count


PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
ADDR_NO_RANDOMIZE, CURRENT_PERSONALITY = 0x0040000, 0xFFFFFFFF
KILL_WAIT_SECONDS = 5.0
"""The wait for processes that do not die of SIGKILL at once (disk wait)."""
EXIT_WAIT_SECONDS = 0.02
"""The wait for processes that end after the command, such as the first of a namespace."""
THREAD_COUNT_SECONDS = 10.0
"""The time for which a count of the user's own threads is reused."""
LIBC = ctypes.CDLL(None)
"""Opened before any fork, which is faster than after each."""


def serve(door: socket.socket) -> None:
    """Start commands as ordered until the other end of the door is closed."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # supervisors are reaped by the kernel
    gc.disable()  # the collector would touch, and so copy, pages shared with forks
    gc.freeze()
    counted_at, own_threads = 0.0, 0
    while True:
        message, descriptors, _, _ = socket.recv_fds(door, 1, 4)
        if not message:
            return
        if time.monotonic() - counted_at > THREAD_COUNT_SECONDS:
            own_threads, counted_at = threads_of_user(os.getuid()), time.monotonic()
        if os.fork() == 0:
            door.close()
            supervise(*descriptors, own_threads=own_threads)
        for descriptor in descriptors:
            os.close(descriptor)


def supervise(orders: int, lifeline: int, status: int, output: int, *, own_threads: int) -> None:
    """Run one command to its end; never return."""
    try:
        for descriptor in (orders, lifeline, status, output):  # received descriptors are inheritable
            os.set_inheritable(descriptor, False)
        with open(orders, "rb") as file:
            order = marshal.load(file)
        os.write(status, f"supervisor {os.getpid()}\n".encode())
        report = _run_supervised(
            order, lifeline=lifeline, status=status, output=output, own_threads=own_threads
        )
        os.write(status, f"{report}\ngone now\n".encode())
    finally:
        os._exit(0)


def _run_supervised(
    order: dict[str, Any], *, lifeline: int, status: int, output: int, own_threads: int
) -> str:
    call_prctl(PR_SET_CHILD_SUBREAPER, 1)
    watch = LimitMonitor(order["limits"])
    wakeup, alarm = os.pipe()
    os.set_blocking(alarm, False)
    signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # The writing end closes with this process, however it ends.
    input_end, _input_writer = os.pipe() if order.get("held_input") else (None, None)
    near, far = socket.socketpair()
    child = os.fork()
    if child == 0:
        if input_end is not None:
            os.dup2(input_end, 0)
        execute_command(order, status=status, output=output, own_threads=own_threads, far=far)
    far.close()
    if (order["confinement"] or {}).get("brokered"):
        broker.start_broker(near, order["confinement"])
    os.close(output)
    os.write(status, f"pid {child}\n".encode())
    report = wait_for_child(child, lifeline=lifeline, wakeup=wakeup, watch=watch)
    if report.startswith("exit"):
        wait_briefly(wakeup)
    kill_tree(child)
    return report


def call_prctl(option: int, value: int) -> None:
    """Call prctl(2) on Linux; do nothing elsewhere."""
    if sys.platform == "linux":
        LIBC.prctl(option, value, 0, 0, 0)


def keep_addresses() -> None:
    """Have programs find the same addresses each time, where Linux allows it.

    Python before 3.12 hashes None by its address, so that the order of a set, and ids of tests that are made
    from one, would differ from run to run whatever the hash seed.
    """
    if sys.platform == "linux":
        LIBC.personality(LIBC.personality(CURRENT_PERSONALITY) | ADDR_NO_RANDOMIZE)


def execute_command(
    order: dict[str, Any], *, status: int, output: int, own_threads: int, far: socket.socket
) -> None:
    """Execute the command in this forked process; never return.

    The listener of brokered system calls, if any, is sent through `far`.
    """
    try:
        os.setsid()
        call_prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        keep_addresses()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(output, 1)
        os.dup2(output, 2)
        for number, content in order["data"].items():
            _provide(number, content)
        _set_limits(order["limits"], own_threads)
        os.chdir(order["directory"])
        if (listener := confine_process(order["confinement"])) is not None:
            socket.send_fds(far, [b"!"], [listener])
        _execute_program(order["argv"], order["environment"])
    except (OSError, ValueError) as error:
        os.write(status, f"error {error}\n".encode())
    finally:
        os._exit(127)


def _execute_program(argv: list[str], environment: dict[str, str]) -> None:
    """Execute a program as shells find it: directories on PATH that may not be entered hold none."""
    try:
        os.execvpe(argv[0], argv, environment)
    except PermissionError as error:
        if os.sep in argv[0] or os.path.lexists(error.filename):
            raise
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0]) from None


def _provide(number: int, content: bytes) -> None:
    """Let the command read `content` at descriptor `number`."""
    file = os.memfd_create("coder")
    os.write(file, content)
    os.lseek(file, 0, os.SEEK_SET)
    os.dup2(file, number)
    os.close(file)


def _set_limits(limits: dict[str, int], own_threads: int) -> None:
    resources = {
        resource.RLIMIT_CORE: 0,
        # macOS accepts no limit below what a process has mapped already, and applies none.
        resource.RLIMIT_AS: limits["memory_bytes"] if sys.platform == "linux" else None,
        resource.RLIMIT_CPU: limits["cpu_seconds"],
        resource.RLIMIT_NOFILE: limits["open_files"],
        resource.RLIMIT_FSIZE: limits["file_bytes"],
        # Counts the threads of all processes of this user: a backstop far above the limit of the watch.
        resource.RLIMIT_NPROC: own_threads + 4 * limits["processes"] if own_threads else None,
    }
    for kind, value in resources.items():
        hard = resource.getrlimit(kind)[1]
        if value is not None and (hard == resource.RLIM_INFINITY or value < hard):
            resource.setrlimit(kind, (value, value))


def wait_for_child(child: int, *, lifeline: int, wakeup: int, watch: LimitMonitor) -> str:
    """Wait for the child and return the final status line.

    It holds the exit code, negative for a signal, or the exceeded limit; empty if the lifeline closed first.
    """
    while True:
        ready, _, _ = select.select([lifeline, wakeup], [], [], watch.pause)
        if wakeup in ready:
            os.read(wakeup, 512)
            _, codes = reap_children()
            if child in codes:
                return f"exit {codes[child]}"
        if lifeline in ready:
            return ""
        if exceeded := watch.find_exceeded_limit(os.getpid()):
            return f"exceeded {exceeded}"


def reap_children() -> tuple[bool, dict[int, int]]:
    """Collect ended children; return whether any are left, and the exit codes of those collected."""
    codes: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False, codes
        if pid == 0:
            return True, codes
        codes[pid] = os.waitstatus_to_exitcode(status)


def wait_briefly(wakeup: int) -> None:
    """Wait briefly for processes that are about to end, which is faster than searching for them."""
    give_up = time.monotonic() + EXIT_WAIT_SECONDS
    while reap_children()[0] and (seconds_left := give_up - time.monotonic()) > 0:
        if select.select([wakeup], [], [], seconds_left)[0]:
            os.read(wakeup, 512)


def kill_tree(child: int) -> None:
    """Kill all remaining processes.

    On Linux orphans become our children, so no daemon escapes; elsewhere what still descends from us is
    killed, and the command's session: only a daemon that has left it escapes.
    """
    give_up = time.monotonic() + KILL_WAIT_SECONDS
    while time.monotonic() < give_up:
        has_children, _ = reap_children()
        pids = find_remaining(child) if has_children or not has_proc() else []
        if not has_children and not pids:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        # Stop processes first, since they could fork faster than they are found.
        send_signal(signal.SIGSTOP, pids)
        send_signal(signal.SIGKILL, find_remaining(child))
        time.sleep(0.002)


def send_signal(number: signal.Signals, pids: Iterable[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def find_remaining(leader: int) -> list[int]:
    """Return the processes below this one and, where none adopts orphans, those of a session."""
    table = parents()
    session = () if has_proc() else (pid for pid in table if is_in_session(pid, leader))
    return [*descendants(os.getpid(), table), *session]


def is_in_session(pid: int, leader: int) -> bool:
    try:
        return os.getsid(pid) == leader
    except OSError:
        return False
