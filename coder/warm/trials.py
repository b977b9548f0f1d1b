"""Trials of many edits, no evidence: a process collects the tests once and forks for each edit."""

import ast
import json
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from coder.core.errors import SandboxError
from coder.core.paths import is_test_path, test_file_of
from coder.core.ports import Edit, Limits, Progress, Sandbox, TextChange, Trace, Traces, TrialResult
from coder.core.verdict import RunProblem, TestResult
from coder.python.source import Function, Positions, PythonSource, decode_source
from coder.verify.launch import TARGET as RUN_TARGET
from coder.verify.launch import Recording, find_error_line, prepare_launch
from coder.verify.layout import files_below, option_words, pytest_options, test_file_predicate
from coder.verify.project import Project
from coder.verify.run import existing_test_paths, processor_count, read_json_lines
from coder.verify.runners.adapter import Invocation

TARGET = Path(__file__).parent / "target"
PLUGIN_PATH = (RUN_TARGET, TARGET)
"""Import path of our plugins in the project's interpreter."""
GLANCE_SECONDS = 0.02
COLLECTING_SECONDS, SPARE_SECONDS = 60.0, 20.0
"""Allowed on top of the seconds for trials: to collect the tests, and to measure them on unchanged code."""
TEST_SECONDS, AGAIN_SECONDS = 5.0, 1.0
"""Processor time limits for one test, and once one did not end: in an endless loop, the others are likely to
hang too. A test that hangs because of the bug counts as failing.
"""


@dataclass(frozen=True, kw_only=True)
class PytestTrials:
    project: Project
    sandbox: Sandbox
    scratch: Path
    """A directory outside of any tree, writable for sandboxed commands."""
    limits: Limits
    test_seconds: float = TEST_SECONDS
    """Processor time of a test that is traced."""

    def trace(
        self, tree: Path, tests: Sequence[str], *, seconds: float, progress: Progress | None = None
    ) -> Traces:
        if self.project.problem is not None:
            return Traces(problem=self.project.problem)
        tree = tree.resolve()
        with tempfile.TemporaryDirectory(
            prefix="trace-", dir=self.scratch, ignore_cleanup_errors=True
        ) as name:
            place = Path(name)
            requests: dict[str, dict[str, Any]] = {
                "coder_pytest_report": {
                    "report": str(place / "report"),
                    "select": [],
                    "watch": [],
                    "endless": {
                        "floor": self.test_seconds,
                        "again": AGAIN_SECONDS,
                        "times": 0.0,
                        "longest": 0.0,
                        "most": self.test_seconds,
                    },
                },
                "coder_trace": {
                    "lines": str(place / "lines"),
                    "sources": [*_find_sources(tree, self.project.command.text)],
                    "first": [*tests],
                    "seconds": seconds,
                },
            }
            launched = prepare_launch(
                self.project,
                tree,
                place,
                paths=directories_of_tests(tests, tree),
                requests=requests,
                plugin_path=PLUGIN_PATH,
            )
            limits = self.limits.model_copy(update={"wall_seconds": seconds + COLLECTING_SECONDS})
            if progress is not None:
                progress("tracing the failing tests and their neighbours")
            try:
                execution = self.sandbox.run(
                    launched.argv, cwd=tree, environment=launched.environment, limits=limits
                )
            except SandboxError as error:
                return Traces(problem=RunProblem(kind="stopped", text=str(error)))
            traces = _read_traces(place)
        if not traces.tests:
            return Traces(
                problem=RunProblem(
                    kind="no_report", text=f"No test could be traced: {find_error_line(execution.output)}"
                )
            )
        return traces

    def try_out(
        self,
        tree: Path,
        tests: Sequence[str],
        edits: Sequence[Edit],
        *,
        seconds: float,
    ) -> Generator[TrialResult]:
        with closing(self._go_through(tree, [*tests], edits, seconds=seconds, request={})) as records:
            for _, record in records:
                yield TrialResult(edit=edits[record["index"]], outcome=record["outcome"], test=record["test"])

    def record_calls(
        self, tree: Path, edits: Sequence[Edit], request: Mapping[str, Any], *, seconds: float
    ) -> list[list[Mapping[str, Any]]]:
        """Return the answers to the calls of tests with each edit, as `coder_calls.py` writes them.

        There are none for an edit if not all answers to the calls of targets could be had.
        """
        found: list[list[Mapping[str, Any]]] = [[] for _ in edits]
        tests = [*request["targets"], *request["others"]]
        plain = [edit.model_copy(update={"guards": ()}) for edit in edits]
        for place, record in self._go_through(
            tree, tests, plain, seconds=seconds, request={"calls": request}
        ):
            if record["outcome"] == "recorded":
                complete = _read_lines(place / f"answers{record['index']}", 0)
                found[record["index"]] = [json.loads(line) for line in complete.splitlines()]
        return found

    def _go_through(
        self,
        tree: Path,
        tests: Sequence[str],
        edits: Sequence[Edit],
        *,
        seconds: float,
        request: Mapping[str, Any],
    ) -> Generator[tuple[Path, dict[str, Any]]]:
        """Yield what is written of each edit, in order, with the folder of the run."""
        tree = tree.resolve()
        guards = [*dict.fromkeys(test for edit in edits for test in edit.guards)]
        with tempfile.TemporaryDirectory(
            prefix="trials-", dir=self.scratch, ignore_cleanup_errors=True
        ) as name:
            place = Path(name)
            files = {file: str(place / file) for file in ("candidates", "results", "stop")}
            full_request = {
                **request,
                **files,
                "tests": [*tests],
                "guards": guards,
                "functions": write_candidates(place / "candidates", tree, edits, guards),
                "jobs": processor_count(),
                "seconds": seconds,
            }
            if "calls" in request:
                full_request["calls"] = {**request["calls"], "answers": str(place / "answers")}
            launched = prepare_launch(
                self.project,
                tree,
                place,
                paths=existing_test_paths([*tests, *guards], tree),
                requests={"coder_trials": full_request},
                options=["-s", "--assert=plain", "-p", "no:faulthandler"],
                plugin_path=PLUGIN_PATH,
            )
            runner = threading.Thread(target=self._run, args=(launched, tree, seconds))
            runner.start()
            try:
                for record in follow_results(place / "results", runner):
                    yield place, record
            finally:
                (place / "stop").touch()
                runner.join()

    def _run(self, launched: Invocation, tree: Path, seconds: float) -> None:
        wall_seconds = COLLECTING_SECONDS + seconds + SPARE_SECONDS
        limits = self.limits.model_copy(update={"wall_seconds": wall_seconds})
        try:
            self.sandbox.run(launched.argv, cwd=tree, environment=launched.environment, limits=limits)
        except SandboxError:  # stopped or never started: readers of the results see their writer end
            return


def write_candidates(
    file: Path, tree: Path, edits: Sequence[Edit], guards: Sequence[str]
) -> list[dict[str, Any]]:
    """Write one JSON line per edit, with the new text of the function to recompile.

    Return the unchanged functions.
    """
    modules: dict[str, SwappableModule] = {}
    functions: dict[tuple[str, int], dict[str, Any]] = {}
    guard_number = {test: index for index, test in enumerate(guards)}
    with file.open("w", encoding="ascii") as lines:
        for edit in edits:
            if edit.path not in modules:
                modules[edit.path] = SwappableModule(decode_source((tree / edit.path).read_bytes())[0])
            module = modules[edit.path]
            place = None
            if outer := module.function_of(edit.changes):
                place = edit.path, first_line(outer)
                described = {"name": outer.name, "line": place[1], "future": module.future}
                functions.setdefault(place, {**described, "old": module.isolate(outer)})
            line = {
                "path": edit.path,
                "changes": [(change.start, change.end, change.text) for change in edit.changes],
                "function": [*functions].index(place) if place else None,
                "source": module.isolate(outer, edit.changes) if outer else "",
                "guards": [guard_number[test] for test in edit.guards],
            }
            lines.write(json.dumps(line) + "\n")
    return [*functions.values()]


def follow_results(file: Path, writer: threading.Thread) -> Iterator[dict[str, Any]]:
    """Yield the lines of a growing file in order of their `index`, until its writer ends."""
    pending: dict[int, dict[str, Any]] = {}
    next_index, position = 0, 0
    while True:
        has_ended = not writer.is_alive()
        complete = _read_lines(file, position)
        position += len(complete)
        pending |= {record["index"]: record for record in map(json.loads, complete.splitlines())}
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


class SwappableModule:
    """An unchanged source file, split into functions."""

    def __init__(self, text: str) -> None:
        """Parse the text.

        Raises:
            SyntaxError: the text is not valid Python.
        """
        self._source = source = PythonSource("", text)
        self._line_starts = Positions(text).line_starts
        imports = [node for node in source.tree.body if isinstance(node, ast.ImportFrom)]
        aliases = (alias for node in imports if node.module == "__future__" for alias in node.names)
        self.future = tuple(alias.name for alias in aliases)
        self._functions = [
            (source.span(function.body[0])[0], source.span(function)[1], function)
            for function in source.functions
        ]

    def function_of(self, changes: Sequence[TextChange]) -> Function | None:
        """Return the outermost function whose body contains all of the changes.

        None if one of them affects code that runs at import.
        """
        for start, end, function in self._functions:
            if all(start <= change.start and change.end <= end for change in changes):
                return function
        return None

    def isolate(self, function: Function, changes: Sequence[TextChange] = ()) -> str:
        """Return the module without all other statements, edited; every line keeps its original number."""
        text = self._source.text
        top = [function, *self._source.ancestors(function)][-2]  # the last one is the module
        first, end = first_line(top), self._source.span(top)[1]
        for change in reversed(changes):
            text = text[: change.start] + change.text + text[change.end :]
            end += len(change.text) - (change.end - change.start)
        return "\n" * (first - 1) + text[self._line_starts[first - 1] : end] + "\n"


def first_line(node: ast.AST) -> int:
    """Return the first line of a statement, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min(part.lineno for part in (node, *decorators) if isinstance(part, ast.stmt | ast.expr))


def _traceback_lines(result: TestResult) -> dict[str, tuple[int, ...]]:
    """Return the project lines in the traceback of a collection error.

    Nothing else is known of what was executed for it.
    """
    lines: dict[str, set[int]] = {}
    for frame in result.failure.own_frames if result.failure else ():
        if not is_test_path(frame.path):
            lines.setdefault(frame.path, set()).add(frame.line)
    return {path: tuple(sorted(numbers)) for path, numbers in lines.items()}


def _read_traces(place: Path) -> Traces:
    recording = Recording()
    for record in read_json_lines(place / "report"):
        recording.add(record)
    results = {result.id: result for result in recording.results}
    if not (place / "lines").exists():
        return Traces()
    records = [*read_json_lines(place / "lines")]
    imported: dict[str, set[int]] = {}
    for path, numbers in (pair for record in records if not record["id"] for pair in record["lines"].items()):
        imported.setdefault(path, set()).update(numbers)
    uncollected = [
        Trace(result=result, lines=_traceback_lines(result))
        for result in recording.results
        if result.red and result.when == "collect"
    ]
    ran = [
        Trace(result=results[record["id"]], lines=record["lines"])
        for record in records
        if record["id"] in results
    ]
    return Traces(
        tests=(*uncollected, *ran),
        imported={path: tuple(sorted(numbers)) for path, numbers in imported.items()},
    )


def _find_sources(tree: Path, command: str) -> Iterator[str]:
    """Yield the Python files of the project that are not tests, relative to the tree and sorted."""
    is_collected = test_file_predicate(tree, command)
    return (
        path
        for path in files_below(tree)
        if path.endswith(".py") and not is_test_path(path) and not is_collected(path)
    )


def directories_of_tests(tests: Sequence[str], tree: Path) -> tuple[str, ...]:
    """Return the directories of test files, each once, without those inside of another one.

    A file that pytest takes only by its path, such as `tests.py`, stands for itself.
    """
    patterns = option_words(pytest_options(tree)[1].get("python_files", "test_*.py *_test.py"))
    files = {Path(file) for file in map(test_file_of, tests) if (tree / file).is_file()}
    parents = {
        path.parent if any(fnmatchcase(path.name, pattern) for pattern in patterns) else path
        for path in files
    }
    return tuple(
        sorted(
            path.as_posix()
            for path in parents
            if not any(other != path and path.is_relative_to(other) for other in parents)
        )
    )
