"""The port of the sandbox that commands run in."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Protocol

from coder.core.policy import Policy
from coder.core.values.base import Value

Progress = Callable[[str], None]
"""Receives one short line whenever there is progress to show; may be called from any thread."""


class Limits(Value):
    """Resource limits of one command and all its descendants.

    It is killed where a limit cannot be enforced otherwise.
    """

    wall_seconds: float = 120.0
    cpu_seconds: int | None = None
    """Per process; the wall limit bounds them all."""
    memory_bytes: int | None = 4 << 30
    """Address space per process; None where the interpreter reserves more than it uses."""
    resident_bytes: int = 8 << 30
    """Of all processes together, including shared memory; never more than most of this machine's."""
    processes: int = 1024
    open_files: int = 4096
    """Per process."""
    file_bytes: int = 2 << 30
    """Per file."""
    disk_bytes: int = 4 << 30
    """Free space that the command may use up on a writable file system."""
    output_bytes: int = 2 << 20
    """Kept of stdout and stderr together: head and tail; the rest is dropped while the command goes on."""


class Execution(Value):
    """The result of a command."""

    exit_code: int | None
    """None: killed by coder (a limit, or stop)."""
    output: str
    """stdout and stderr interleaved, undecodable bytes replaced."""
    seconds: float
    timed_out: bool = False
    """The time limit was reached, or the command was cut short."""
    truncated: bool = False
    exceeded: str = ""
    """The other limit that it was killed for, in words, such as `more than 1024 processes`."""


class Sandbox(Protocol):
    """The only interface through which anything is executed."""

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str] | None = None,
        policy: Policy | None = None,
        limits: Limits | None = None,
        on_line: Progress | None = None,
        private: Path | None = None,
        cut: Event | None = None,
    ) -> Execution:
        """Run a command until it ends or exceeds its limits, and leave no process of it behind.

        `environment` is added to the sandbox's own filtered one; without policy and limits their defaults
        apply. `private`, a directory below the shared scratch directory, replaces it for this command: HOME
        and TMPDIR lie in it, its siblings cannot be written, and build tools find again what commands with a
        directory of the same name have built. Once `cut` is set, it ends as if its time limit were reached.

        Raises:
            SandboxError: it could not be started, or `stop` was called.
        """

    def select_builds(self, private: Path, content: str) -> None:
        """Let later commands with this private directory find built what others did with the same `content`.

        They find nothing else: code of one tree cannot write what another one is built from, and the paths
        are the same for both.
        """
        ...

    def share_builds(self, private: Path) -> None:
        """Let commands with other contents start with a copy of what is built in this private directory."""
        ...

    def stop(self) -> None:
        """Kill all running commands with their descendants, and refuse to start others.

        Callable from any thread.
        """
