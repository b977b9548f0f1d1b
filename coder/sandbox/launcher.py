"""Stands between coder and one command: starts it with limits, and outlives it until no process of it is left.

Run as a script by the interpreter that coder runs on (stdlib only): `launcher.py LIFELINE STATUS MEMORY CWD COMMAND...`.
LIFELINE is a pipe whose other end only coder holds: when it closes (time-out, stop, coder itself killed), everything dies.
STATUS takes `pid N`, then `exit N` or `error TEXT`.
"""

import contextlib
import ctypes
import os
import resource
import select
import signal
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PATIENCE_SECONDS = 5.0
"""How long processes that do not die of SIGKILL at once (disk wait) are waited for."""


def main() -> None:
    lifeline, status, memory = (int(word) for word in sys.argv[1:4])
    for descriptor in (lifeline, status):
        os.set_inheritable(descriptor, False)
    control(PR_SET_CHILD_SUBREAPER, 1)
    wakeup, alarm = os.pipe()
    os.set_blocking(alarm, False)
    signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    child = os.fork()
    if child == 0:
        become(sys.argv[5:], directory=sys.argv[4], memory=memory, status=status)
    os.write(status, f"pid {child}\n".encode())
    code = wait(child, lifeline=lifeline, wakeup=wakeup)
    end_tree(child)
    if code is not None:
        os.write(status, f"exit {code}\n".encode())


def control(option: int, value: int) -> None:
    """Call prctl(2), on the one system that has it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def become(command: list[str], *, directory: str, memory: int, status: int) -> None:
    """Turn this forked process into the command; never returns."""
    try:
        os.setsid()
        control(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        os.chdir(directory)
        os.execvp(command[0], command)
    except (OSError, ValueError) as error:
        os.write(status, f"error {error}\n".encode())
    finally:
        os._exit(127)


def wait(child: int, *, lifeline: int, wakeup: int) -> int | None:
    """Return the child's exit code, negative for a signal; None when the lifeline closed first."""
    while True:
        ready, _, _ = select.select([lifeline, wakeup], [], [])
        if wakeup in ready:
            os.read(wakeup, 512)
            _, codes = reap()
            if child in codes:
                return codes[child]
        if lifeline in ready:
            return None


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


def end_tree(child: int) -> None:
    """Kill whatever is left; on Linux orphans are our children, so no daemon escapes, elsewhere the process group must do."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    if sys.platform != "linux":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
    while reap()[0] and time.monotonic() < give_up:
        for pid in descendants(os.getpid()) or [child]:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)


def descendants(root: int) -> list[int]:
    """All processes below `root`, from /proc."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():  # noqa: PTH208, PTH112 - no pathlib: start-up time
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:  # noqa: PTH123
                children.setdefault(int(stat.read().rpartition(b")")[2].split()[1]), []).append(int(name))
    found: list[int] = []
    todo = [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


if __name__ == "__main__":
    main()
