"""Tries many candidate edits in one process of the project's interpreter that has collected the tests once."""

import json
import os
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from coder.core.ports.repair import Compared, Edit, Tried
from coder.core.ports.sandbox import Limits, Sandbox
from coder.verify.project.project import Project
from coder.verify.running.launch import sources
from coder.verify.running.runner import paths_of
from coder.verify.warm.hot_swap import Module
from coder.verify.warm.test_server import Gone, Served

GLANCE_SECONDS = 0.02
LEAST_ANSWERED = 0.5
"""Who has come less far than so in the time has not been asked; else all are heard as far as the slowest has come."""


class PytestTrials:
    """The Trials of one project."""

    def __init__(self, *, project: Project, sandbox: Sandbox, scratch: Path, limits: Limits) -> None:
        """`scratch` is a directory outside of any tree that sandboxed commands may write."""
        self._project = project
        self._sandbox = sandbox
        self._scratch = scratch
        self._limits = limits

    def try_out(
        self,
        tree: Path,
        tests: Sequence[str],
        edits: Sequence[Edit],
        *,
        seconds: float,
        patient: bool = False,
    ) -> Generator[Tried]:
        tree = tree.resolve()
        guards = _guards(edits)
        with closing(self._served(tree, [*tests, *guards])) as served:
            functions = write_candidates(served.place / "candidates", tree, edits, guards)
            request = {
                "tests": [*tests],
                "guards": guards,
                "functions": functions,
                "jobs": processors(),
                "patient": patient,
            }
            asking = threading.Thread(target=self._ask, args=(served, request, seconds))
            asking.start()
            try:
                for told in follow(served.place / "results", asking):
                    yield Tried(edit=edits[told["index"]], outcome=told["outcome"], test=told["test"])
            finally:
                (served.place / "stop").touch()
                asking.join()

    def compare(self, tree: Path, tests: Sequence[str], edits: Sequence[Edit], *, seconds: float) -> Compared:
        tree = tree.resolve()
        guards = _guards(edits)
        with closing(self._served(tree, [*tests, *guards])) as served:
            functions = write_candidates(served.place / "candidates", tree, edits, guards)
            request = {
                "tests": [*tests],
                "guards": guards,
                "functions": functions,
                "compare": True,
                "sources": [*sources(tree)],
            }
            self._ask(served, request, seconds)
            results = served.place / "results"
            whole = results.read_bytes().rpartition(b"\n")[0] if results.exists() else b""
            return _compared([json.loads(line) for line in whole.splitlines()], len(edits))

    def _served(self, tree: Path, tests: Sequence[str]) -> Served:
        options = ["-s", "--assert=plain", "-p", "no:faulthandler"]
        return Served(
            self._project,
            tree,
            sandbox=self._sandbox,
            scratch=self._scratch,
            limits=self._limits,
            paths=paths_of(tests, tree),
            options=options,
        )

    def _ask(self, served: Served, request: Mapping[str, Any], seconds: float) -> None:
        try:
            served.try_out(request, seconds=seconds)
        except (
            Gone
        ):  # stopped, or nothing could be collected: whoever follows the results sees that none come any more
            return


def _guards(edits: Sequence[Edit]) -> list[str]:
    return [*dict.fromkeys(test for edit in edits for test in edit.guards)]


def _compared(told: Sequence[Mapping[str, Any]], count: int) -> Compared:
    """What the process has written: the calls, the unchanged code's answers twice, then those of each edit as far as it came."""
    if len(told) != count + 3:
        return Compared()
    calls, first, second, *edits = told[0]["calls"], *(line["answers"] for line in told[1:])
    reach = min(
        len(first),
        len(second),
        *(len(answers) for answers in edits if len(answers) >= LEAST_ANSWERED * len(first)),
        len(calls),
    )
    sure = [place for place in range(reach) if first[place] == second[place]]
    complete = [answers if len(answers) >= reach else [] for answers in edits]
    return Compared(
        calls=tuple(calls[place] for place in sure),
        before=tuple(first[place] for place in sure),
        after=tuple(tuple(answers[place] for place in sure) if answers else () for answers in complete),
    )


def processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def write_candidates(
    file: Path, tree: Path, edits: Sequence[Edit], guards: Sequence[str]
) -> list[dict[str, Any]]:
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
            outer = module.function_of(edit.changes)
            if outer and (edit.path, outer.start) not in places:
                places[edit.path, outer.start] = len(places)
                functions[edit.path, outer.start] = module.described(outer)
            line = {
                "path": edit.path,
                "changes": [(change.start, change.end, change.text) for change in edit.changes],
                "function": places[edit.path, outer.start] if outer else None,
                "source": module.alone(outer, edit.changes) if outer else "",
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
