"""Client of the launcher, which sends orders through one door, each with the pipes of a command."""

import array
import marshal
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coder.core.errors import SandboxError

PACKAGES = Path(__file__).parents[3]
SERVE_SCRIPT = """
import socket, sys
sys.path.append(sys.argv[1])
from coder.sandbox.process.launcher import serve
serve(socket.socket(fileno=int(sys.argv[2])))
"""
"""Our packages come last on the path, so that no file beside them shadows the standard library."""


class ParentPipe:
    """The pipe end that keeps one command alive; any thread may cut it, once."""

    def __init__(self) -> None:
        self.read_end, self._write_end = os.pipe()
        self._lock = threading.Lock()
        self.is_closed = False

    def close(self) -> None:
        """Close the pipe, which ends the command; further calls do nothing."""
        with self._lock:
            if not self.is_closed:
                self.is_closed = True
                os.close(self._write_end)


@dataclass(frozen=True, kw_only=True)
class CommandPipes:
    """The reading ends of one command's status and output; the reader closes them."""

    status: int
    output: int


class Launcher:
    """The process that starts commands; the first command starts it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._door: socket.socket | None = None

    def start_command(self, order: Mapping[str, Any], lifeline: ParentPipe) -> CommandPipes:
        """Order the start of a command.

        Raises:
            SandboxError: no process can be started here.
        """
        status, status_write = os.pipe()
        output, output_write = os.pipe()
        try:
            with tempfile.TemporaryFile() as file:
                marshal.dump(dict(order), file)
                file.seek(0)
                self._send([file.fileno(), lifeline.read_end, status_write, output_write])
        except (OSError, ValueError) as error:
            os.close(status)
            os.close(output)
            raise SandboxError(f"{order['argv'][0]} could not be started: {error}.") from error
        finally:
            for descriptor in (status_write, output_write, lifeline.read_end):
                os.close(descriptor)
        return CommandPipes(status=status, output=output)

    def close(self) -> None:
        """Let the process end; running commands are not affected."""
        with self._lock:
            self._close()

    def _send(self, descriptors: list[int]) -> None:
        with self._lock:
            try:
                self._hand_over(descriptors)
            except (BrokenPipeError, ConnectionResetError):  # it was killed
                self._close()
                self._hand_over(descriptors)

    def _hand_over(self, descriptors: list[int]) -> None:
        if self._door is None:
            self._open()
        assert self._door is not None
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
        self._door.sendmsg([b"!"], [rights])

    def _open(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", SERVE_SCRIPT, str(PACKAGES), str(theirs.fileno())],
                env={},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=(theirs.fileno(),),
            )
        self._door = ours

    def _close(self) -> None:
        if self._door is not None and self._process is not None:
            self._door.close()
            self._process.wait()
        self._door = self._process = None
