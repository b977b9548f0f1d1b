"""The Sandbox: a process tree with limits, a filtered environment and a private TMPDIR, behind the walls it is given."""

import contextlib
import os
import selectors
import signal
import threading
import time
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from coder.core.errors import SandboxError
from coder.core.policy import Policy
from coder.core.ports.sandbox import Execution, Limits, Progress
from coder.permissions.private_files import DENY_READ
from coder.sandbox.backends.backend import Command, Vanished, Walled, Walls
from coder.sandbox.process.launcher_client import Launcher, Lifeline, Pipes
from coder.sandbox.process.scratch import Scratch
from coder.sandbox.view.environment import filtered, private_places
from coder.sandbox.view.linked_worktree import git_directory, holds
from coder.sandbox.view.private_files import private_files
from coder.sandbox.view.view import check_place, tools, view

LINE = 2000
"""Characters after which a line without an end is handed on as it is."""


class Capture:
    """What one command has printed so far."""

    def __init__(self, limit: int) -> None:
        """Keep at most `limit` bytes: one half from the start, the other from the end."""
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._line = ""

    def feed(self, data: bytes) -> Iterator[str]:
        """Take the next bytes and yield the lines that they complete, without their ends."""
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data_left = data[room:]
        else:
            data_left = data
        self._tail += data_left
        if (excess := len(self._tail) - self._half) > 0:
            del self._tail[:excess]
            self._dropped += excess
        *lines, self._line = (self._line + self._decoder.decode(data)).split("\n")
        yield from lines
        if len(self._line) > LINE:
            yield self._line
            self._line = ""

    @property
    def truncated(self) -> bool:
        return self._dropped > 0

    @property
    def text(self) -> str:
        """All that was kept, with a line in the place of what was dropped."""
        gap = f"\n... {self._dropped} bytes of output dropped here ...\n".encode() if self._dropped else b""
        return (bytes(self._head) + gap + bytes(self._tail)).decode("utf-8", "replace")


GRACE_SECONDS = 8.0
"""The launcher gets this long to end a tree before it is killed itself."""
REPLANNED = 10
"""So often walls are planned anew when they could not be put up: what they were to cover may have vanished meanwhile."""
MOST_MEMORY = 0.8
"""Of this machine's, at most, for one command."""


class ProcessSandbox:
    """Runs commands; without walls what they may read and write is not limited, only what they may use."""

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        walls: Walls | None = None,
        exposed: Iterable[Path] = (),
        deny_read: Sequence[str] = DENY_READ,
        caps: Mapping[str, int] | None = None,
    ) -> None:
        """Prepare a sandbox whose commands read `exposed` paths, and see files of `cwd` that `deny_read` matches as empty.

        `deny_read` holds patterns of `coder.permissions.private_files`; `caps` replaces fields of every command's `Limits`.
        """
        self._scratch = Scratch()
        self._environment = filtered(environment, scratch=self._scratch.path)
        self.walls = walls
        self._exposed = tuple(exposed)
        self._deny_read = tuple(deny_read)
        self._caps = dict(caps or {})
        self._known: dict[Path, tuple[Path | None, tuple[Path, ...]]] = {}
        self._tools: dict[tuple[str, str], tuple[Path, ...]] = {}
        self._launcher = Launcher()
        self._lock = threading.Lock()
        self._lifelines: set[Lifeline] = set()
        self._stopped = False

    @property
    def contained(self) -> bool:
        """Are there walls?"""
        return self.walls is not None

    @property
    def notice(self) -> str:
        """What the person should know about the walls, in a sentence; nothing where they are whole."""
        if self.walls is None:
            return "There is no sandbox: commands and tests run with all your rights."
        return self.walls.reduced

    @property
    def scratch(self) -> Path:
        """A private directory that commands may write; it outlives each run and is gone on close."""
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
    ) -> Execution:
        allowed = (limits or Limits()).model_copy(update=self._caps)

        def once() -> Execution:
            walled = self.walled(
                argv, cwd=cwd, environment=environment, policy=policy, limits=allowed, private=private
            )
            done = self._execute(argv[0], self._order(walled, cwd, allowed), allowed, on_line)
            return (
                done
                if self.walls is None or done.exit_code is None
                else self._told(argv[0], done, self.walls)
            )

        for _ in range(REPLANNED):
            with contextlib.suppress(Vanished):
                return once()
        return once()

    def _told(self, name: str, done: Execution, walls: Walls) -> Execution:
        """The end of the command itself, from that of what was started."""
        try:
            return done.model_copy(update={"exit_code": walls.exit_code(done.exit_code or 0, done.output)})
        except SandboxError as error:
            raise type(error)(f"{name} could not be started: {error}.") from None

    def _execute(
        self, name: str, order: dict[str, Any], limits: Limits, on_line: Progress | None
    ) -> Execution:
        with self._lock:
            if self._stopped:
                raise SandboxError(f"{name} was not started: the session has been stopped.")
            lifeline = Lifeline()
            self._lifelines.add(lifeline)
        try:
            return _Launched(name, self._launcher.order(order, lifeline), lifeline).watch(limits, on_line)
        finally:
            with self._lock:
                self._lifelines.discard(lifeline)
            lifeline.cut()

    def walled(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str] | None = None,
        policy: Policy | None = None,
        limits: Limits | None = None,
        private: Path | None = None,
    ) -> Walled:
        """What is started instead of a command.

        Raises:
            SandboxError: there is nothing to be run, or no place for it.
        """
        own = {
            **self._environment,
            **(private_places(private, self._environment) if private else {}),
            **(environment or {}),
        }
        scratch = private or self._scratch.path
        return self._walled(tuple(argv), cwd, own, policy or Policy(), limits or Limits(), scratch=scratch)

    def _walled(
        self,
        argv: tuple[str, ...],
        cwd: Path,
        environment: Mapping[str, str],
        policy: Policy,
        limits: Limits,
        *,
        scratch: Path,
    ) -> Walled:
        if self.walls is None:
            return Walled(argv=argv, directory=str(cwd), environment=environment)
        place = Path(os.path.realpath(cwd))
        try:
            check_place(place)
        except SandboxError as error:
            raise SandboxError(f"{argv[0]} could not be started: {error}.") from None
        with self._lock:
            if (
                place not in self._known
            ):  # remembered from before the first command there, which may write what leads to it
                self._known[place] = _remembered(place, private_files(place, self._deny_read))
            git, private = self._known[place]
        key = argv[0], environment.get("PATH", "")
        if key not in self._tools:
            self._tools[key] = tools(argv[0], environment)
        seen = view(
            tools=self._tools[key],
            cwd=place,
            writes=policy.writes,
            network=policy.network,
            scratch=scratch,
            git=git,
            exposed=self._exposed,
            denied=private,
        )
        return self.walls.around(
            Command(
                argv=argv,
                cwd=place,
                environment=environment,
                policy=policy,
                view=seen,
                scratch=scratch,
                limits=limits,
            )
        )

    def _order(self, walled: Walled, cwd: Path, limits: Limits) -> dict[str, Any]:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return {
            "argv": list(walled.argv),
            "directory": walled.directory,
            "environment": dict(walled.environment),
            "data": dict(walled.data),
            "confinement": walled.confinement and dict(walled.confinement),
            "held_input": walled.held_input,
            "limits": {
                **limits.model_dump(),
                "resident_bytes": min(limits.resident_bytes, int(MOST_MEMORY * machine)),
                "directories": [str(cwd), str(self._scratch.path)],
            },
        }

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            lifelines = tuple(self._lifelines)
        for lifeline in lifelines:
            lifeline.cut()

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


def _remembered(place: Path, private: tuple[Path, ...]) -> tuple[Path | None, tuple[Path, ...]]:
    """The git directory that commands may see, and what they may not: with files in the repository that are private, all of it."""
    git = git_directory(place)
    return (None, (*private, git)) if git and holds(place, private) else (git, private)


class _Launched:
    """One command under its supervisor."""

    def __init__(self, name: str, pipes: Pipes, lifeline: Lifeline) -> None:
        self._name = name
        self._pipes = pipes
        self._lifeline = lifeline
        self._started = time.monotonic()
        self._said = b""

    def watch(self, limits: Limits, on_line: Progress | None) -> Execution:
        """Read until the tree is gone, cutting it down at the time limit."""
        capture = Capture(limits.output_bytes)
        try:
            timed_out = self._read(
                capture, deadline=self._started + limits.wall_seconds, on_line=on_line or (lambda _line: None)
            )
        finally:
            self._lifeline.cut()  # first: an exception in `on_line` must not leave the tree alive
            self._bury()
        told = self._told
        if "error" in told:
            raise SandboxError(f"{self._name} could not be started: {told['error']}.")
        return Execution(
            exit_code=int(told["exit"]) if "exit" in told and not timed_out else None,
            output=capture.text,
            seconds=time.monotonic() - self._started,
            timed_out=timed_out,
            truncated=capture.truncated,
            exceeded=told.get("exceeded", ""),
        )

    @property
    def _told(self) -> dict[str, str]:
        """What the supervisor has said so far, by its first word."""
        lines = self._said.decode("utf-8", "replace").splitlines()
        return {kind: text for kind, _, text in (line.partition(" ") for line in lines)}

    def _read(self, capture: Capture, *, deadline: float, on_line: Progress) -> bool:
        """Read output and status until the supervisor has gone; True if the time limit was what ended it."""
        timed_out = False
        output, status = self._pipes.output, self._pipes.status
        os.set_blocking(output, False)
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            selector.register(status, selectors.EVENT_READ)
            while status in selector.get_map():
                now = time.monotonic()
                if now >= deadline:
                    if timed_out:
                        return True
                    timed_out, deadline = not self._lifeline.is_cut, now + GRACE_SECONDS
                    self._lifeline.cut()
                for key, _ in selector.select(max(deadline - now, 0.0)):
                    if not (data := _read(key.fd)):
                        selector.unregister(key.fd)
                    elif key.fd == status:
                        self._said += data
                    else:
                        for line in capture.feed(data):
                            on_line(line)
            while data := _read(output):  # what was written just before the end
                for line in capture.feed(data):
                    on_line(line)
        return timed_out

    def _bury(self) -> None:
        """Wait for the supervisor, which ends by itself once its lifeline is cut, and kill what can still be found if it does not."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._pipes.status, selectors.EVENT_READ)
            give_up = time.monotonic() + GRACE_SECONDS
            while selector.select(max(give_up - time.monotonic(), 0.0)) and (
                data := _read(self._pipes.status)
            ):
                self._said += data
        os.close(self._pipes.status)
        os.close(self._pipes.output)
        if "gone" not in self._told:
            _kill(self._told)


def _kill(told: Mapping[str, str]) -> None:
    """End a supervisor that was killed, or that hangs, and the process group of its command."""
    for kind, kill in (("supervisor", os.kill), ("pid", os.killpg)):
        if kind in told:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(int(told[kind]), signal.SIGKILL)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except BlockingIOError:
        return b""
