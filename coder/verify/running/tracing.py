"""Runs the failing tests and their neighbours and reads which lines each of them executed."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coder.core.errors import SandboxError
from coder.core.ports.repair import Trace, Traces
from coder.core.ports.sandbox import Limits, Progress, Sandbox
from coder.core.values.paths import is_test_path
from coder.core.values.verdict import Problem, TestResult
from coder.verify.project.project import Project
from coder.verify.results.failure_reasons import inside
from coder.verify.running.launch import directories, launch, sources
from coder.verify.running.problems import telling_line
from coder.verify.running.recording import Recording

COLLECTING_SECONDS = 60.0
"""Allowed on top of the time for tracing, for starting and collecting."""
TEST_SECONDS = 10.0
"""Of processor time for one test; a test that hangs because of the bug is a failing test as well."""


class PytestTracer:
    """The Tracer of one project."""

    def __init__(
        self,
        *,
        project: Project,
        sandbox: Sandbox,
        scratch: Path,
        limits: Limits,
        test_seconds: float = TEST_SECONDS,
    ) -> None:
        """`scratch` is a directory outside of any tree that sandboxed commands may write."""
        self._project = project
        self._sandbox = sandbox
        self._scratch = scratch
        self._limits = limits
        self._test_seconds = test_seconds

    def trace(
        self, tree: Path, tests: Sequence[str], *, seconds: float, progress: Progress | None = None
    ) -> Traces:
        if self._project.problem is not None:
            return Traces(problem=self._project.problem)
        tree = tree.resolve()
        with tempfile.TemporaryDirectory(
            prefix="trace-", dir=self._scratch, ignore_cleanup_errors=True
        ) as name:
            place = Path(name)
            requests: dict[str, dict[str, Any]] = {
                "coder_pytest_report": {"report": str(place / "report"), "select": [], "watch": []},
                "coder_trace": {
                    "lines": str(place / "lines"),
                    "sources": [*sources(tree)],
                    "first": [*tests],
                    "seconds": seconds,
                    "test_seconds": self._test_seconds,
                },
            }
            started = launch(self._project, tree, place, paths=directories(tests, tree), requests=requests)
            limits = self._limits.model_copy(update={"wall_seconds": seconds + COLLECTING_SECONDS})
            if progress is not None:
                progress("tracing the failing tests and their neighbours")
            try:
                done = self._sandbox.run(
                    started.argv, cwd=tree, environment=started.environment, limits=limits
                )
            except SandboxError as error:
                return Traces(problem=Problem(kind="stopped", text=str(error)))
            found = _read(place)
        if not found.tests:
            return Traces(
                problem=Problem(
                    kind="no_report", text=f"No test could be traced: {telling_line(done.output)}"
                )
            )
        return found


def _on_the_way(result: TestResult) -> dict[str, tuple[int, ...]]:
    """The lines of the project in the traceback of what could not be collected: all that is known of what was executed for it."""
    lines: dict[str, set[int]] = {}
    for frame in inside(result.failure) if result.failure else ():
        if not is_test_path(frame.path):
            lines.setdefault(frame.path, set()).add(frame.line)
    return {path: tuple(sorted(numbers)) for path, numbers in lines.items()}


def _read(place: Path) -> Traces:
    recording = Recording(place / "report")
    recording.read()
    results = {result.id: result for result in recording.results}
    if not (place / "lines").exists():
        return Traces()
    whole = (place / "lines").read_text(encoding="ascii").rpartition("\n")[0]
    told = [json.loads(line) for line in whole.split("\n") if line]
    imported: dict[str, set[int]] = {}
    for path, numbers in (pair for line in told if not line["id"] for pair in line["lines"].items()):
        imported.setdefault(path, set()).update(numbers)
    lost = [
        Trace(result=result, lines=_on_the_way(result))
        for result in recording.results
        if result.red and result.when == "collect"
    ]
    ran = [Trace(result=results[line["id"]], lines=line["lines"]) for line in told if line["id"] in results]
    return Traces(
        tests=(*lost, *ran),
        imported={path: tuple(sorted(numbers)) for path, numbers in imported.items()},
    )
