"""The first backend: an own process tree with limits, a filtered environment and a private TMPDIR, but no walls."""

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from coder.core.errors import SandboxError
from coder.core.policy import Policy
from coder.core.ports import Execution, Limits, Progress
from coder.sandbox.capture import Capture
from coder.sandbox.environment import filtered
from coder.sandbox.scratch import Scratch

LAUNCHER = Path(__file__).with_name("launcher.py")
GRACE_SECONDS = 8.0
"""The launcher gets this long to end its tree before it is killed itself."""


class ProcessSandbox:
    """Runs commands as the person does: what they may read and write is not limited, what they may use is."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Commands see the allow-listed part of `environment`."""
        self._scratch = Scratch()
        self._environment = filtered(environment, scratch=self._scratch.path)
        self._lock = threading.Lock()
        self._lifelines: set[_Lifeline] = set()
        self._stopped = False

    @property
    def scratch(self) -> Path:
        """A private directory that commands may write; it outlives each run and is gone on close."""
        return self._scratch.path

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str] | None = None,
        policy: Policy | None = None,
        limits: Limits | None = None,
        on_line: Progress | None = None,
    ) -> Execution:
        limits = limits or Limits()
        with self._lock:
            if self._stopped:
                raise SandboxError(f"{argv[0]} was not started: the session has been stopped.")
            lifeline = _Lifeline()
            self._lifelines.add(lifeline)
        try:
            launched = _Launched(argv, cwd=cwd, environment={**self._environment, **(environment or {})}, limits=limits, lifeline=lifeline)
            return launched.watch(limits, on_line)
        finally:
            with self._lock:
                self._lifelines.discard(lifeline)
            lifeline.cut()

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            lifelines = tuple(self._lifelines)
        for lifeline in lifelines:
            lifeline.cut()

    def close(self) -> None:
        """Stop, and remove the private directory."""
        self.stop()
        self._scratch.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()


class _Lifeline:
    """The pipe end that keeps one command alive; any thread may cut it, once."""

    def __init__(self) -> None:
        self.read_end, self._write_end = os.pipe()
        self._lock = threading.Lock()
        self.is_cut = False

    def cut(self) -> None:
        with self._lock:
            if not self.is_cut:
                self.is_cut = True
                os.close(self._write_end)


class _Launched:
    """One command under its launcher."""

    def __init__(self, argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str], limits: Limits, lifeline: _Lifeline) -> None:
        self._name = argv[0]
        self._lifeline = lifeline
        self._started = time.monotonic()
        self._said = b""
        self._status, status_write = os.pipe()
        words = [str(lifeline.read_end), str(status_write), str(limits.memory_bytes or 0), str(cwd), *argv]
        try:
            self._launcher = subprocess.Popen(
                [sys.executable, "-I", "-S", str(LAUNCHER), *words],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(lifeline.read_end, status_write),
            )
        except (OSError, ValueError) as error:
            os.close(self._status)
            raise SandboxError(f"{self._name} could not be started: {error}.") from error
        finally:
            os.close(status_write)
            os.close(lifeline.read_end)

    def watch(self, limits: Limits, on_line: Progress | None) -> Execution:
        """Read until the tree is gone, cutting it down at the time limit."""
        capture = Capture(limits.output_bytes)
        try:
            timed_out = self._read(capture, deadline=self._started + limits.wall_seconds, on_line=on_line or (lambda _line: None))
        finally:
            self._lifeline.cut()  # first: an exception in `on_line` must not leave the tree alive
            stopped_before_its_end = b"exit " not in self._said
            self._bury()
        if b"error " in self._said:
            reason = self._said.partition(b"error ")[2].decode("utf-8", "replace").strip()
            raise SandboxError(f"{self._name} could not be started: {reason}.")
        code = None if timed_out or stopped_before_its_end else int(self._said.partition(b"exit ")[2])
        seconds = time.monotonic() - self._started
        return Execution(exit_code=code, output=capture.text, seconds=seconds, timed_out=timed_out, truncated=capture.truncated)

    def _read(self, capture: Capture, *, deadline: float, on_line: Progress) -> bool:
        """Read output and status until the launcher has gone; True if the time limit was what ended it."""
        timed_out = False
        assert self._launcher.stdout is not None
        output = self._launcher.stdout.fileno()
        os.set_blocking(output, False)
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            selector.register(self._status, selectors.EVENT_READ)
            while self._status in selector.get_map():
                now = time.monotonic()
                if now >= deadline:
                    if timed_out:
                        return True
                    timed_out, deadline = not self._lifeline.is_cut, now + GRACE_SECONDS
                    self._lifeline.cut()
                for key, _ in selector.select(max(deadline - now, 0.0)):
                    if not (data := _read(key.fd)):
                        selector.unregister(key.fd)
                    elif key.fd == self._status:
                        self._said += data
                    else:
                        for line in capture.feed(data):
                            on_line(line)
            while data := _read(output):  # what was written just before the end
                for line in capture.feed(data):
                    on_line(line)
        return timed_out

    def _bury(self) -> None:
        """Wait for the launcher, which ends by itself once its lifeline is cut."""
        os.close(self._status)
        assert self._launcher.stdout is not None
        try:
            code = self._launcher.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._launcher.kill()
            code = self._launcher.wait()
        finally:
            self._launcher.stdout.close()
        if code != 0:  # it was killed, by us or by what it ran: its process group is what can still be found
            for group in self._said.split()[1:2]:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(int(group), signal.SIGKILL)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except BlockingIOError:
        return b""
