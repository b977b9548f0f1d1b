"""End of this process on SIGINT and SIGTERM: in order where that is quick, else by force."""

import atexit
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
"""Exit code of an interrupted command."""
SESSION_SECONDS = 1.0
"""Time for a session to end in order: its log gets a last event, and its worktrees are removed."""
COMMAND_SECONDS = 0.5
"""Time for everything else to end in order."""
CLEANUP_SECONDS = 0.4
"""Time to remove worktrees after that; what is left is removed by the next session."""


@contextmanager
def end_on_signals(
    request_end: Callable[[], object],
    *,
    seconds: float = SESSION_SECONDS,
    end_part: Callable[[], bool] = lambda: False,
) -> Iterator[None]:
    """Call `request_end` on the first SIGINT or SIGTERM in the block, after which the process has `seconds`.

    Then, or on a second signal, it ends whatever its threads do; their commands are killed by the sandbox,
    whose pipes close. Signals that are ignored count as well: shells ignore SIGINT for what they start in the
    background. Where `end_part` returns True it has ended a part of the work alone, and the rest goes on.
    """
    is_ending = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        if is_ending.is_set():
            end_now()
        if end_part():
            return
        is_ending.set()
        threading.Thread(target=_end_later, args=(seconds,), daemon=True).start()
        try:
            request_end()
        finally:  # not before: an error of a terminated git must not be the result of the work
            threading.Thread(target=_terminate_children, daemon=True).start()

    previous = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


RECOVERY = "from coder.wiring.conversations import recover_sessions; recover_sessions()"


@contextmanager
def clean_up_if_killed() -> Iterator[None]:
    """Have a process of its own remove this one's worktrees, should it be killed in the block.

    Agents kill a hook that the user interrupts, or whose time is over, and no session may follow.
    """
    script = 'read -r line || exec "$0" -P -c "$1"'
    with subprocess.Popen(
        ["/bin/sh", "-c", script, sys.executable, RECOVERY], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, cwd="/", start_new_session=True, text=True,
    ) as guard:  # fmt: skip
        try:
            yield
        finally:
            guard.communicate("ended\n")


def _end_later(seconds: float) -> None:
    time.sleep(seconds)
    end_now()


def end_now(exit_code: int = INTERRUPTED) -> NoReturn:
    """Remove the worktrees of this process's sessions as far as that is quick, and end it."""
    cleanup = threading.Thread(target=_clean_up, daemon=True)
    cleanup.start()
    cleanup.join(CLEANUP_SECONDS)
    os._exit(exit_code)


def _clean_up() -> None:
    from coder.directories import sessions_directory
    from coder.repo.recovery import remove_own_traces

    _terminate_children()
    remove_own_traces(sessions_directory())
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    atexit._run_exitfuncs()  # of temporary directories


def _terminate_children() -> None:
    """Terminate child processes of this process's own session, such as git, which then removes its locks.

    Left alone are those in sessions of their own: the sandbox's, which end with this process, and a git that
    writes the user's files.
    """
    from coder.sandbox.launcher import descendants, parents

    for pid in descendants(os.getpid(), parents()):
        with suppress(OSError):
            if os.getsid(pid) == os.getsid(0):
                os.kill(pid, signal.SIGTERM)
