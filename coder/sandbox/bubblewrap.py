"""Full isolation by bubblewrap: user, process, network and mount namespaces.

https://github.com/containers/bubblewrap
"""

# There can be hundreds of sockets; pathlib would take longer for them than starting the sandbox does.
# ruff: noqa: PTH116, PTH120
import os
import re
import signal
import stat
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from coder.core.errors import SandboxError
from coder.sandbox.backend import CommandSpec, MountSourceMissing, WrappedCommand
from coder.sandbox.confinement import (
    NAMESPACED_FAMILIES,
    build_filter,
    find_architecture,
)
from coder.sandbox.view import FileSystemView

FILTER_DESCRIPTOR = 100
"""The descriptor of the seccomp program; those of replaced files follow it."""
MISSING_SOURCE_ERROR = re.compile(
    r"bwrap: Can't (create file|mkdir|find source path|get type of source|bind mount)"
)
TMPFS_BYTES = 1 << 30
SHARED_MEMORY_BYTES = 1 << 30


class Bubblewrap:
    """A backend that runs one executable of bubblewrap 0.8 or later."""

    limitations = ""

    def __init__(self, executable: str, name: str) -> None:
        self.executable = executable
        self.name = name

    def wrap(self, command: CommandSpec) -> WrappedCommand:
        """Return the bwrap command line that runs the command."""
        replaced = {
            FILTER_DESCRIPTOR + 1 + index: (path, content)
            for index, (path, content) in enumerate(command.view.replacements.items())
        }
        data = {number: content for number, (_, content) in replaced.items()}
        arguments = [self.executable, *_namespace_options(network=command.policy.network), *_system_options()]
        arguments += [*_mount_options(command.view), *_mask_options(command.view)]
        arguments += [
            argument
            for number, (path, _) in replaced.items()
            for argument in ("--ro-bind-data", str(number), str(path))
        ]
        if find_architecture():
            data[FILTER_DESCRIPTOR] = build_filter(families=NAMESPACED_FAMILIES)
            arguments += ["--seccomp", str(FILTER_DESCRIPTOR)]
        arguments += ["--chdir", os.path.realpath(command.cwd), "--", *command.argv]
        # Without a network namespace the abstract sockets of this machine are reachable; Landlock blocks them
        # where the kernel supports it.
        confinement = {"scoped": True, "network": True} if command.policy.network else None
        return WrappedCommand(
            argv=tuple(arguments),
            directory="/",
            environment=command.environment,
            data=data,
            confinement=confinement,
        )

    def exit_code(self, code: int, output: str) -> int:
        """Return the command's exit code.

        Bubblewrap reports signals as a shell does, by 128 plus the signal's number, and its own failures by
        exit code 1 and a line of output.
        """
        if code == 1 and output.startswith("bwrap: "):
            error_type = MountSourceMissing if MISSING_SOURCE_ERROR.match(output) else SandboxError
            raise error_type(output.removeprefix("bwrap: ").strip().partition("\n")[0])
        return 128 - code if 128 < code <= 128 + signal.NSIG else code


def _namespace_options(*, network: bool) -> Iterator[str]:
    # Root with capabilities and no user namespace could remount read-only mounts as writable.
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


def _system_options() -> Iterator[str]:
    yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    # The kernel settings below /proc/sys belong to root, who may write them even without any capability.
    if os.getuid() == 0:
        yield from ("--remount-ro", "/proc")
    yield from ("--perms", "1777", "--size", str(SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm")


def _mount_options(view: FileSystemView) -> Iterator[str]:
    """Yield mount options from the root downwards, so that each lies on top of its parents."""
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


def _mask_options(view: FileSystemView) -> Iterator[str]:
    """Yield options that cover secret files and the sockets of other programs.

    A read-only mount alone does not prevent connecting to a socket.
    """
    rules = [(str(path), path in view.hidden) for path in {*view.hidden, *view.readable, *view.writable}]
    rules.sort(key=lambda rule: -len(rule[0]))
    can_be_reached = _reachability_check()
    for path in dict.fromkeys([*map(str, view.masked), *_socket_paths()]):
        if _is_hidden(path, rules):
            continue
        try:
            if not can_be_reached(os.path.dirname(path)):
                continue
            mode = os.lstat(path).st_mode
        except OSError:  # it is gone, or its directory is not accessible
            continue
        if stat.S_ISDIR(mode):
            yield from ("--size", "4096", "--tmpfs", path, "--remount-ro", path)
        elif not stat.S_ISLNK(mode):
            yield from ("--ro-bind", "/dev/null", path)


def _is_hidden(path: str, rules: Sequence[tuple[str, bool]]) -> bool:
    """Return whether the deepest rule that contains `path` hides it.

    `rules` are sorted from deep to shallow.
    """
    return next(
        (hides for directory, hides in rules if path == directory or path.startswith(f"{directory}/")), False
    )


def _reachability_check() -> Callable[[str], bool]:
    """Return a predicate that tells whether a directory can be entered without root's capabilities.

    Once they are dropped, bubblewrap cannot mount over what lies in other directories.
    """
    groups = {*os.getgroups(), os.getgid()}

    @cache
    def can_be_reached(directory: str) -> bool:
        status = os.stat(directory)
        execute_bit = (
            stat.S_IXUSR if status.st_uid == 0 else stat.S_IXGRP if status.st_gid in groups else stat.S_IXOTH
        )
        return bool(status.st_mode & execute_bit) and (
            directory == "/" or can_be_reached(os.path.dirname(directory))
        )

    return can_be_reached if os.getuid() == 0 else lambda _directory: True


def _socket_paths() -> Iterator[str]:
    """Yield the paths of the Unix sockets of running programs."""
    try:
        lines = Path("/proc/net/unix").read_text(encoding="utf-8", errors="surrogateescape").splitlines()[1:]
    except OSError:
        return
    for line in lines:
        fields = line.split(maxsplit=7)
        if len(fields) == 8 and fields[7].startswith("/"):
            yield fields[7]
