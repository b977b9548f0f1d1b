"""A test process that stays: started once in the sandbox, asked through named pipes."""

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
from coder.core.ports.sandbox import Execution, Limits, Sandbox
from coder.core.values.base import Value
from coder.verify.project.project import Project
from coder.verify.running.launch import Launch, launch
from coder.verify.running.problems import telling_line
from coder.verify.running.recording import Recording
from coder.verify.warm.channel import Channel
from coder.verify.warm.hot_swap import Replacement

LIFE_SECONDS = 7 * 86_400.0
"""The sandbox's limit for the process itself; each request has its own."""
GLANCE_SECONDS = 0.1
COLLECTING_SECONDS = 60.0
SPARE_SECONDS = 20.0
"""For an answer, on top of what the run itself may take."""


OnRed = Callable[[str], None] | None
"""Hears of the first red test of a run as soon as it is."""


class Asked(Value):
    """One run, as the recorder in the process wants it."""

    select: tuple[str, ...]
    watch: Mapping[str, str]
    """Changed modules, and their paths: where were they imported from?"""
    seconds: float
    """Of the whole run."""
    test_seconds: float
    """Of processor time, for each test."""
    until_red: bool = False
    """Does the run end with the first red test?"""
    in_order: bool = False
    """Are tests run in the order in which they are asked for, and not as they are collected?"""


class Gone(Exception):
    """The process has ended, or does not answer."""


class Unsure(Exception):
    """What a fork would say may not be what a process of its own says."""


class State(Value):
    """What the process said when it had collected the tests."""

    loaded: frozenset[str]
    """Files of the tree that were imported before anything was collected."""
    opened: frozenset[str]
    """Files of the tree that were read before anything was collected."""
    read: frozenset[str] = frozenset()
    """Files of the tree that were read as text until all was collected."""
    executed: Mapping[str, tuple[int, ...]] = {}
    """First lines of the code that was executed until then, by path."""
    tests: tuple[str, ...] = ()
    """Node ids, in the order in which they were collected."""
    cold: str = ""
    """Why no fork can be trusted."""
    unfit: str = ""
    """Why no fork of the process that has collected the tests can be."""


@dataclass(frozen=True)
class Forked:
    """What has become of a fork."""

    recording: Recording
    done: Execution


class Served:
    """The process: one that has started, and a fork of it that has collected the tests."""

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
        """`scratch` is a directory outside of any tree that sandboxed commands may write; `paths` and `options` are for pytest."""
        self._scratch = tempfile.TemporaryDirectory(prefix="w-", dir=scratch, ignore_cleanup_errors=True)
        self.place = Path(self._scratch.name)
        self.temporary = self.place / "t"
        self.temporary.mkdir()
        self._channels = {name: Channel(self.place, name) for name in ("started", "collected", "run")}
        self._constant = {"tree": str(tree), "addopts": project.command.environment.get("PYTEST_ADDOPTS", "")}
        self._sandbox = sandbox
        self._limits = limits.model_copy(update={"wall_seconds": LIFE_SECONDS})
        requests: Mapping[str, Mapping[str, Any]] = {
            "coder_pytest_report": {"report": str(self.place / "collecting"), "select": [], "watch": []},
            "coder_warm": {"place": str(self.place), "temporary": str(self.temporary)},
        }
        started = launch(project, tree, self.place, paths=paths, requests=requests, options=options)
        self._output = ""
        self._used = self._unsettled = False
        """Has something been put down for a run; may something of it be running still, though it has answered?"""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(started, tree), daemon=True)
        self._thread.start()

    def swapped(self, replacements: Sequence[Replacement], asked: Asked, on_red: OnRed) -> Forked:
        """Run tests in a fork that has collected them, with other bodies of functions.

        Raises:
            Gone, Unsure.
        """
        request, place = self._prepared(asked)
        swaps = [asdict(replacement) for replacement in replacements]
        return self._forked(
            "run", {**request, "swaps": swaps, "temporary": str(place / "t")}, place, asked, on_red
        )

    def try_out(self, request: Mapping[str, Any], *, seconds: float) -> None:
        """Let many edits be tried, until all were or a file called stop appears in `place`; results appear in a file there.

        Raises:
            Gone.
        """
        self.opened(seconds=COLLECTING_SECONDS)
        place = {name: str(self.place / name) for name in ("candidates", "results", "stop")}
        self._channels["collected"].send({**request, **place, "kind": "try", "seconds": seconds})
        self.answer("collected", seconds=seconds + SPARE_SECONDS)

    def reach(self, tests: Sequence[str], *, seconds: float, test_seconds: float) -> list[dict[str, Any]]:
        """What each test calls and opens, one dictionary a test, as far as the time reaches.

        Raises:
            Gone.
        """
        results = self.place / "reached"
        asked = Asked(select=(), watch={}, seconds=seconds, test_seconds=test_seconds)
        request, place = self._prepared(asked)
        mine = {"kind": "reach", "tests": [*tests], "results": str(results), "temporary": str(place / "t")}
        self._channels["collected"].send({**request, **mine})
        self.answer("collected", seconds=seconds + SPARE_SECONDS)
        text = results.read_text(encoding="ascii") if results.exists() else ""
        return [json.loads(line) for line in text.rpartition("\n")[0].split("\n") if line]

    def imported(self, paths: Sequence[str], asked: Asked, on_red: OnRed) -> Forked:
        """Run tests in a fork that imports the project and collects the tests at `paths` anew.

        Raises:
            Gone.
        """
        request, place = self._prepared(asked)
        (place / "request").write_text(json.dumps(request), encoding="ascii")
        mine = {
            "kind": "run",
            "report": str(place / "request"),
            "output": str(place / "output"),
            "paths": [*paths],
        }
        return self._forked(
            "started", {**request, **mine, "temporary": str(place / "t")}, place, asked, on_red
        )

    def settle(self) -> None:
        """Wait until nothing runs any more of what was asked last, and clear away what it has put down.

        Raises:
            Gone.
        """
        if self._unsettled:
            self.answer("run", seconds=SPARE_SECONDS)
        place = self.place / "run"
        for entry in (*_entries(place), *_entries(place / "t"), self.place / "cache") if self._used else ():
            if entry.is_symlink() or entry.is_file():
                entry.unlink()
            elif entry != place / "t":
                shutil.rmtree(entry, ignore_errors=True)
        self._used = self._unsettled = False

    def _prepared(self, asked: Asked) -> tuple[dict[str, Any], Path]:
        """What the recorder is to do in one run, and a directory for it."""
        self.settle()
        self._used = True
        place = self.place / "run"
        (place / "t").mkdir(parents=True, exist_ok=True)
        return {
            **asked.model_dump(),
            "limit": asked.test_seconds,
            "report": str(place / "report"),
            **self._constant,
        }, place

    def _forked(
        self, name: str, request: Mapping[str, Any], place: Path, asked: Asked, on_red: OnRed
    ) -> Forked:
        began = time.monotonic()
        self._channels[name].send(request)
        while "red" in (answer := self.answer(name, seconds=asked.seconds + SPARE_SECONDS)):
            if on_red is not None:
                on_red(answer["red"])
        self._unsettled = name == "run" and "settled" not in answer
        if "cold" in answer:
            raise Unsure(answer["cold"])
        recording = Recording(place / "report")
        recording.read()
        output = (
            (place / "output").read_text(encoding="utf-8", errors="replace")
            if (place / "output").exists()
            else ""
        )
        code = None if answer["timed_out"] else answer["code"]
        done = Execution(
            exit_code=code, output=output, seconds=time.monotonic() - began, timed_out=answer["timed_out"]
        )
        return Forked(recording=recording, done=done)

    def answer(self, name: str, *, seconds: float) -> dict[str, Any]:
        """Wait for what the process says next.

        Raises:
            Gone: nothing came.
        """
        waited = 0.0
        while (line := self._channels[name].line(GLANCE_SECONDS)) is None:
            waited += GLANCE_SECONDS
            if self._ended.is_set() or waited > seconds:
                raise Gone(
                    "the test process has ended"
                    if self._ended.is_set()
                    else "the test process does not answer"
                )
        found: dict[str, Any] = json.loads(line)
        if found.get("gone"):
            raise Gone("the tests could not be collected")
        return found

    def opened(self, *, seconds: float) -> State:
        """Wait until the tests are collected, and say what has been seen by then.

        Raises:
            Gone: pytest could not be started.
        """
        told: dict[str, Any] = {}
        try:
            self.answer("collected", seconds=seconds)
            told = json.loads((self.place / "ready").read_text(encoding="utf-8"))
        except Gone as error:
            if not (self.place / "started").exists():
                raise Gone(f"pytest could not be started: {self._output}") from error
            told = {"unfit": str(error)}
        started = json.loads((self.place / "started").read_text(encoding="utf-8"))
        return State.model_validate({**told, **started})

    def close(self) -> None:
        """End the process with all its forks."""
        if not self._ended.is_set():
            self._channels["started"].send({"kind": "end"})
        self._thread.join()
        for channel in self._channels.values():
            channel.close()
        self._scratch.cleanup()

    def _serve(self, started: Launch, tree: Path) -> None:
        try:
            done = self._sandbox.run(
                started.argv, cwd=tree, environment=started.environment, limits=self._limits
            )
            self._output = telling_line(done.output)
        except SandboxError:  # stopped, or never started: whoever waits for an answer is told
            return
        finally:
            self._ended.set()


def _entries(place: Path) -> list[Path]:
    if place.is_symlink():  # made by a test, to lead elsewhere
        place.unlink()
    return [*place.iterdir()] if place.is_dir() else []
