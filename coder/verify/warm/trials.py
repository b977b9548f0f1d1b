"""Trials of many candidate edits in one process that has collected the tests."""

import json
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from coder.core.ports import CallComparison, Edit, Limits, Sandbox, TrialResult
from coder.verify.project.project import Project
from coder.verify.running.launch import source_files
from coder.verify.running.parallel import processor_count
from coder.verify.running.runner import existing_test_paths
from coder.verify.warm.hot_swap import SwappableModule
from coder.verify.warm.test_server import ServerGone, WarmServer

GLANCE_SECONDS = 0.02
LEAST_ANSWERED = 0.5
"""An edit that answered a smaller share of the calls is left out; the others are compared up to the slowest
one.
"""


class PytestTrials:
    """`Trials` of one project."""

    def __init__(self, *, project: Project, sandbox: Sandbox, scratch: Path, limits: Limits) -> None:
        """Prepare for trials; `scratch` is a directory outside of any tree, writable in the sandbox."""
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
    ) -> Generator[TrialResult]:
        """Yield the outcome of each edit, in order, within the time limit."""
        tree = tree.resolve()
        guards = _guards_of(edits)
        with closing(self._start_server(tree, [*tests, *guards])) as served:
            functions = write_candidates(served.place / "candidates", tree, edits, guards)
            request = {
                "tests": [*tests],
                "guards": guards,
                "functions": functions,
                "jobs": processor_count(),
                "patient": patient,
            }
            requester = threading.Thread(target=self._request_trials, args=(served, request, seconds))
            requester.start()
            try:
                for record in follow_results(served.place / "results", requester):
                    yield TrialResult(
                        edit=edits[record["index"]], outcome=record["outcome"], test=record["test"]
                    )
            finally:
                (served.place / "stop").touch()
                requester.join()

    def compare_calls(
        self, tree: Path, tests: Sequence[str], edits: Sequence[Edit], *, seconds: float
    ) -> CallComparison:
        """Return how the unchanged code and each edit answer the calls that the tests make."""
        tree = tree.resolve()
        guards = _guards_of(edits)
        with closing(self._start_server(tree, [*tests, *guards])) as served:
            functions = write_candidates(served.place / "candidates", tree, edits, guards)
            request = {
                "tests": [*tests],
                "guards": guards,
                "functions": functions,
                "compare": True,
                "sources": [*source_files(tree)],
            }
            self._request_trials(served, request, seconds)
            results = served.place / "results"
            complete = results.read_bytes().rpartition(b"\n")[0] if results.exists() else b""
            return _to_comparison([json.loads(line) for line in complete.splitlines()], len(edits))

    def _start_server(self, tree: Path, tests: Sequence[str]) -> WarmServer:
        options = ["-s", "--assert=plain", "-p", "no:faulthandler"]
        return WarmServer(
            self._project,
            tree,
            sandbox=self._sandbox,
            scratch=self._scratch,
            limits=self._limits,
            paths=existing_test_paths(tests, tree),
            options=options,
        )

    def _request_trials(self, served: WarmServer, request: Mapping[str, Any], seconds: float) -> None:
        try:
            served.try_out(request, seconds=seconds)
        except ServerGone:  # stopped or nothing collected: readers of the results see their writer end
            return


def _guards_of(edits: Sequence[Edit]) -> list[str]:
    return [*dict.fromkeys(test for edit in edits for test in edit.guards)]


def _to_comparison(records: Sequence[Mapping[str, Any]], count: int) -> CallComparison:
    """Return the answers that the process recorded.

    Records hold the calls, the answers of the unchanged code twice, then those of each edit as far as it got.
    Calls whose two answers differ are left out.
    """
    if len(records) != count + 3:
        return CallComparison()
    calls, first, second, *edits = records[0]["calls"], *(record["answers"] for record in records[1:])
    common = min(
        len(first),
        len(second),
        *(len(answers) for answers in edits if len(answers) >= LEAST_ANSWERED * len(first)),
        len(calls),
    )
    stable = [index for index in range(common) if first[index] == second[index]]
    complete = [answers if len(answers) >= common else [] for answers in edits]
    return CallComparison(
        calls=tuple(calls[index] for index in stable),
        before=tuple(first[index] for index in stable),
        after=tuple(tuple(answers[index] for index in stable) if answers else () for answers in complete),
    )


def write_candidates(
    file: Path, tree: Path, edits: Sequence[Edit], guards: Sequence[str]
) -> list[dict[str, Any]]:
    """Write one JSON line per edit, with the new text of the function to recompile.

    Return the unchanged functions.
    """
    modules: dict[str, SwappableModule] = {}
    functions: dict[tuple[str, int], dict[str, Any]] = {}
    index_of: dict[tuple[str, int], int] = {}
    guard_number = {test: index for index, test in enumerate(guards)}
    with file.open("w", encoding="ascii") as lines:
        for edit in edits:
            if edit.path not in modules:
                modules[edit.path] = SwappableModule((tree / edit.path).read_bytes().decode())
            module = modules[edit.path]
            outer = module.function_of(edit.changes)
            if outer and (edit.path, outer.start) not in index_of:
                index_of[edit.path, outer.start] = len(index_of)
                functions[edit.path, outer.start] = module.describe(outer)
            line = {
                "path": edit.path,
                "changes": [(change.start, change.end, change.text) for change in edit.changes],
                "function": index_of[edit.path, outer.start] if outer else None,
                "source": module.isolate(outer, edit.changes) if outer else "",
                "guards": [guard_number[test] for test in edit.guards],
            }
            lines.write(json.dumps(line) + "\n")
    return [*functions.values()]


def follow_results(file: Path, writer: threading.Thread) -> Iterator[dict[str, Any]]:
    """Yield the lines of a growing file in order of their `index`, until its writer ends.

    A line without an index is the last one.
    """
    pending: dict[int, dict[str, Any]] = {}
    next_index, position = 0, 0
    while True:
        has_ended = not writer.is_alive()
        complete = _read_lines(file, position)
        position += len(complete)
        for line in complete.splitlines():
            record = json.loads(line)
            if "index" not in record:
                return
            pending[record["index"]] = record
        while next_index in pending:
            yield pending.pop(next_index)
            next_index += 1
        if has_ended:
            return
        if not complete:
            time.sleep(GLANCE_SECONDS)


def _read_lines(file: Path, position: int) -> bytes:
    """Return the complete lines written after a position."""
    if not file.exists():
        return b""
    with file.open("rb") as stream:
        stream.seek(position)
        complete, newline, _ = stream.read().rpartition(b"\n")
    return complete + newline
