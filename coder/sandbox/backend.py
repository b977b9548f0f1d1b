"""Interface of a sandbox backend: how a command is started confined."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from coder.core.errors import SandboxError
from coder.core.ports import Limits
from coder.core.values import Policy
from coder.sandbox.view import FileSystemView


class MountSourceMissing(SandboxError):
    """A path that the sandbox was to mount over is gone; planning the mounts again may succeed."""


@dataclass(frozen=True, kw_only=True)
class CommandSpec:
    """A command to run, before it is wrapped by a backend."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    policy: Policy
    view: FileSystemView
    scratch: Path
    limits: Limits = field(default_factory=Limits)
    """Only for backends whose processes are not our descendants; otherwise the launcher enforces them."""


@dataclass(frozen=True, kw_only=True)
class WrappedCommand:
    argv: tuple[str, ...]
    directory: str
    environment: Mapping[str, str]
    data: Mapping[int, bytes] = field(default_factory=dict)
    """Content by the number of the descriptor at which the program reads it."""
    confinement: Mapping[str, Any] | None = None
    """The plan for `coder.sandbox.confinement.confine_process`."""
    held_input: bool = False
    """Keep standard input open and silent until the command ends or coder exits."""


class SandboxBackend(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def limitations(self) -> str:
        """A sentence for the user about what is not isolated; empty for full isolation."""
        ...

    def wrap(self, command: CommandSpec) -> WrappedCommand:
        """Return the command that runs `command` inside the sandbox."""
        ...

    def exit_code(self, code: int, output: str) -> int:
        """Return the command's own exit code, negative for a signal, from that of the wrapped command.

        Raises:
            SandboxError: the command was never started.
        """
        ...
