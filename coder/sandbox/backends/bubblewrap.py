"""Full walls: bubblewrap, with namespaces of its own for users, processes, network and the file system.

https://github.com/containers/bubblewrap
"""

# Sockets are found by the hundred, and pathlib would take longer over them than the walls do to go up.
# ruff: noqa: PTH116, PTH120

import os
import re
import signal
import stat
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from coder.core.errors import SandboxError
from coder.sandbox.backends.backend import Command, Vanished, Walled
from coder.sandbox.kernel import seccomp
from coder.sandbox.view.view import View

FILTER = 100
"""The descriptor of the seccomp program; those of replaced files follow."""
MISSING = re.compile(r"bwrap: Can't (create file|mkdir|find source path|get type of source|bind mount)")
TMPFS_BYTES = 1 << 30
SHARED_MEMORY_BYTES = 1 << 30


class Bubblewrap:
    """Walls by one executable of bubblewrap 0.8 or later."""

    reduced = ""

    def __init__(self, executable: str, name: str) -> None:
        self.executable = executable
        self.name = name

    def around(self, command: Command) -> Walled:
        replaced = {
            FILTER + 1 + index: (path, content)
            for index, (path, content) in enumerate(command.view.replaced.items())
        }
        data = {number: content for number, (_, content) in replaced.items()}
        words = [self.executable, *_namespaces(network=command.policy.network), *_system()]
        words += [*_shown(command.view), *_hidden_again(command.view)]
        words += [
            word
            for number, (path, _) in replaced.items()
            for word in ("--ro-bind-data", str(number), str(path))
        ]
        if seccomp.is_known():
            data[FILTER] = seccomp.program(families=seccomp.OWN_NETWORK)
            words += ["--seccomp", str(FILTER)]
        words += ["--chdir", os.path.realpath(command.cwd), "--", *command.argv]
        # Without a network namespace the abstract sockets of this machine are within reach: Landlock closes them where it can.
        confinement = {"scoped": True, "network": True} if command.policy.network else None
        return Walled(
            argv=tuple(words),
            directory="/",
            environment=command.environment,
            data=data,
            confinement=confinement,
        )

    def exit_code(self, code: int, output: str) -> int:
        """Bubblewrap tells signals as a shell does, by 128 and the signal's number, and its own faults by 1 and a line."""
        if code == 1 and output.startswith("bwrap: "):
            kind = Vanished if MISSING.match(output) else SandboxError
            raise kind(output.removeprefix("bwrap: ").strip().partition("\n")[0])
        return 128 - code if 128 < code <= 128 + signal.NSIG else code


def _namespaces(*, network: bool) -> Iterator[str]:
    # As root without a user namespace and with capabilities, what is read-only could be mounted anew.
    yield from ("--unshare-user", "--disable-userns", "--cap-drop", "ALL")
    yield from (
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--hostname",
        "sandbox",
    )
    yield from () if network else ("--unshare-net",)
    yield from ("--die-with-parent", "--new-session")


def _system() -> Iterator[str]:
    yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    if (
        os.getuid() == 0
    ):  # to whom the kernel's settings in it belong, and so stay writable even without any capability
        yield from ("--remount-ro", "/proc")
    yield from ("--perms", "1777", "--size", str(SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm")


def _shown(view: View) -> Iterator[str]:
    """Mounts from the root downwards, so that each lies on what is above it."""
    mounts = {path: "hidden" for path in view.hidden}
    mounts |= dict.fromkeys(view.readable, "--ro-bind-try") | dict.fromkeys(view.writable, "--bind")
    mounts |= dict.fromkeys(view.protected, "--ro-bind")
    for path in sorted(mounts, key=lambda path: (len(path.parts), path)):
        if mounts[path] != "hidden":
            yield from (mounts[path], str(path), str(path))
            continue
        yield from ("--perms", "1777", "--size", str(TMPFS_BYTES), "--tmpfs", str(path))
        if path == Path("/var"):
            yield from ("--perms", "1777", "--dir", "/var/tmp", "--symlink", "../run", "/var/run")


def _hidden_again(view: View) -> Iterator[str]:
    """Cover what is secret, and every socket of another program: that a mount is read-only keeps nobody from connecting."""
    rules = [(str(path), path in view.hidden) for path in {*view.hidden, *view.readable, *view.writable}]
    rules.sort(key=lambda rule: -len(rule[0]))
    can_be_reached = _reachable()
    for path in dict.fromkeys([*map(str, view.masked), *_sockets()]):
        if _is_hidden(path, rules):
            continue
        try:
            if not can_be_reached(os.path.dirname(path)):
                continue
            mode = os.lstat(path).st_mode
        except OSError:  # it has gone, or lies where nothing can be reached
            continue
        if stat.S_ISDIR(mode):
            yield from ("--size", "4096", "--tmpfs", path, "--remount-ro", path)
        elif not stat.S_ISLNK(mode):
            yield from ("--ro-bind", "/dev/null", path)


def _is_hidden(path: str, rules: Sequence[tuple[str, bool]]) -> bool:
    """Is the deepest rule above a path, of those sorted from deep to high, one that hides it?"""
    return next((hides for place, hides in rules if path == place or path.startswith(f"{place}/")), False)


def _reachable() -> Callable[[str], bool]:
    """Would a directory be entered without the rights of root? With them gone, bubblewrap cannot cover what lies in others."""
    groups = {*os.getgroups(), os.getgid()}

    @cache
    def can_be_reached(directory: str) -> bool:
        status = os.stat(directory)
        kind = (
            stat.S_IXUSR if status.st_uid == 0 else stat.S_IXGRP if status.st_gid in groups else stat.S_IXOTH
        )
        return bool(status.st_mode & kind) and (
            directory == "/" or can_be_reached(os.path.dirname(directory))
        )

    return can_be_reached if os.getuid() == 0 else lambda _directory: True


def _sockets() -> Iterator[str]:
    """Where the sockets of running programs lie."""
    try:
        lines = Path("/proc/net/unix").read_text(encoding="utf-8", errors="surrogateescape").splitlines()[1:]
    except OSError:
        return
    for line in lines:
        words = line.split(maxsplit=7)
        if len(words) == 8 and words[7].startswith("/"):
            yield words[7]
