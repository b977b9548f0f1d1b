"""A command in a sandbox: started by the launcher, captured, limited, ended with all its children."""

import array
import contextlib
import marshal
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from threading import Event
from types import TracebackType
from typing import Any, Self

from coder.core.errors import SandboxError
from coder.core.ports import Execution, Limits, Progress, Sandbox
from coder.core.values import Policy
from coder.files.regular_files import ScratchDirectory
from coder.permissions.secrets import DENY_READ
from coder.sandbox.backend import CommandSpec, MountSourceMissing, SandboxBackend, WrappedCommand
from coder.sandbox.view import (
    BuildDirectories,
    build_environment,
    check_directory,
    filter_environment,
    find_private_files,
    find_tool_directories,
    git_directory,
    git_identity,
    home_directories,
    package_caches,
    plan_view,
    private_directories,
    repository_contains,
)

REDUCED = "Commands cannot reach the network here. What else is missing, and how to get it: coder doctor"
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
            deny_read: patterns of `coder.permissions.secrets`; files of `cwd` that match appear empty.
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
        self._identity: str | None = None
        self._launcher = Launcher()
        self._lock = threading.Lock()
        self._lifelines: set[ParentPipe] = set()
        self._stopped = False

    @property
    def is_sandboxed(self) -> bool:
        return self.backend is not None

    @property
    def notice(self) -> str:
        """A sentence for the user about missing isolation; empty where isolation is full."""
        if self.backend is None:
            return "There is no sandbox: commands and tests can read and write what you can."
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
        limits = (limits or Limits()).model_copy(update=self._caps)
        planned = 0
        while True:
            wrapped = self.wrap_command(
                argv, cwd=cwd, environment=environment, policy=policy, limits=limits, private=private
            )
            order = self._order(wrapped, cwd, limits)
            execution = self._execute(argv[0], order, limits, on_line, cut)
            if self.backend is None or execution.exit_code is None:
                return execution
            planned += 1
            try:
                code = self.backend.exit_code(execution.exit_code, execution.output)
            except SandboxError as error:
                if planned > REPLAN_LIMIT or not isinstance(error, MountSourceMissing):
                    raise type(error)(f"{argv[0]} could not be started: {error}.") from None
            else:
                return execution.model_copy(update={"exit_code": code})

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
            status, output = self._launcher.start_command(order, lifeline)
            return RunningCommand(name, status, output, lifeline, cut).watch(limits, on_line)
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
        scratch = private or self._scratch.path
        self._make_home(scratch / "home")
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
        if self.backend is None:
            return WrappedCommand(argv=tuple(argv), directory=str(cwd), environment=variables)
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
            git, denied = self._access_by_directory[directory]
        key = argv[0], variables.get("PATH", "")
        if key not in self._tools:
            self._tools[key] = find_tool_directories(argv[0], variables)
        plan = plan_view(
            tools=self._tools[key],
            cwd=directory,
            writes=policy.writes,
            network=policy.network,
            scratch=scratch,
            builds=builds,
            git=git,
            exposed=self._exposed,
            denied=denied,
        )
        return self.backend.wrap(
            CommandSpec(
                argv=tuple(argv),
                cwd=directory,
                environment=variables,
                policy=policy,
                view=plan,
                scratch=scratch,
                limits=limits or Limits(),
            )
        )

    def _make_home(self, home: Path) -> None:
        """Make a private HOME with the user's name and e-mail address for git, unless commands ran there."""
        with self._lock:
            if os.path.lexists(home):
                return
            if self._identity is None:
                self._identity = git_identity(self._user_environment)
            home.mkdir()
            (home / ".gitconfig").write_text(self._identity, encoding="utf-8")

    def select_builds(self, private: Path, content: str) -> None:
        self._builds.select(private.name, content)

    def share_builds(self, private: Path) -> None:
        self._builds.share(private.name)

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


CUT_CHECK_SECONDS = 0.2
"""The time between two looks at whether a command is to be cut short."""
GRACE_SECONDS = 8.0
"""The time a supervisor has to end its tree before it is killed itself."""


class ParentPipe:
    """The pipe end that keeps one command alive; any thread may cut it, once."""

    def __init__(self) -> None:
        self.read_end, self._write_end = os.pipe()
        self._lock = threading.Lock()
        self.is_closed = False

    def close(self) -> None:
        """Close the pipe, which ends the command; further calls do nothing."""
        with self._lock:
            if not self.is_closed:
                self.is_closed = True
                os.close(self._write_end)


class OutputCapture:
    def __init__(self, limit: int) -> None:
        """Keep at most `limit` bytes: one half from the start, the other from the end."""
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._line = ""

    def feed(self, data: bytes) -> Iterator[str]:
        """Take the next bytes and yield the lines that they complete, without line ends."""
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            overflow = data[room:]
        else:
            overflow = data
        self._tail += overflow
        if (excess := len(self._tail) - self._half) > 0:
            del self._tail[:excess]
            self._dropped += excess
        *lines, self._line = (self._line + self._decoder.decode(data)).split("\n")
        yield from lines
        if len(self._line) > LONGEST_LINE:
            yield self._line
            self._line = ""

    @property
    def truncated(self) -> bool:
        return self._dropped > 0

    @property
    def text(self) -> str:
        """The captured output, with a line in place of dropped bytes."""
        gap = f"\n... {self._dropped} bytes of output dropped here ...\n".encode() if self._dropped else b""
        return (bytes(self._head) + gap + bytes(self._tail)).decode("utf-8", "replace")


class RunningCommand:
    def __init__(
        self, name: str, status: int, output: int, lifeline: ParentPipe, cut: threading.Event | None
    ) -> None:
        """Take the reading ends of its status and its output, which are closed at the end."""
        self._name = name
        self._cut = cut
        self._status, self._output = status, output
        self._lifeline = lifeline
        self._started = time.monotonic()
        self._status_output = b""
        self._killed_after: float | None = None

    def watch(self, limits: Limits, on_line: Progress | None) -> Execution:
        """Read output until the tree is gone, ending it at the time limit or when it is cut short."""
        capture = OutputCapture(limits.output_bytes)
        try:
            timed_out = self._read(
                capture, deadline=self._started + limits.wall_seconds, on_line=on_line or (lambda _line: None)
            )
        finally:
            self._lifeline.close()  # first, since an exception in `on_line` must not leave the tree alive
            self._wait_for_supervisor()
        report = self._report
        if "error" in report:
            raise SandboxError(f"{self._name} could not be started: {report['error']}.")
        return Execution(
            exit_code=int(report["exit"]) if "exit" in report and not timed_out else None,
            output=capture.text,
            seconds=time.monotonic() - self._started,
            timed_out=timed_out,
            killed_after=self._killed_after,
            truncated=capture.truncated,
            exceeded=report.get("exceeded", ""),
        )

    @property
    def _report(self) -> dict[str, str]:
        """The status lines received so far, by their first word."""
        lines = self._status_output.decode("utf-8", "replace").splitlines()
        return {kind: text for kind, _, text in (line.partition(" ") for line in lines)}

    def _read(self, capture: OutputCapture, *, deadline: float, on_line: Progress) -> bool:
        """Read output and status until the supervisor has ended; return whether the time limit ended it."""
        timed_out = False
        output, status = self._output, self._status
        os.set_blocking(output, False)
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            selector.register(status, selectors.EVENT_READ)
            while status in selector.get_map():
                now = time.monotonic()
                is_cut = self._cut is not None and self._cut.is_set() and not self._lifeline.is_closed
                if now >= deadline or is_cut:
                    if timed_out:
                        return True
                    timed_out, deadline = not self._lifeline.is_closed, now + GRACE_SECONDS
                    self._killed_after = now - self._started
                    self._lifeline.close()
                pause = deadline - now if self._cut is None else min(deadline - now, CUT_CHECK_SECONDS)
                for key, _ in selector.select(max(pause, 0.0)):
                    if not (data := _read(key.fd)):
                        selector.unregister(key.fd)
                    elif key.fd == status:
                        self._status_output += data
                    else:
                        for line in capture.feed(data):
                            on_line(line)
            while data := _read(output):  # written just before the end
                for line in capture.feed(data):
                    on_line(line)
        return timed_out

    def _wait_for_supervisor(self) -> None:
        """Wait for the supervisor to end once its lifeline is cut; kill what can be found if it does not."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._status, selectors.EVENT_READ)
            give_up = time.monotonic() + GRACE_SECONDS
            while selector.select(max(give_up - time.monotonic(), 0.0)) and (data := _read(self._status)):
                self._status_output += data
        os.close(self._status)
        os.close(self._output)
        if "gone" not in self._report:
            _kill_supervisor(self._report)


def _kill_supervisor(report: Mapping[str, str]) -> None:
    """Kill a supervisor that hangs or was killed, and the process group of its command."""
    for kind, kill in (("supervisor", os.kill), ("pid", os.killpg)):
        if kind in report:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(int(report[kind]), signal.SIGKILL)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except BlockingIOError:
        return b""


PACKAGES = Path(__file__).parents[2]
SERVE_SCRIPT = """
import socket, sys
sys.path.append(sys.argv[1])
from coder.sandbox.launcher import serve
serve(socket.socket(fileno=int(sys.argv[2])))
"""
"""Our packages come last on the path, so that no file beside them shadows the standard library."""


class Launcher:
    """The process that starts commands; the first command starts it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._door: socket.socket | None = None

    def start_command(self, order: Mapping[str, Any], lifeline: ParentPipe) -> tuple[int, int]:
        """Order the start of a command, and return the reading ends of its status and its output.

        Raises:
            SandboxError: no process can be started here.
        """
        status, status_write = os.pipe()
        output, output_write = os.pipe()
        try:
            with tempfile.TemporaryFile() as file:
                marshal.dump(dict(order), file)
                file.seek(0)
                self._send([file.fileno(), lifeline.read_end, status_write, output_write])
        except (OSError, ValueError) as error:
            os.close(status)
            os.close(output)
            raise SandboxError(f"{order['argv'][0]} could not be started: {error}.") from error
        finally:
            for descriptor in (status_write, output_write, lifeline.read_end):
                os.close(descriptor)
        return status, output

    def close(self) -> None:
        """Let the process end; running commands are not affected."""
        with self._lock:
            self._close()

    def _send(self, descriptors: list[int]) -> None:
        with self._lock:
            try:
                self._hand_over(descriptors)
            except (BrokenPipeError, ConnectionResetError):  # it was killed
                self._close()
                self._hand_over(descriptors)

    def _hand_over(self, descriptors: list[int]) -> None:
        if self._door is None:
            self._open()
        assert self._door is not None
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
        self._door.sendmsg([b"!"], [rights])

    def _open(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", SERVE_SCRIPT, str(PACKAGES), str(theirs.fileno())],
                env={},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=(theirs.fileno(),),
            )
        self._door = ours

    def _close(self) -> None:
        if self._door is not None and self._process is not None:
            self._door.close()
            self._process.wait()
        self._door = self._process = None


LONGEST_LINE = 2000
"""Length in characters at which an incomplete line is passed on."""


class SandboxWrapper:
    """A Sandbox that passes all on to another one."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def run(self, argv: Sequence[str], **options: Any) -> Execution:
        return self._sandbox.run(argv, **options)

    def select_builds(self, private: Path, content: str) -> None:
        self._sandbox.select_builds(private, content)

    def share_builds(self, private: Path) -> None:
        self._sandbox.share_builds(private)

    def stop(self) -> None:
        self._sandbox.stop()


class BoundedSandbox(SandboxWrapper):
    """A Sandbox whose commands end as at their time limit once an event is set; none starts after it."""

    def __init__(self, sandbox: Sandbox, cut: Event) -> None:
        super().__init__(sandbox)
        self._cut = cut

    def run(self, argv: Sequence[str], **options: Any) -> Execution:
        if self._cut.is_set():
            raise SandboxError("the time for this is over")
        return super().run(argv, **{**options, "cut": options.get("cut") or self._cut})


FileStamp = tuple[int, int, int]
"""A file stamp that changes with every write: inode, size, change time in nanoseconds."""
Residue = dict[str, tuple[str, FileStamp]]
"""By path, relative to the worktree: what it is, as a phrase for the user, and its stamp."""


class ResidueSandbox(SandboxWrapper):
    """A Sandbox for a worktree that outlives its commands."""

    def __init__(self, sandbox: Sandbox, tree: Path, report: Callable[[str], None]) -> None:
        """Wrap `sandbox` for the worktree `tree`.

        `report` is called with a sentence on what was removed, in the thread that ran the command.
        """
        super().__init__(sandbox)
        self._tree = tree
        self._tell = report
        self._lock = threading.Lock()

    def run(self, argv: Sequence[str], **options: Any) -> Execution:
        with self.check_residue() as removed:
            execution = super().run(argv, **options)
        note = "".join(f"\n[{sentence}]" for sentence in removed)
        return execution.model_copy(update={"output": execution.output + note}) if note else execution

    @contextmanager
    def check_residue(self) -> Iterator[list[str]]:
        """Survey the worktree before and after the block, and remove what leads out of it or to git.

        On exit the list holds a sentence on each that was removed.
        """
        removed: list[str] = []
        with self._lock:
            pointer = _pointer_content(self._tree / ".git")
            before = survey_worktree(self._tree)
            try:
                yield removed
            finally:
                _restore_pointer(self._tree / ".git", pointer)
                for path, found in sorted(survey_worktree(self._tree).items()):
                    if before.get(path) != found:
                        _remove(self._tree / path)
                        removed.append(f"A command made {path}, {found[0]}; it was removed.")
                        self._tell(removed[-1])


def _pointer_content(pointer: Path) -> bytes | None:
    return pointer.read_bytes() if pointer.is_file() and not pointer.is_symlink() else None


def _restore_pointer(pointer: Path, content: bytes | None) -> None:
    """Restore a worktree's pointer to its repository, which some backends cannot protect."""
    if content is None or _pointer_content(pointer) == content:
        return
    _remove(pointer)
    pointer.write_bytes(content)


ENVIRONMENTS = frozenset({".venv", "venv", "env", "node_modules", ".tox", ".nox", "__pycache__"})
"""Directories that contain links and programs by design, and that are part of no change."""


def survey_worktree(tree: Path) -> Residue:
    """Return the repositories inside of a worktree, and the links that lead out of it."""
    return {path: (text, _file_stamp(tree / path)) for path, text in _find_residue(tree)}


def _remove(path: Path) -> None:
    """Remove a path; no symbolic link on the way is followed, since the survey followed none."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _find_residue(tree: Path) -> Iterator[tuple[str, str]]:
    root = os.path.realpath(tree)
    for directory, folders, files in os.walk(tree):
        relative = PurePosixPath(os.path.relpath(directory, tree))
        if relative.parts and {"HEAD", "objects", "refs"} <= {*folders, *files}:
            yield str(relative), "a bare git repository inside of the worktree"
            folders.clear()
            continue
        for path in (relative / name for name in (*folders, *files)):
            if path.name == ".git":
                if relative.parts:
                    yield str(path), "a git repository inside of the worktree"
            elif (tree / path).is_symlink():
                target = Path(os.path.realpath(tree / path))
                if not target.is_relative_to(root):
                    yield str(path), f"a symbolic link that leads out of the worktree, to {target}"
        folders[:] = [name for name in folders if name != ".git" and name not in ENVIRONMENTS]


def _file_stamp(path: Path) -> FileStamp:
    status = path.lstat()
    return status.st_ino, status.st_size, status.st_ctime_ns
