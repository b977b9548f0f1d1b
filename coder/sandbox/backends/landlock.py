"""Reduced walls: Landlock and seccomp, where namespaces are not to be had.

https://docs.kernel.org/userspace-api/landlock.html
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coder.core.errors import SandboxError
from coder.sandbox.backends.backend import Command, Walled
from coder.sandbox.kernel import seccomp
from coder.sandbox.kernel.broker import can_broker
from coder.sandbox.kernel.confinement import abi

OLDEST_ABI = 3
"""Before it, files could be truncated through all walls."""
DEVICES = ("null", "zero", "full", "random", "urandom")
SCOPED_ABI = 6
INTERNET = seccomp.OWN_NETWORK[1:]
"""Without AF_UNIX: connecting to a socket in the file system is nothing that Landlock could refuse."""
KEYS = re.compile(rb"://[^/\\s]*@|extraheader|token|password|secret", re.IGNORECASE)
LARGEST_BYTES = 1_000_000


class Landlock:
    """Walls that the command's own process puts up, by what it may open."""

    name = "Landlock"

    def __init__(self) -> None:
        """Raises SandboxError where the kernel has none, or too old a one."""
        self._abi = abi()
        if self._abi < OLDEST_ABI:
            told = f"version {self._abi} of it" if self._abi else "none"
            raise SandboxError(f"this kernel has {told}; version {OLDEST_ABI} (Linux 6.2) is needed")
        if not seccomp.is_known():
            raise SandboxError(f"no system call filter is known for {os.uname().machine}")
        self._brokered = seccomp.metadata_calls() if can_broker() else {}

    @property
    def reduced(self) -> str:
        metadata = (
            ""
            if self._brokered
            else ", and they can change modes, owners, times and attributes of your files anywhere"
        )
        signals = "" if self._abi >= SCOPED_ABI else ", and commands can send signals to your other programs"
        return (
            "Commands run behind reduced walls (Landlock and seccomp): they have no sockets and no /dev/shm, so tests with servers or "
            "multiprocessing locks fail; the names and arguments of your other processes, and private files of the worktree such as .env, "
            f"can be read{signals}{metadata}. "
            "`coder doctor` says how to get the full ones."
        )

    def around(self, command: Command) -> Walled:
        home = command.scratch / "home"
        home.mkdir(exist_ok=True)
        view, network = command.view, command.policy.network
        git = [path.parent for path in view.replaced if _holds_keys(path)]
        read = [
            str(path)
            for path in (*visible((*view.hidden, *view.masked, *git)), *view.readable, *view.writable)
            if path not in git
        ]
        confinement: dict[str, Any] = {
            "read": read,
            "write": [*map(str, view.writable), *(f"/dev/{name}" for name in DEVICES)],
            "network": network,
            "scoped": True,
            "filter": seccomp.program(
                families=INTERNET if network else (), sees_others=True, brokered=tuple(self._brokered)
            ),
            "brokered": self._brokered,
            "changeable": [*map(str, view.writable)],
        }
        environment = {**command.environment, "HOME": str(home)}
        return Walled(
            argv=command.argv, directory=str(command.cwd), environment=environment, confinement=confinement
        )

    def exit_code(self, code: int, output: str) -> int:  # noqa: ARG002
        return code


def visible(hidden: tuple[Path, ...]) -> Iterator[Path]:
    """The fewest paths that hold everything but what is hidden."""
    return _beside(Path("/"), hidden)


def _beside(directory: Path, hidden: tuple[Path, ...]) -> Iterator[Path]:
    for entry in os.scandir(directory):
        path = Path(entry.path)
        if path in hidden:
            continue
        if not any(place.is_relative_to(path) for place in hidden):
            yield path
        elif entry.is_dir(follow_symlinks=False):
            yield from _beside(path, hidden)


def _holds_keys(config: Path) -> bool:
    """May a repository's configuration hold keys? It cannot be shown in part here, so then the repository is not shown at all."""
    return bool(KEYS.search(config.read_bytes()[:LARGEST_BYTES]))
