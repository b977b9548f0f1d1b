"""Test server: a sandboxed process, started once, that forks for each requested run."""

import json
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from coder.core.errors import SandboxError
from coder.core.ports import Execution, Limits, Sandbox
from coder.core.values import Value
from coder.verify.project.project import Project
from coder.verify.running.launch import Launch, prepare_launch
from coder.verify.running.problems import find_error_line
from coder.verify.running.recording import Recording
from coder.verify.warm.channel import HostChannel
from coder.verify.warm.hot_swap import FunctionReplacement

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

    def trace_coverage(
        self, tests: Sequence[str], *, seconds: float, test_seconds: float
    ) -> list[dict[str, Any]]:
        """Trace the calls and opened files of each test, one dictionary per test, within the time limit.

        Raises:
            Gone: the process has ended or does not answer.
        """
        results = self.place / "reached"
        asked = RunRequest(select=(), watch={}, seconds=seconds, test_seconds=test_seconds)
        request, place = self._prepare(asked)
        request_fields = {
            "kind": "reach",
            "tests": [*tests],
            "results": str(results),
            "temporary": str(place / "t"),
        }
        self._channels["collected"].send({**request, **request_fields})
        self.next_answer("collected", seconds=seconds + SPARE_SECONDS)
        text = results.read_text(encoding="ascii") if results.exists() else ""
        return [json.loads(line) for line in text.rpartition("\n")[0].split("\n") if line]

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
