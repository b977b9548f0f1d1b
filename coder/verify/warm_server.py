"""The forking server that keeps a tree's tests collected, and code replaced in it."""

import ast
import json
import os
import select
import shutil
import tempfile
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from coder.core.errors import SandboxError
from coder.core.ports import Execution, Limits, Sandbox, TextChange
from coder.core.values import Value
from coder.python.source import LINE_END, Positions, parse_module
from coder.verify.launch import Launch, prepare_launch
from coder.verify.project import Project
from coder.verify.recording import Recording, find_error_line
from coder.verify.trees import overwrite

LIFE_SECONDS = 7 * 86_400.0
"""Time limit of the sandbox for the process itself; each request has its own limit."""
GLANCE_SECONDS = 0.1
COLLECTING_SECONDS = 60.0
SPARE_SECONDS = 20.0
"""Added to the time limit of a run when waiting for its answer."""
OnRed = Callable[[str], None] | None
"""Receives the id of the first red test of a run as soon as it fails."""


class RunRequest(Value):
    """Request for one run, as the recorder in the process expects it."""

    select: tuple[str, ...]
    watch: Mapping[str, str]
    """Changed modules and their paths, to check where they are imported from."""
    seconds: float
    """Time limit of the whole run."""
    test_seconds: float
    """Limit of processor time for each test."""
    until_red: bool = False
    """Whether the run ends at the first red test."""
    in_order: bool = False
    """Whether tests run in the requested order instead of collection order."""


class ServerGone(Exception):
    """Raised if the process has ended or does not answer."""


class UnreliableFork(Exception):
    """Raised if the result of a fork may differ from that of a separate process."""


class ServerState(Value):
    """State of the process after collection."""

    loaded: frozenset[str]
    """Files of the tree that were imported before collection."""
    opened: frozenset[str]
    """Files of the tree that were read before collection."""
    read: frozenset[str] = frozenset()
    """Files of the tree that were read as text by the end of collection."""
    executed: Mapping[str, tuple[int, ...]] = {}
    """First lines of the code that was executed until then, by path."""
    tests: tuple[str, ...] = ()
    """Node ids, in collection order."""
    cold: str = ""
    """Why results of forks are not reliable; empty if they are."""
    unfit: str = ""
    """Why forks of the process that collected the tests are not reliable; empty if they are."""


@dataclass(frozen=True)
class ForkResult:
    """Result of a fork."""

    recording: Recording
    done: Execution


@dataclass(frozen=True)
class FunctionReplacement:
    """A function with a new body."""

    path: str
    function: dict[str, Any]
    source: str
    end: int
    """The last line of the unchanged function."""
    lines: int
    """Number of lines added."""


class WarmServer:
    """Client of the process: one that has started, and a fork of it that has collected the tests."""

    def __init__(
        self,
        project: Project,
        tree: Path,
        *,
        sandbox: Sandbox,
        scratch: Path,
        limits: Limits,
        paths: Sequence[str] = (),
        options: Sequence[str] = (),
    ) -> None:
        """Start the process; `paths` and `options` are for pytest.

        `scratch` is a directory outside of any tree that sandboxed commands may write.
        """
        self._scratch = tempfile.TemporaryDirectory(prefix="w-", dir=scratch, ignore_cleanup_errors=True)
        self.place = Path(self._scratch.name)
        self.temporary = self.place / "t"
        self.temporary.mkdir()
        self._channels = {name: HostChannel(self.place, name) for name in ("started", "collected", "run")}
        self._common_request = {
            "tree": str(tree),
            "addopts": project.command.environment.get("PYTEST_ADDOPTS", ""),
        }
        self._sandbox = sandbox
        self._limits = limits.model_copy(update={"wall_seconds": LIFE_SECONDS})
        requests: Mapping[str, Mapping[str, Any]] = {
            "coder_pytest_report": {"report": str(self.place / "collecting"), "select": [], "watch": []},
            "coder_warm": {"place": str(self.place), "temporary": str(self.temporary)},
        }
        launched = prepare_launch(project, tree, self.place, paths=paths, requests=requests, options=options)
        self._output = ""
        self._has_files = self._may_be_running = False
        """Whether files were written for a run; whether parts of it may still be running after its answer."""
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._run_process, args=(launched, tree), daemon=True)
        self._thread.start()

    def run_swapped(
        self, replacements: Sequence[FunctionReplacement], request: RunRequest, on_red: OnRed
    ) -> ForkResult:
        """Run tests with replaced function bodies in a fork of the process that has collected them.

        Raises:
            Gone: the process has ended or does not answer.
            Unsure: the result of the fork may differ from that of a separate process.
        """
        prepared_request, place = self._prepare(request)
        swaps = [asdict(replacement) for replacement in replacements]
        return self._run_fork(
            "run", {**prepared_request, "swaps": swaps, "temporary": str(place / "t")}, place, request, on_red
        )

    def try_out(self, request: Mapping[str, Any], *, seconds: float) -> None:
        """Try many edits, until all are done or a file `stop` appears in `place`; results go to a file there.

        Raises:
            Gone: the process has ended or does not answer.
        """
        self.wait_until_collected(seconds=COLLECTING_SECONDS)
        place = {name: str(self.place / name) for name in ("candidates", "results", "stop")}
        self._channels["collected"].send({**request, **place, "kind": "try", "seconds": seconds})
        self.next_answer("collected", seconds=seconds + SPARE_SECONDS)

    def run_reimported(self, paths: Sequence[str], request: RunRequest, on_red: OnRed) -> ForkResult:
        """Run tests in a fork that imports the project and collects the tests at `paths` again.

        Raises:
            Gone: the process has ended or does not answer.
        """
        prepared_request, place = self._prepare(request)
        (place / "request").write_text(json.dumps(prepared_request), encoding="ascii")
        request_fields = {
            "kind": "run",
            "report": str(place / "request"),
            "output": str(place / "output"),
            "paths": [*paths],
        }
        return self._run_fork(
            "started",
            {**prepared_request, **request_fields, "temporary": str(place / "t")},
            place,
            request,
            on_red,
        )

    def settle(self) -> None:
        """Wait until nothing of the last request runs any more, and remove the files of its run.

        Raises:
            Gone: the process has ended or does not answer.
        """
        if self._may_be_running:
            self.next_answer("run", seconds=SPARE_SECONDS)
        directory = self.place / "run"
        for entry in (
            (*_entries(directory), *_entries(directory / "t"), self.place / "cache")
            if self._has_files
            else ()
        ):
            if entry.is_symlink() or entry.is_file():
                entry.unlink()
            elif entry != directory / "t":
                shutil.rmtree(entry, ignore_errors=True)
        self._has_files = self._may_be_running = False

    def _prepare(self, asked: RunRequest) -> tuple[dict[str, Any], Path]:
        """Return the recorder's request for one run, and a directory for it."""
        self.settle()
        self._has_files = True
        place = self.place / "run"
        (place / "t").mkdir(parents=True, exist_ok=True)
        return {
            **asked.model_dump(),
            "limit": asked.test_seconds,
            "report": str(place / "report"),
            **self._common_request,
        }, place

    def _run_fork(
        self, name: str, request: Mapping[str, Any], place: Path, asked: RunRequest, on_red: OnRed
    ) -> ForkResult:
        start = time.monotonic()
        self._channels[name].send(request)
        while "red" in (answer := self.next_answer(name, seconds=asked.seconds + SPARE_SECONDS)):
            if on_red is not None:
                on_red(answer["red"])
        self._may_be_running = name == "run" and "settled" not in answer
        if "cold" in answer:
            raise UnreliableFork(answer["cold"])
        recording = Recording(place / "report")
        recording.read()
        output = (
            (place / "output").read_text(encoding="utf-8", errors="replace")
            if (place / "output").exists()
            else ""
        )
        code = None if answer["timed_out"] else answer["code"]
        execution = Execution(
            exit_code=code, output=output, seconds=time.monotonic() - start, timed_out=answer["timed_out"]
        )
        return ForkResult(recording=recording, done=execution)

    def next_answer(self, name: str, *, seconds: float) -> dict[str, Any]:
        """Wait for the next answer of the process.

        Raises:
            Gone: no answer came.
        """
        waited = 0.0
        while (line := self._channels[name].read_line(GLANCE_SECONDS)) is None:
            waited += GLANCE_SECONDS
            if self._has_ended.is_set() or waited > seconds:
                raise ServerGone(
                    "the test process has ended"
                    if self._has_ended.is_set()
                    else "the test process does not answer"
                )
        answer: dict[str, Any] = json.loads(line)
        if answer.get("gone"):
            raise ServerGone("the tests could not be collected")
        return answer

    def wait_until_collected(self, *, seconds: float) -> ServerState:
        """Wait until the tests are collected, and return the state of the process.

        Raises:
            Gone: pytest could not be started.
        """
        state: dict[str, Any] = {}
        try:
            self.next_answer("collected", seconds=seconds)
            state = json.loads((self.place / "ready").read_text(encoding="utf-8"))
        except ServerGone as error:
            if not (self.place / "started").exists():
                raise ServerGone(f"pytest could not be started: {self._output}") from error
            state = {"unfit": str(error)}
        started = json.loads((self.place / "started").read_text(encoding="utf-8"))
        return ServerState.model_validate({**state, **started})

    def close(self) -> None:
        """End the process with all its forks."""
        if not self._has_ended.is_set():
            self._channels["started"].send({"kind": "end"})
        self._thread.join()
        for channel in self._channels.values():
            channel.close()
        self._scratch.cleanup()

    def _run_process(self, launched: Launch, tree: Path) -> None:
        try:
            execution = self._sandbox.run(
                launched.argv, cwd=tree, environment=launched.environment, limits=self._limits
            )
            self._output = find_error_line(execution.output)
        except SandboxError:  # stopped or never started: `answer` raises Gone
            return
        finally:
            self._has_ended.set()


def _entries(place: Path) -> list[Path]:
    if place.is_symlink():  # a test may have created it
        place.unlink()
    return [*place.iterdir()] if place.is_dir() else []


Function = ast.FunctionDef | ast.AsyncFunctionDef
PARSED_MODULES_CACHED = 1000
"""Size of the cache of parsed modules, least recently used first out."""


@dataclass(frozen=True)
class OuterFunction:
    """A function that is not nested in another function."""

    node: Function
    around: tuple[ast.stmt, ...]
    """Classes and other blocks that contain it, outermost first."""
    start: int
    """Offset of its first line, decorators included, in characters."""
    body: int
    end: int


class SwappableModule:
    """An unchanged source file, split into functions."""

    def __init__(self, text: str) -> None:
        """Parse the text.

        Raises:
            SyntaxError: the text is not valid Python.
        """
        self.text = text
        tree = parse_module(text)
        imports = (
            node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        )
        self.future = tuple(alias.name for node in imports for alias in node.names)
        self._positions = Positions(text)
        self._outers = tuple(self._find_functions(tree.body, ()))
        for outer in self._outers:  # bodies are no longer needed; free their memory
            outer.node.body.clear()

    def function_of(self, changes: Sequence[TextChange]) -> OuterFunction | None:
        """Return the function whose body contains all of the changes.

        None if one of them affects code that runs at import.
        """
        for outer in self._outers:
            if all(outer.body <= change.start and change.end <= outer.end for change in changes):
                return outer
        return None

    def replacements(self, path: str, text: str) -> tuple[FunctionReplacement, ...] | None:
        """Return the replaced function bodies, in order, that turn this module into the new text.

        None if the texts differ in anything else.
        """
        changes_of: dict[OuterFunction, list[TextChange]] = {}
        for change in self._changes(text):
            outer = self.function_of([change])
            if outer is None:
                return None
            changes_of.setdefault(outer, []).append(change)
        replacements = [self._to_replacement(path, outer, changes) for outer, changes in changes_of.items()]
        return (
            tuple(replacements)
            if all(
                is_only_function(replacement.source, outer.node.name)
                for replacement, outer in zip(replacements, changes_of, strict=True)
            )
            else None
        )

    def _to_replacement(
        self, path: str, outer: OuterFunction, changes: Sequence[TextChange]
    ) -> FunctionReplacement:
        added = sum(
            line_end_count(change.text) - line_end_count(self.text[change.start : change.end])
            for change in changes
        )
        source = self.isolate(outer, changes)
        return FunctionReplacement(
            path=path,
            function=self.describe(outer),
            source=source,
            end=outer.node.end_lineno or 0,
            lines=added,
        )

    def _changes(self, text: str) -> Sequence[TextChange]:
        """Return the differences to the new text.

        One difference if it lies in a function, else one for each changed block of lines.
        """
        change = single_difference(self.text, text)
        if change is None or self.function_of([change]) is not None:
            return [change] if change else []
        first, last = (
            self.text.rfind("\n", 0, change.start) + 1,
            self.text.find("\n", change.end) + 1 or len(self.text),
        )
        new_lines = self.text[first : change.start] + change.text + self.text[change.end : last]
        return [*line_differences(self.text[first:last], new_lines, first)]

    def describe(self, outer: OuterFunction) -> dict[str, Any]:
        """Return a description of the unchanged function, in the format of coder_swap."""
        node = outer.node
        return {
            "name": node.name,
            "line": min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]),
            "classes": [block.name for block in outer.around if isinstance(block, ast.ClassDef)],
            "future": self.future,
            "old": self.isolate(outer),
        }

    def isolate(self, outer: OuterFunction, changes: Sequence[TextChange] = ()) -> str:
        """Return a module that contains only the function, edited, in empty classes.

        Every line keeps its original number.
        """
        text = self.text[: outer.end]
        end = outer.end
        for change in reversed(changes):
            text = text[: change.start] + change.text + text[change.end :]
            end += len(change.text) - (change.end - change.start)
        parts: list[str] = []
        line = 1
        for block, following in pairwise([*outer.around, outer.node]):
            if block.col_offset < following.col_offset:
                header = f"class {block.name}:" if isinstance(block, ast.ClassDef) else "if 1:"
                parts.append("\n" * (block.lineno - line) + self._indent(block) + header)
                line = block.lineno
        first = self._line_of(outer.start)
        return "".join(parts) + "\n" * (first - line) + text[outer.start : end] + "\n"

    def _find_functions(self, body: list[ast.stmt], around: tuple[ast.stmt, ...]) -> Iterator[OuterFunction]:
        for node in body:
            if isinstance(node, Function):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                body_start = self._positions.offset(node.body[0].lineno, node.body[0].col_offset)
                end = self._positions.offset(node.end_lineno or 0, node.end_col_offset or 0)
                yield OuterFunction(
                    node=node,
                    around=around,
                    start=self._positions.line_starts[first - 1],
                    body=body_start,
                    end=end,
                )
            else:
                blocks = (getattr(node, name, []) for name in ("body", "orelse", "handlers", "finalbody"))
                inner = [statement for block in blocks for statement in block]
                if inner and isinstance(inner[0], ast.stmt | ast.ExceptHandler):
                    yield from self._find_functions(
                        inner, around if isinstance(node, ast.ExceptHandler) else (*around, node)
                    )

    def _line_of(self, offset: int) -> int:
        return self._positions.line_starts.index(offset) + 1

    def _indent(self, node: ast.stmt) -> str:
        start = self._positions.line_starts[node.lineno - 1]
        return self.text[start : self._positions.offset(node.lineno, node.col_offset)]


@lru_cache(maxsize=PARSED_MODULES_CACHED)
def module_of(text: str) -> SwappableModule | None:
    """Return the parsed module, None if this interpreter cannot parse the text."""
    try:
        return SwappableModule(text)
    except (SyntaxError, ValueError):
        return None


@lru_cache(maxsize=8)
def replacements_of(path: str, old: str, new: str) -> tuple[FunctionReplacement, ...] | None:
    """Return the replaced function bodies that turn one module into another.

    None if there are other differences. Results are cached.
    """
    module = module_of(old)
    return module.replacements(path, new) if module is not None else None


def single_difference(old: str, new: str) -> TextChange | None:
    """Return the one span in which two texts differ, as early as possible, None if they are equal."""
    if old == new:
        return None
    shorter = min(len(old), len(new))
    start = bisect_left(range(1, shorter + 1), True, key=lambda length: old[:length] != new[:length])
    tail = bisect_left(range(1, shorter - start + 1), True, key=lambda length: old[-length:] != new[-length:])
    end, new_end = len(old) - tail, len(new) - tail
    # Text inserted after a newline can as well be inserted before it, inside the function that it continues.
    inserted = start == end and new[start - 1 : start] == new[new_end - 1 : new_end] == "\n"
    removed = start == new_end and old[start - 1 : start] == old[end - 1 : end] == "\n"
    earlier = 1 if start and (inserted or removed) else 0
    return TextChange(start=start - earlier, end=end - earlier, text=new[start - earlier : new_end - earlier])


def line_differences(old: str, new: str, offset: int) -> Iterator[TextChange]:
    """Yield the differences of two texts, line by line; `offset` is their position in the file."""
    old_lines, new_lines = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts = [0]
    for line in old_lines:
        starts.append(starts[-1] + len(line))
    for kind, first, last, new_first, new_last in SequenceMatcher(
        None, old_lines, new_lines, autojunk=False
    ).get_opcodes():
        if kind != "equal":
            change = single_difference(
                old, old[: starts[first]] + "".join(new_lines[new_first:new_last]) + old[starts[last] :]
            )
            if change is not None:
                yield change.model_copy(update={"start": change.start + offset, "end": change.end + offset})


def is_only_function(source: str, name: str) -> bool:
    """Tell whether a source contains one function of this name, in its classes, and nothing else."""
    try:
        body: list[ast.stmt] = parse_module(source).body
    except (SyntaxError, ValueError):
        return False
    while len(body) == 1 and not getattr(body[0], "orelse", None):
        if isinstance(body[0], Function):
            return body[0].name == name
        body = getattr(body[0], "body", [])
    return False


def line_end_count(text: str) -> int:
    return len(LINE_END.findall(text))


class HostChannel:
    """The host's end of a request channel."""

    def __init__(self, place: Path, name: str) -> None:
        files = [place / f"{name}.{direction}" for direction in ("requests", "answers")]
        for file in files:
            os.mkfifo(file, 0o600)
        self._request_file = place / f"{name}.asked"
        # Opened for reading and writing: then opening does not block, and the pipe never reports its end.
        self._requests, self._answers = (os.open(file, os.O_RDWR | os.O_CLOEXEC) for file in files)
        self._buffer = b""

    def send(self, request: Mapping[str, Any]) -> None:
        """Write the request into its file and signal it."""
        # In a file, since a request can exceed the capacity of a pipe that nobody reads yet.
        overwrite(self._request_file, json.dumps(request).encode("ascii"))
        os.write(self._requests, b"\n")

    def read_line(self, seconds: float) -> str | None:
        """Return the next line, None if none is complete within `seconds`."""
        if b"\n" not in self._buffer and select.select([self._answers], [], [], seconds)[0]:
            self._buffer += os.read(self._answers, 1 << 16)
        line, newline, rest = self._buffer.partition(b"\n")
        if not newline:
            return None
        self._buffer = rest
        return line.decode("ascii")

    def close(self) -> None:
        os.close(self._requests)
        os.close(self._answers)
