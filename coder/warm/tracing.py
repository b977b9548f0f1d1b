"""Line traces of failing tests and their neighbours, for fault localization."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from coder.core.errors import SandboxError
from coder.core.paths import is_test_path, test_file_of
from coder.core.ports import Limits, Progress, Sandbox, Trace, Traces
from coder.core.verdict import RunProblem, TestResult
from coder.verify.launch import Recording, files_below, find_error_line, prepare_launch
from coder.verify.layout import option_words, pytest_options, test_file_predicate
from coder.verify.project import Project
from coder.verify.run import read_json_lines
from coder.warm.trials import PLUGIN_PATH

COLLECTING_SECONDS = 60.0
"""Allowed on top of the time for tracing, for starting and collecting."""
TEST_SECONDS, AGAIN_SECONDS = 5.0, 1.0
"""Processor time limits for one test, and once one did not end: in an endless loop, the others are likely to
hang too. A test that hangs because of the bug counts as failing.
"""


@dataclass(frozen=True, kw_only=True)
class PytestTracer:
    project: Project
    sandbox: Sandbox
    scratch: Path
    """A directory outside of any tree, writable for sandboxed commands."""
    limits: Limits
    test_seconds: float = TEST_SECONDS

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
