"""Full walls by a container of Docker or podman, for a project that needs an image: only where the person has configured one.

https://docs.docker.com/reference/cli/docker/container/run/ and https://docs.podman.io/en/latest/markdown/podman-run.1.html
"""

import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

from coder.core.errors import SandboxError
from coder.sandbox.backends.backend import Command, Walled

ENGINES = ("podman", "docker")
"""Podman first: it has no daemon with the rights of root."""
OWN_FAULTS = (125, 126, 127)
"""Exit codes of an engine that could not start the command; 126 and 127 may be the command's own as well."""
TMPFS = "rw,exec,nosuid,nodev,size=1g,mode=1777"
GUARD = 'exec 3<&0 < /dev/null; { cat; kill -KILL -1; } <&3 > /dev/null 2>&1 & exec 3<&-; "$@"; exit $?'
"""A container outlives the client that started it: when the client's standard input is gone, so is everything inside."""
OF_THE_HOST = frozenset({"HOME", "LOGNAME", "PATH", "PYENV_ROOT", "SHELL", "USER", "VIRTUAL_ENV"})
"""Of a command's environment, what means nothing in an image."""


class Container:
    """Walls by an engine's command line and an image that is there already; nothing is ever pulled."""

    reduced = ""

    def __init__(self, executable: str, image: str) -> None:
        self.executable = executable
        self.image = image
        self.name = f"{Path(executable).name} with {image}"

    def around(self, command: Command) -> Walled:
        network = "bridge" if command.policy.network else "none"
        words = [self.executable, "run", "--rm", "--interactive", "--pull", "never", "--network", network]
        words += [
            "--read-only",
            "--cap-drop",
            "ALL",
            "--security-opt",
            "no-new-privileges",
            "--security-opt",
            "label=disable",
        ]
        words += [*_limits(command), *self._user(), "--hostname", "sandbox", "--tmpfs", f"/tmp:{TMPFS}"]
        words += [*_mounts(command), "--workdir", str(command.cwd)]
        kept = {name: value for name, value in command.environment.items() if name not in OF_THE_HOST}
        words += [
            word
            for name, value in {"HOME": str(command.scratch), **kept}.items()
            for word in ("--env", f"{name}={value}")
        ]
        words += ["--entrypoint", "/bin/sh", self.image, "-c", GUARD, "sh", *command.argv]
        return Walled(
            argv=tuple(words), directory="/", environment=client_environment(os.environ), held_input=True
        )

    def exit_code(self, code: int, output: str) -> int:
        """Both engines tell signals as a shell does, by 128 and the signal's number."""
        first = output.strip().partition("\n")[0]
        if code == 125 or (code in OWN_FAULTS and first.startswith(("docker: ", "Error: "))):
            raise SandboxError(
                first.removeprefix("docker: ").removeprefix("Error: ").rstrip(".")
                or "the engine says nothing"
            )
        return 128 - code if 128 < code <= 128 + signal.NSIG else code

    def _user(self) -> Iterator[str]:
        yield from ("--user", f"{os.getuid()}:{os.getgid()}")
        if Path(self.executable).name == "podman" and os.getuid() != 0:
            yield from ("--userns", "keep-id")


def client_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What the engine's own client needs to find its daemon; none of it reaches the container."""
    wanted = (
        "HOME",
        "PATH",
        "XDG_RUNTIME_DIR",
        "DOCKER_HOST",
        "DOCKER_CONTEXT",
        "DOCKER_CONFIG",
        "CONTAINER_HOST",
    )
    return {name: environment[name] for name in wanted if name in environment}


def _limits(command: Command) -> Iterator[str]:
    """Of the container, whose processes are none of ours: what is set and watched here does not count for them."""
    limits = command.limits
    yield from (
        "--pids-limit",
        str(limits.processes),
        "--memory",
        str(limits.resident_bytes),
        "--memory-swap",
        str(limits.resident_bytes),
    )
    yield from (
        "--ulimit",
        f"nofile={limits.open_files}:{limits.open_files}",
        "--ulimit",
        f"fsize={limits.file_bytes}:{limits.file_bytes}",
    )
    # Of the whole user, as the kernel counts; engines ask for more by themselves than they may have everywhere.
    yield from ("--ulimit", "core=0:0", "--ulimit", f"nproc={4 * limits.processes}:{4 * limits.processes}")
    if limits.cpu_seconds is not None:
        yield from ("--ulimit", f"cpu={limits.cpu_seconds}:{limits.cpu_seconds}")


def _mounts(command: Command) -> Iterator[str]:
    """The places of a view that are no toolchain: an image brings its own. From the root downwards, as each lies on what is above it."""
    view = command.view
    own = {command.cwd, command.scratch}
    mounts = {path: ",readonly" for path in view.shared} | {
        path: "" if path in view.writable else ",readonly" for path in own
    }
    mounts |= dict.fromkeys(view.protected, ",readonly")
    for path in sorted(mounts, key=lambda path: (len(path.parts), path)):
        yield from ("--mount", _bind(path, path) + mounts[path])
    for number, (path, content) in enumerate(view.replaced.items()):
        seen = command.scratch.with_name(f"replaced-{number}")
        seen.write_bytes(content)
        yield from ("--mount", _bind(seen, path) + ",readonly")
    for path in view.masked:
        if any(path.is_relative_to(place) for place in mounts):
            yield from (
                ("--tmpfs", f"{path}:ro,size=4k")
                if path.is_dir()
                else ("--mount", _bind(Path(os.devnull), path) + ",readonly")
            )


def _bind(source: Path, target: Path) -> str:
    if any(mark in f"{source}{target}" for mark in ',"'):
        raise SandboxError(f"containers are given no path with a comma or a quote, such as {target}")
    return f"type=bind,src={source},dst={target}"
