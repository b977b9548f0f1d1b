"""What a backend has to say about a command: how it is started so that it cannot leave its walls."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from coder.core.errors import SandboxError
from coder.core.policy import Policy
from coder.core.ports.sandbox import Limits
from coder.sandbox.view.view import View


class Vanished(SandboxError):
    """What the walls were to cover was gone when they were put up: planned anew, they may stand."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """What is to be run, before there are walls around it."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    policy: Policy
    view: View
    scratch: Path
    limits: Limits = field(default_factory=Limits)
    """For walls around what is no child of ours; the launcher sees to them otherwise."""


@dataclass(frozen=True, kw_only=True)
class Walled:
    """What the launcher starts instead."""

    argv: tuple[str, ...]
    directory: str
    environment: Mapping[str, str]
    data: Mapping[int, bytes] = field(default_factory=dict)
    """What the program finds at a descriptor."""
    confinement: Mapping[str, Any] | None = None
    """For `coder.sandbox.kernel.confinement.confine`."""
    held_input: bool = False
    """Its standard input stays open and silent until the command is over, or coder is gone."""


class Walls(Protocol):
    """One backend."""

    @property
    def name(self) -> str: ...

    @property
    def reduced(self) -> str:
        """What it cannot keep out, in a sentence for the person; empty for full walls."""
        ...

    def around(self, command: Command) -> Walled:
        """How to start the command inside."""
        ...

    def exit_code(self, code: int, output: str) -> int:
        """The command's own exit code, negative for a signal, from how the walled one ended.

        Raises:
            SandboxError: the command never began.
        """
        ...
