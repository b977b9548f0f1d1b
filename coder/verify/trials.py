"""Tries many candidate edits in one process of the project's interpreter that has collected the tests once."""

import json
import os
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

from coder.core.errors import SandboxError
from coder.core.ports import Limits, Sandbox
from coder.core.trials import Edit, Tried
from coder.verify.launch import launch
from coder.verify.project import Project
from coder.verify.runner import paths_of
from coder.verify.swapping import Module

COLLECTING_SECONDS = 60.0
"""Allowed on top of the time for trying, for starting and collecting."""
GLANCE_SECONDS = 0.02


class PytestTrials:
    """The Trials of one project."""

    def __init__(self, *, project: Project, sandbox: Sandbox, scratch: Path, limits: Limits) -> None:
        """`scratch` is a directory outside of any tree that sandboxed commands may write."""
        self._project = project
        self._sandbox = sandbox
        self._scratch = scratch
        self._limits = limits

    def try_out(self, tree: Path, tests: Sequence[str], edits: Sequence[Edit], *, seconds: float) -> Generator[Tried]:
        tree = tree.resolve()
        with tempfile.TemporaryDirectory(prefix="trials-", dir=self._scratch, ignore_cleanup_errors=True) as name:
            place = Path(name)
            guards = [*dict.fromkeys(test for edit in edits for test in edit.guards)]
            functions = write_candidates(place / "candidates", tree, edits, guards)
            request = {
                "tests": [*tests],
                "guards": guards,
                "functions": functions,
                "candidates": str(place / "candidates"),
                "results": str(place / "results"),
                "stop": str(place / "stop"),
                "jobs": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
                "seconds": seconds,
            }
            options = ["-s", "--assert=plain", "-p", "no:faulthandler"]
            paths = paths_of([*tests, *guards], tree)
            started = launch(self._project, tree, place, paths=paths, requests={"coder_trials": request}, options=options)
            limits = self._limits.model_copy(update={"wall_seconds": seconds + COLLECTING_SECONDS})
            serving = threading.Thread(target=self._serve, args=(started.argv, tree, started.environment, limits))
            serving.start()
            try:
                for told in follow(place / "results", serving):
                    yield Tried(edit=edits[told["index"]], outcome=told["outcome"], test=told["test"])
            finally:
                (place / "stop").touch()
                serving.join()

    def _serve(self, argv: Sequence[str], tree: Path, environment: Any, limits: Limits) -> None:
        try:
            self._sandbox.run(argv, cwd=tree, environment=environment, limits=limits)
        except SandboxError:  # stopped: whoever follows the results sees that none come any more
            return


def write_candidates(file: Path, tree: Path, edits: Sequence[Edit], guards: Sequence[str]) -> list[dict[str, Any]]:
    """One JSON line an edit, with the new text of the function that has to be compiled again; the functions as they are now come back."""
    modules: dict[str, Module] = {}
    functions: dict[tuple[str, int], dict[str, Any]] = {}
    places: dict[tuple[str, int], int] = {}
    number = {test: index for index, test in enumerate(guards)}
    with file.open("w", encoding="ascii") as lines:
        for edit in edits:
            if edit.path not in modules:
                modules[edit.path] = Module((tree / edit.path).read_bytes().decode())
            module = modules[edit.path]
            outer = module.function_of(edit)
            if outer and (edit.path, outer.start) not in places:
                places[edit.path, outer.start] = len(places)
                functions[edit.path, outer.start] = module.described(outer)
            line = {
                "path": edit.path,
                "changes": [(change.start, change.end, change.text) for change in edit.changes],
                "function": places[edit.path, outer.start] if outer else None,
                "source": module.alone(outer, edit) if outer else "",
                "guards": [number[test] for test in edit.guards],
            }
            lines.write(json.dumps(line) + "\n")
    return [*functions.values()]


def follow(file: Path, writer: threading.Thread) -> Iterator[dict[str, Any]]:
    """The lines of a growing file in the order of their `index`, until its writer has ended; a line without one is the last."""
    waiting: dict[int, dict[str, Any]] = {}
    following, position = 0, 0
    while True:
        ended = not writer.is_alive()
        whole = _read(file, position)
        position += len(whole)
        for line in whole.splitlines():
            told = json.loads(line)
            if "index" not in told:
                return
            waiting[told["index"]] = told
        while following in waiting:
            yield waiting.pop(following)
            following += 1
        if ended:
            return
        if not whole:
            time.sleep(GLANCE_SECONDS)


def _read(file: Path, position: int) -> bytes:
    """What has been written behind a position, whole lines only."""
    if not file.exists():
        return b""
    with file.open("rb") as opened:
        opened.seek(position)
        whole, newline, _ = opened.read().rpartition(b"\n")
    return whole + newline
