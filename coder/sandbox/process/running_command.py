"""One command under its supervisor: output and status read until its process tree is gone."""

import contextlib
import os
import selectors
import signal
import threading
import time
from collections.abc import Mapping

from coder.core.errors import SandboxError
from coder.core.ports.sandbox import Execution, Limits, Progress
from coder.sandbox.process.capture import OutputCapture
from coder.sandbox.process.launcher_client import CommandPipes, ParentPipe

CUT_CHECK_SECONDS = 0.2
"""The time between two looks at whether a command is to be cut short."""
GRACE_SECONDS = 8.0
"""The time a supervisor has to end its tree before it is killed itself."""


class RunningCommand:
    """One command under its supervisor."""

    def __init__(
        self, name: str, pipes: CommandPipes, lifeline: ParentPipe, cut: threading.Event | None
    ) -> None:
        self._name = name
        self._cut = cut
        self._pipes = pipes
        self._lifeline = lifeline
        self._started = time.monotonic()
        self._status_output = b""

    def watch(self, limits: Limits, on_line: Progress | None) -> Execution:
        """Read output until the tree is gone, ending it at the time limit or when it is cut short."""
        capture = OutputCapture(limits.output_bytes)
        try:
            timed_out = self._read(
                capture, deadline=self._started + limits.wall_seconds, on_line=on_line or (lambda _line: None)
            )
        finally:
            self._lifeline.close()  # first, since an exception in `on_line` must not leave the tree alive
            self._wait_for_supervisor()
        report = self._report
        if "error" in report:
            raise SandboxError(f"{self._name} could not be started: {report['error']}.")
        return Execution(
            exit_code=int(report["exit"]) if "exit" in report and not timed_out else None,
            output=capture.text,
            seconds=time.monotonic() - self._started,
            timed_out=timed_out,
            truncated=capture.truncated,
            exceeded=report.get("exceeded", ""),
        )

    @property
    def _report(self) -> dict[str, str]:
        """The status lines received so far, by their first word."""
        lines = self._status_output.decode("utf-8", "replace").splitlines()
        return {kind: text for kind, _, text in (line.partition(" ") for line in lines)}

    def _read(self, capture: OutputCapture, *, deadline: float, on_line: Progress) -> bool:
        """Read output and status until the supervisor has ended; return whether the time limit ended it."""
        timed_out = False
        output, status = self._pipes.output, self._pipes.status
        os.set_blocking(output, False)
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            selector.register(status, selectors.EVENT_READ)
            while status in selector.get_map():
                now = time.monotonic()
                is_cut = self._cut is not None and self._cut.is_set() and not self._lifeline.is_closed
                if now >= deadline or is_cut:
                    if timed_out:
                        return True
                    timed_out, deadline = not self._lifeline.is_closed, now + GRACE_SECONDS
                    self._lifeline.close()
                pause = deadline - now if self._cut is None else min(deadline - now, CUT_CHECK_SECONDS)
                for key, _ in selector.select(max(pause, 0.0)):
                    if not (data := _read(key.fd)):
                        selector.unregister(key.fd)
                    elif key.fd == status:
                        self._status_output += data
                    else:
                        for line in capture.feed(data):
                            on_line(line)
            while data := _read(output):  # written just before the end
                for line in capture.feed(data):
                    on_line(line)
        return timed_out

    def _wait_for_supervisor(self) -> None:
        """Wait for the supervisor to end once its lifeline is cut; kill what can be found if it does not."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._pipes.status, selectors.EVENT_READ)
            give_up = time.monotonic() + GRACE_SECONDS
            while selector.select(max(give_up - time.monotonic(), 0.0)) and (
                data := _read(self._pipes.status)
            ):
                self._status_output += data
        os.close(self._pipes.status)
        os.close(self._pipes.output)
        if "gone" not in self._report:
            _kill_supervisor(self._report)


def _kill_supervisor(report: Mapping[str, str]) -> None:
    """Kill a supervisor that hangs or was killed, and the process group of its command."""
    for kind, kill in (("supervisor", os.kill), ("pid", os.killpg)):
        if kind in report:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(int(report[kind]), signal.SIGKILL)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except BlockingIOError:
        return b""
