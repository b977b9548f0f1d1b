"""The port of the sandbox that commands run in."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from coder.core.policy import Policy
from coder.core.values.base import Value

Progress = Callable[[str], None]
"""Hears one short line whenever there is something new to show; may be called from any thread."""


class Limits(Value):
    """What one command may use, with all that it starts; it is ended where it takes more than it can be refused."""

    wall_seconds: float = 120.0
    cpu_seconds: int | None = None
    """Of each process; the wall limit bounds them all."""
    memory_bytes: int | None = 4 << 30
    """Address space of each process; None where the interpreter needs more than it uses."""
    resident_bytes: int = 8 << 30
    """Of all processes together, with what lies in shared memory; never more than most of this machine's."""
    processes: int = 1024
    open_files: int = 4096
    """Of each process."""
    file_bytes: int = 2 << 30
    """Of each file."""
    disk_bytes: int = 4 << 30
    """What may go missing on a file system that it can write to."""
    output_bytes: int = 2 << 20
    """Kept of stdout and stderr together: head and tail; the rest is dropped while the command runs on."""


class Execution(Value):
    """How a command ended."""

    exit_code: int | None
    """None: killed by us (a limit, stop)."""
    output: str
    """stdout and stderr as they came, undecodable bytes replaced."""
    seconds: float
    timed_out: bool = False
    truncated: bool = False
    exceeded: str = ""
    """The other limit that it was killed for, in words, such as `more than 1024 processes`."""


class Sandbox(Protocol):
    """The only door through which anything is executed."""

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
    ) -> Execution:
        """Run a command to its end, or to its limits, and leave no process of it behind.

        `environment` is added to the sandbox's own filtered one; no policy and no limits are their defaults. `private`, a directory below
        the shared scratch directory, takes its place for this command: HOME and TMPDIR lie in it, and nothing beside it can be written.

        Raises:
            SandboxError: it could not be started, or `stop` was called.
        """

    def stop(self) -> None:
        """Kill all that runs, at once and with all descendants, and start nothing any more. Any thread may call."""
