"""Sandbox of a process tree with limits, a filtered environment and a private TMPDIR, inside a backend."""

import contextlib
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from coder.core.errors import SandboxError
from coder.core.policy import Policy
from coder.core.ports.sandbox import Execution, Limits, Progress
from coder.files.scratch import ScratchDirectory
from coder.permissions.private_files import DENY_READ
from coder.sandbox.backends.backend import CommandSpec, MountSourceMissing, SandboxBackend, WrappedCommand
from coder.sandbox.process.launcher_client import Launcher, ParentPipe
from coder.sandbox.process.running_command import RunningCommand
from coder.sandbox.view.build_tools import (
    BuildDirectories,
    build_environment,
    package_caches,
)
from coder.sandbox.view.environment import filter_environment, private_directories
from coder.sandbox.view.linked_worktree import git_directory, repository_contains
from coder.sandbox.view.private_files import find_private_files
from coder.sandbox.view.view import check_directory, find_tool_directories, home_directories, plan_view

REDUCED = "Reduced sandbox: at most loopback, no shared memory (details: coder doctor)."

REPLAN_LIMIT = 10
"""The number of times mounts are planned again after a path to cover has disappeared."""
MEMORY_SHARE = 0.8
"""The largest share of this machine's memory for one command."""


class ProcessSandbox:
    """Runs commands; without a backend, only resources are limited, not what commands read and write."""

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        backend: SandboxBackend | None = None,
        exposed: Iterable[Path] = (),
        deny_read: Sequence[str] = DENY_READ,
        caps: Mapping[str, int] | None = None,
        default_policy: Policy = Policy(),  # noqa: B008 (a frozen value)
    ) -> None:
        """Prepare a sandbox.

        Args:
            environment: variables, of which commands get the allowed ones.
            backend: wraps commands; None for no isolation.
            exposed: paths that commands may read.
            deny_read: patterns of `coder.permissions.private_files`; files of `cwd` that match appear empty.
            caps: replaces fields of the `Limits` of every command.
            default_policy: applies to commands for which none is given.
        """
        self._scratch = ScratchDirectory()
        self._environment = filter_environment(environment, scratch=self._scratch.path)
        self._user_environment = dict(environment)
        self._home = next(iter(home_directories()), Path("/"))
        self._builds = BuildDirectories(self._scratch.path.with_name("builds"), environment, self._home)
        self.backend = backend
        self._exposed = (*exposed, *package_caches(environment, self._home))
        self._deny_read = tuple(deny_read)
        self._caps = dict(caps or {})
        self._default_policy = default_policy
        self._access_by_directory: dict[Path, tuple[Path | None, tuple[Path, ...]]] = {}
        self._tools: dict[tuple[str, str], tuple[Path, ...]] = {}
        self._launcher = Launcher()
        self._lock = threading.Lock()
        self._lifelines: set[ParentPipe] = set()
        self._stopped = False

    @property
    def is_sandboxed(self) -> bool:
        """Whether commands are isolated."""
        return self.backend is not None

    @property
    def notice(self) -> str:
        """A sentence for the user about missing isolation; empty where isolation is full."""
        if self.backend is None:
            return "There is no sandbox: commands and tests run with all your rights."
        return REDUCED if self.backend.limitations else ""

    @property
    def scratch(self) -> Path:
        """A private directory that commands may write; it outlives each run and is removed on close."""
        return self._scratch.path

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
        cut: threading.Event | None = None,
    ) -> Execution:
        effective_limits = (limits or Limits()).model_copy(update=self._caps)

        def run_once() -> Execution:
            wrapped = self.wrap_command(
                argv,
                cwd=cwd,
                environment=environment,
                policy=policy,
                limits=effective_limits,
                private=private,
            )
            execution = self._execute(
                argv[0], self._order(wrapped, cwd, effective_limits), effective_limits, on_line, cut
            )
            return (
                execution
                if self.backend is None or execution.exit_code is None
                else self._with_exit_code(argv[0], execution, self.backend)
            )

        for _ in range(REPLAN_LIMIT):
            with contextlib.suppress(MountSourceMissing):
                return run_once()
        return run_once()

    def _with_exit_code(self, name: str, execution: Execution, walls: SandboxBackend) -> Execution:
        """Replace the exit code of the wrapped command by that of the command itself."""
        try:
            return execution.model_copy(
                update={"exit_code": walls.exit_code(execution.exit_code or 0, execution.output)}
            )
        except SandboxError as error:
            raise type(error)(f"{name} could not be started: {error}.") from None

    def _execute(
        self,
        name: str,
        order: dict[str, Any],
        limits: Limits,
        on_line: Progress | None,
        cut: threading.Event | None,
    ) -> Execution:
        with self._lock:
            if self._stopped:
                raise SandboxError(f"{name} was not started: the session has been stopped.")
            lifeline = ParentPipe()
            self._lifelines.add(lifeline)
        try:
            pipes = self._launcher.start_command(order, lifeline)
            return RunningCommand(name, pipes, lifeline, cut).watch(limits, on_line)
        finally:
            with self._lock:
                self._lifelines.discard(lifeline)
            lifeline.close()

    def wrap_command(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str] | None = None,
        policy: Policy | None = None,
        limits: Limits | None = None,
        private: Path | None = None,
    ) -> WrappedCommand:
        """Return the command that is started instead of `argv`.

        Raises:
            SandboxError: the command cannot be wrapped, or `cwd` does not exist or must not be exposed.
        """
        policy = policy or self._default_policy
        builds = self._builds.prepare(private.name if private else None, cwd)
        variables = {
            **self._environment,
            **build_environment(
                builds,
                self._user_environment,
                self._home,
                network=policy.network,
                shares_target=private is not None,
            ),
            **(private_directories(private, self._environment) if private else {}),
            **(environment or {}),
        }
        scratch = private or self._scratch.path
        return self._wrap(
            tuple(argv),
            cwd,
            variables,
            policy,
            limits or Limits(),
            scratch=scratch,
            builds=builds,
        )

    def select_builds(self, private: Path, content: str) -> None:
        self._builds.select(private.name, content)

    def share_builds(self, private: Path) -> None:
        self._builds.share(private.name)

    def _wrap(
        self,
        argv: tuple[str, ...],
        cwd: Path,
        environment: Mapping[str, str],
        policy: Policy,
        limits: Limits,
        *,
        scratch: Path,
        builds: Path,
    ) -> WrappedCommand:
        if self.backend is None:
            return WrappedCommand(argv=argv, directory=str(cwd), environment=environment)
        directory = Path(os.path.realpath(cwd))
        try:
            check_directory(directory)
        except SandboxError as error:
            raise SandboxError(f"{argv[0]} could not be started: {error}.") from None
        with self._lock:
            # Read before the first command there, since a command may change the pointer to the repository.
            if directory not in self._access_by_directory:
                self._access_by_directory[directory] = _repository_access(
                    directory, find_private_files(directory, self._deny_read)
                )
            git, private = self._access_by_directory[directory]
        key = argv[0], environment.get("PATH", "")
        if key not in self._tools:
            self._tools[key] = find_tool_directories(argv[0], environment)
        plan = plan_view(
            tools=self._tools[key],
            cwd=directory,
            writes=policy.writes,
            network=policy.network,
            scratch=scratch,
            builds=builds,
            git=git,
            exposed=self._exposed,
            denied=private,
        )
        return self.backend.wrap(
            CommandSpec(
                argv=argv,
                cwd=directory,
                environment=environment,
                policy=policy,
                view=plan,
                scratch=scratch,
                limits=limits,
            )
        )

    def _order(self, wrapped: WrappedCommand, cwd: Path, limits: Limits) -> dict[str, Any]:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return {
            "argv": list(wrapped.argv),
            "directory": wrapped.directory,
            "environment": dict(wrapped.environment),
            "data": dict(wrapped.data),
            "confinement": wrapped.confinement and dict(wrapped.confinement),
            "held_input": wrapped.held_input,
            "limits": {
                **limits.model_dump(),
                "resident_bytes": min(limits.resident_bytes, int(MEMORY_SHARE * machine)),
                "directories": [str(cwd), str(self._scratch.path)],
            },
        }

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            lifelines = tuple(self._lifelines)
        for lifeline in lifelines:
            lifeline.close()

    def close(self) -> None:
        """Stop, and remove the private directory."""
        self.stop()
        self._launcher.close()
        self._scratch.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _repository_access(directory: Path, private: tuple[Path, ...]) -> tuple[Path | None, tuple[Path, ...]]:
    """Return the git directory that commands may see, and the paths that they may not.

    If the repository contains private files, all of it is denied.
    """
    git = git_directory(directory)
    return (None, (*private, git)) if git and repository_contains(directory, private) else (git, private)
