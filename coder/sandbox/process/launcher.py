"""Stands between coder and its commands: starts each with its limits, and outlives it until no process of it is left.

One process that forks for every command, because starting Python each time would cost more than the walls do. Standard library only.
For each command one byte comes through the door with four descriptors: ORDERS, a file; LIFELINE, a pipe whose other end only coder
holds: when it closes (time-out, stop, coder itself killed), everything dies; STATUS, which takes lines: `supervisor N`, `pid N`, then
`exit N`, `exceeded TEXT` or `error TEXT`, then `gone now`; OUTPUT, the command's stdout and stderr.
"""

import contextlib
import ctypes
import gc
import marshal
import os
import resource
import select
import signal
import socket
import sys
import time
from typing import Any

from coder.sandbox.kernel import broker
from coder.sandbox.kernel.confinement import confine
from coder.sandbox.process.usage import Watch, descendants, threads_of_user

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PATIENCE_SECONDS = 5.0
"""How long processes that do not die of SIGKILL at once (disk wait) are waited for."""
LAST_SECONDS = 0.02
"""How long what ends by itself once its command has, as the first process of a namespace does, is left to it."""
COUNT_SECONDS = 10.0
"""How long the number of the person's own threads is taken as known."""
LIBC = ctypes.CDLL(None)
"""Opened before any fork, which is quicker than after each."""


def serve(door: socket.socket) -> None:
    """Start what is ordered until the other end of the door is closed."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # supervisors need no burial
    gc.disable()  # a fork copies no page that nobody touches
    gc.freeze()
    counted_at, own_threads = 0.0, 0
    while True:
        message, descriptors, _, _ = socket.recv_fds(door, 1, 4)
        if not message:
            return
        if time.monotonic() - counted_at > COUNT_SECONDS:
            own_threads, counted_at = threads_of_user(os.getuid()), time.monotonic()
        if os.fork() == 0:
            door.close()
            supervise(*descriptors, own_threads=own_threads)
        for descriptor in descriptors:
            os.close(descriptor)


def supervise(orders: int, lifeline: int, status: int, output: int, *, own_threads: int) -> None:
    """Run one command to its end; never returns."""
    try:
        for descriptor in (orders, lifeline, status, output):  # what comes through a door is inheritable
            os.set_inheritable(descriptor, False)
        with open(orders, "rb") as file:
            order = marshal.load(file)
        os.write(status, f"supervisor {os.getpid()}\n".encode())
        told = _supervised(order, lifeline=lifeline, status=status, output=output, own_threads=own_threads)
        os.write(status, f"{told}\ngone now\n".encode())
    finally:
        os._exit(0)


def _supervised(order: dict[str, Any], *, lifeline: int, status: int, output: int, own_threads: int) -> str:
    control(PR_SET_CHILD_SUBREAPER, 1)
    watch = Watch(order["limits"])
    wakeup, alarm = os.pipe()
    os.set_blocking(alarm, False)
    signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    held, _holding = os.pipe() if order.get("held_input") else (None, None)  # ends with this process, whatever ends it
    near, far = socket.socketpair()
    child = os.fork()
    if child == 0:
        if held is not None:
            os.dup2(held, 0)
        become(order, status=status, output=output, own_threads=own_threads, far=far)
    far.close()
    if (order["confinement"] or {}).get("brokered"):
        broker.start(near, order["confinement"])
    os.close(output)
    os.write(status, f"pid {child}\n".encode())
    told = wait(child, lifeline=lifeline, wakeup=wakeup, watch=watch)
    if told.startswith("exit"):
        see_off(wakeup)
    end_tree(child)
    return told


def control(option: int, value: int) -> None:
    """Call prctl(2), on the one system that has it."""
    if sys.platform == "linux":
        LIBC.prctl(option, value, 0, 0, 0)


def become(order: dict[str, Any], *, status: int, output: int, own_threads: int, far: socket.socket) -> None:
    """Turn this forked process into the command; never returns. Through `far` goes what its system calls are answered at, if any."""
    try:
        os.setsid()
        control(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(output, 1)
        os.dup2(output, 2)
        for number, content in order["data"].items():
            _provide(number, content)
        _limit(order["limits"], own_threads)
        os.chdir(order["directory"])
        if (listener := confine(order["confinement"])) is not None:
            socket.send_fds(far, [b"!"], [listener])
        os.execvpe(order["argv"][0], order["argv"], order["environment"])
    except (OSError, ValueError) as error:
        os.write(status, f"error {error}\n".encode())
    finally:
        os._exit(127)


def _provide(number: int, content: bytes) -> None:
    """Let the command find some bytes at a descriptor."""
    file = os.memfd_create("coder")
    os.write(file, content)
    os.lseek(file, 0, os.SEEK_SET)
    os.dup2(file, number)
    os.close(file)


def _limit(limits: dict[str, int], own_threads: int) -> None:
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_AS: limits["memory_bytes"],
        resource.RLIMIT_CPU: limits["cpu_seconds"],
        resource.RLIMIT_NOFILE: limits["open_files"],
        resource.RLIMIT_FSIZE: limits["file_bytes"],
        # Counts the threads of all processes of this user: a backstop, far above what the watch allows.
        resource.RLIMIT_NPROC: own_threads + 4 * limits["processes"] if own_threads else None,
    }
    for kind, value in wanted.items():
        hard = resource.getrlimit(kind)[1]
        if value is not None and (hard == resource.RLIM_INFINITY or value < hard):
            resource.setrlimit(kind, (value, value))


def wait(child: int, *, lifeline: int, wakeup: int, watch: Watch) -> str:
    """What to tell at the end: the child's exit code, negative for a signal; nothing when the lifeline closed first."""
    while True:
        ready, _, _ = select.select([lifeline, wakeup], [], [], watch.pause)
        if wakeup in ready:
            os.read(wakeup, 512)
            _, codes = reap()
            if child in codes:
                return f"exit {codes[child]}"
        if lifeline in ready:
            return ""
        if exceeded := watch.exceeded(os.getpid()):
            return f"exceeded {exceeded}"


def reap() -> tuple[bool, dict[int, int]]:
    """Collect the dead: are there children left, and the exit codes of those that were collected."""
    codes: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False, codes
        if pid == 0:
            return True, codes
        codes[pid] = os.waitstatus_to_exitcode(status)


def see_off(wakeup: int) -> None:
    """Let what is about to end do so: to look for it takes longer."""
    give_up = time.monotonic() + LAST_SECONDS
    while reap()[0] and (left := give_up - time.monotonic()) > 0:
        if select.select([wakeup], [], [], left)[0]:
            os.read(wakeup, 512)


def end_tree(child: int) -> None:
    """Kill whatever is left; on Linux orphans are our children, so no daemon escapes, elsewhere the process group must do."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while reap()[0] and time.monotonic() < give_up:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        # What forks faster than it is found is stopped first: a stopped process forks no more.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in descendants(os.getpid()) if sys.platform == "linux" else [child]:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        time.sleep(0.002)
