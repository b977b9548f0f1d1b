"""Reduced isolation by Landlock and seccomp, for machines without user namespaces.

https://docs.kernel.org/userspace-api/landlock.html
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coder.core.errors import SandboxError
from coder.sandbox.backend import CommandSpec, WrappedCommand
from coder.sandbox.broker import can_broker, can_share_sockets
from coder.sandbox.confinement import (
    NAMESPACED_FAMILIES,
    build_filter,
    find_architecture,
    landlock_abi,
)
from coder.sandbox.view import may_contain_keys

OLDEST_ABI = 3
"""Older versions do not restrict truncating files."""
DEVICES = ("null", "zero", "full", "random", "urandom")
SCOPED_ABI = 6
SHARED_MEMORY = Path("/dev/shm")
OWN_NAMES = ("sem.", "psm_")
"""Starts of names of semaphores, and of Python's shared memory."""
INTERNET_FAMILIES = NAMESPACED_FAMILIES[1:]
"""Without AF_UNIX: Landlock cannot refuse a connection to a socket in the file system."""


class Landlock:
    """A backend that confines the command's own process by what it may open."""

    name = "Landlock"

    def __init__(self) -> None:
        """Prepare the backend.

        Raises:
            SandboxError: the kernel lacks Landlock or has too old a version, or no filter exists for this
                machine.
        """
        self._abi = landlock_abi()
        if self._abi < OLDEST_ABI:
            available = f"version {self._abi} of it" if self._abi else "none"
            raise SandboxError(f"this kernel has {available}; version {OLDEST_ABI} (Linux 6.2) is needed")
        if (machine := find_architecture()) is None:
            raise SandboxError(f"no system call filter is known for {os.uname().machine}")
        self._metadata = {number: name for name, number in machine.metadata.items()} if can_broker() else {}
        self._shared_memory = (str(SHARED_MEMORY),) if is_unused(SHARED_MEMORY) else ()
        has_sockets = self._metadata and can_share_sockets()
        self._sockets = {number: name for name, number in machine.sockets.items()} if has_sockets else {}

    @property
    def limitations(self) -> str:
        sockets = "no sockets, so that tests with servers fail"
        memory = "no /dev/shm, which other programs use, so that multiprocessing locks fail"
        if self._sockets:
            sockets = "only TCP on loopback and Unix sockets, among their own processes, no UDP"
        if self._shared_memory:
            memory = "the /dev/shm of this machine, which nothing else uses"
        allowed = {
            "can send signals to your other programs": self._abi < SCOPED_ABI,
            "can change modes, owners, times and attributes of your files anywhere": not self._metadata,
        }
        return (
            f"reduced isolation: commands have {sockets}; {memory}; the names and arguments of your other "
            "processes, and private files of the worktree such as .env, can be read"
            + "".join(f", and commands {text}" for text, is_allowed in allowed.items() if is_allowed)
        )

    def wrap(self, command: CommandSpec) -> WrappedCommand:
        """Return the command with a confinement plan for its own process."""
        view, network = command.view, command.policy.network
        git_directories = [path.parent for path in view.replacements if may_contain_keys(path)]
        readable = [
            str(path)
            for path in (
                *visible_paths((*view.hidden, *view.masked, *git_directories)),
                *view.readable,
                *view.writable,
            )
            if path not in git_directories
        ]
        # With the network, sockets are the command's own affair.
        brokered = self._metadata if network else {**self._metadata, **self._sockets}
        confinement: dict[str, Any] = {
            "read": readable,
            "write": [*map(str, view.writable), *self._shared_memory, *(f"/dev/{name}" for name in DEVICES)],
            "network": network,
            "scoped": True,
            "filter": build_filter(
                families=INTERNET_FAMILIES if network else (),
                shares_namespaces=True,
                brokered=tuple(brokered),
            ),
            "brokered": brokered,
            "changeable": [*map(str, view.writable)],
        }
        environment = {**command.environment, "HOME": str(command.scratch / "home")}
        return WrappedCommand(
            argv=command.argv, directory=str(command.cwd), environment=environment, confinement=confinement
        )

    def exit_code(self, code: int, output: str) -> int:  # noqa: ARG002
        return code


def is_unused(directory: Path) -> bool:
    """Tell whether no program keeps anything in a directory of shared memory but what tests leave there."""
    try:
        with os.scandir(directory) as entries:
            return all(entry.name.startswith(OWN_NAMES) for entry in entries)
    except OSError:
        return False


def visible_paths(hidden: tuple[Path, ...]) -> Iterator[Path]:
    """Yield the fewest paths that contain everything except the hidden paths."""
    return _visible_below(Path("/"), hidden)


def _visible_below(directory: Path, hidden: tuple[Path, ...]) -> Iterator[Path]:
    for entry in os.scandir(directory):
        path = Path(entry.path)
        if path in hidden:
            continue
        if not any(other.is_relative_to(path) for other in hidden):
            yield path
        elif entry.is_dir(follow_symlinks=False):
            yield from _visible_below(path, hidden)
