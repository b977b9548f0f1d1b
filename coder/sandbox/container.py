"""Full isolation by a Docker or podman container, for projects that need an image the user has configured.

https://docs.docker.com/reference/cli/docker/container/run/ and
https://docs.podman.io/en/latest/markdown/podman-run.1.html
"""

import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

from coder.core.errors import SandboxError
from coder.sandbox.backend import CommandSpec, WrappedCommand

ENGINES = ("podman", "docker")
"""Podman first: it has no daemon that runs as root."""
ENGINE_EXIT_CODES = (125, 126, 127)
"""Exit codes of an engine that could not start the command; 126 and 127 may also be the command's own."""
FIXED_OPTIONS = (
    "--rm --interactive --pull never --read-only --cap-drop ALL --hostname sandbox "
    "--security-opt no-new-privileges --security-opt label=disable"
)
TMPFS = "rw,exec,nosuid,nodev,size=1g,mode=1777"
GUARD_SCRIPT = (
    'exec 3<&0 < /dev/null; { cat; kill -KILL -1; } <&3 > /dev/null 2>&1 & exec 3<&-; "$@"; exit $?'
)
"""Kills everything inside when the client's standard input closes: a container outlives its client."""
HOST_VARIABLES = frozenset(
    {
        *("GOROOT", "HOME", "JAVA_HOME", "LOGNAME", "PATH", "PYENV_ROOT", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"),
        *("SHELL", "USER", "VIRTUAL_ENV"),
    }
)
"""Variables of a command's environment that mean nothing in an image."""


class Container:
    """A backend that uses an engine's command line and a local image; nothing is ever pulled."""

    limitations = ""

    def __init__(self, executable: str, image: str) -> None:
        self.executable = executable
        self.image = image
        self.name = f"{Path(executable).name} with {image}"

    def wrap(self, command: CommandSpec) -> WrappedCommand:
        """Return the engine's command line that runs the command.

        Raises:
            SandboxError: a path to mount contains a comma or a quote.
        """
        network = "bridge" if command.policy.network else "none"
        arguments = [self.executable, "run", *FIXED_OPTIONS.split(), "--network", network]
        arguments += [*_limit_options(command), *self._user_options(), "--tmpfs", f"/tmp:{TMPFS}"]
        arguments += [*_mount_options(command), "--workdir", str(command.cwd)]
        variables = {name: value for name, value in command.environment.items() if name not in HOST_VARIABLES}
        arguments += [
            argument
            for name, value in {"HOME": str(command.scratch), **variables}.items()
            for argument in ("--env", f"{name}={value}")
        ]
        arguments += ["--entrypoint", "/bin/sh", self.image, "-c", GUARD_SCRIPT, "sh", *command.argv]
        return WrappedCommand(
            argv=tuple(arguments), directory="/", environment=client_environment(os.environ), held_input=True
        )

    def exit_code(self, code: int, output: str) -> int:
        """Return the command's exit code; both engines report a signal by 128 plus its number."""
        first_line = output.strip().partition("\n")[0]
        if code == 125 or (code in ENGINE_EXIT_CODES and first_line.startswith(("docker: ", "Error: "))):
            raise SandboxError(
                first_line.removeprefix("docker: ").removeprefix("Error: ").rstrip(".")
                or "the engine says nothing"
            )
        return 128 - code if 128 < code <= 128 + signal.NSIG else code

    def _user_options(self) -> Iterator[str]:
        yield from ("--user", f"{os.getuid()}:{os.getgid()}")
        if Path(self.executable).name == "podman" and os.getuid() != 0:
            yield from ("--userns", "keep-id")


def client_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the engine's client needs to find its daemon; none reaches the container."""
    engine = ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "CONTAINER_HOST")
    names = ("HOME", "PATH", "XDG_RUNTIME_DIR", *engine)
    return {name: environment[name] for name in names if name in environment}


def _limit_options(command: CommandSpec) -> Iterator[str]:
    """Yield limits for the container.

    Its processes are not our descendants, so the limits that the launcher sets and watches do not count for
    them.
    """
    limits = command.limits
    memory, processes = str(limits.resident_bytes), limits.processes
    yield from ("--pids-limit", str(processes), "--memory", memory, "--memory-swap", memory)
    # The kernel counts processes per user. Engines request more by default than some hosts allow.
    bounds = {"nofile": limits.open_files, "fsize": limits.file_bytes, "core": 0, "nproc": 4 * processes}
    if limits.cpu_seconds is not None:
        bounds["cpu"] = limits.cpu_seconds
    for name, bound in bounds.items():
        yield from ("--ulimit", f"{name}={bound}:{bound}")


def _mount_options(command: CommandSpec) -> Iterator[str]:
    """Yield mounts from the root downwards, so that each lies on top of its parents.

    Toolchain directories are left out: an image brings its own.
    """
    view = command.view
    own_directories = {command.cwd, command.scratch, *view.writable}
    mounts = {path: ",readonly" for path in view.shared} | {
        path: "" if path in view.writable else ",readonly" for path in own_directories
    }
    mounts |= dict.fromkeys(view.protected, ",readonly")
    for path in sorted(mounts, key=lambda path: (len(path.parts), path)):
        yield from ("--mount", _bind_mount(path, path) + mounts[path])
    for number, (path, content) in enumerate(view.replacements.items()):
        replacement = command.scratch.with_name(f"replaced-{number}")
        replacement.write_bytes(content)
        yield from ("--mount", _bind_mount(replacement, path) + ",readonly")
    for path in view.masked:
        if any(path.is_relative_to(mount) for mount in mounts):
            yield from (
                ("--tmpfs", f"{path}:ro,size=4k")
                if path.is_dir()
                else ("--mount", _bind_mount(Path(os.devnull), path) + ",readonly")
            )


def _bind_mount(source: Path, target: Path) -> str:
    if any(character in f"{source}{target}" for character in ',"'):
        raise SandboxError(f"containers are given no path with a comma or a quote, such as {target}")
    return f"type=bind,src={source},dst={target}"
