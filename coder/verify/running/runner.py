"""Runs the project's tests in any checkout of it and reads pytest's own reports."""

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from coder.core.errors import SandboxError
from coder.core.ports.sandbox import Execution, Limits, Progress, Sandbox
from coder.core.values.verdict import Failure, Problem, TestReport, TestResult
from coder.verify.project.project import Project
from coder.verify.project.roots import module_name
from coder.verify.results.failure_reasons import TOO_LONG
from coder.verify.results.reports import reported
from coder.verify.running.launch import REPORT, Launch, cold, is_unittest, launch
from coder.verify.running.problems import problem_of, wrong_code
from coder.verify.running.record_pipe import RecordPipe
from coder.verify.running.recording import Recording
from coder.verify.running.workdirs import numbered_directory

OUTPUT_TAIL = 4000
PRINTED_BYTES = 64 << 20
"""Kept of what a command prints that is no pytest: its report may be in it, a line a test."""
MOST_OBSERVED = 200
"""With more tests named than this, only pytest is asked how they ended: to see it a second time takes time."""
FORGED = Problem(
    kind="forged",
    text="Something in the test process wrote records that are not the recorder's, so the results say nothing: look at what it executes.",
)
MOST_PATHS = 500
"""With more files than this named, all is collected and the plugin chooses."""
TEST_SECONDS, AGAIN_SECONDS, TIMES, SHARE = 60.0, 5.0, 20.0, 3.0
"""A test never ends, and is red, that has used so much processor time, or so much once one did not end, or so many times as much as any
that ended; in any case one that has used its share of what the run may take."""


class PytestRunner:
    """The TestRunner of one project; a command that starts no pytest is known by its report, or by its exit code alone."""

    def __init__(self, *, project: Project, sandbox: Sandbox, scratch: Path, limits: Limits) -> None:
        """`scratch` is a directory outside of any tree that sandboxed commands may write."""
        self._project = project
        self._sandbox = sandbox
        self._scratch = scratch
        self._limits = limits
        self._longest = 0.0
        self._is_endless = False

    @property
    def command(self) -> str:
        return self._project.command.text

    def run(
        self,
        tree: Path,
        tests: Sequence[str] = (),
        *,
        timeout_seconds: float | None = None,
        expect_loaded: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> TestReport:
        if self._project.problem is not None:
            return TestReport(command=self.command, problem=self._project.problem)
        tree = tree.resolve()
        tests = normal(tests, tree)
        paths = paths_of(tests, tree)
        if tests and not paths and self._project.command.is_pytest:
            return TestReport(command=self.command, problem=not_there(tests))
        watched = {name: path for path in expect_loaded if (name := module_name(path, tree))}
        limits = self._limits_of(timeout_seconds)
        recording = Recording()
        with (
            numbered_directory(self._scratch, "run-") as place,
            RecordPipe(place / "report", recording.take) as pipe,
        ):
            request = {
                "report": str(pipe.path),
                "key": pipe.key,
                "observe": 0 < len(tests) <= MOST_OBSERVED,
                "select": [*tests],
                "watch": [*watched],
                "endless": {
                    "floor": AGAIN_SECONDS if tests and self._is_endless else TEST_SECONDS,
                    "again": AGAIN_SECONDS,
                    "times": TIMES,
                    "longest": self._longest,
                    "most": limits.wall_seconds / SHARE,
                },
            }
            started = self._started(tree, place, paths, request)
            try:
                with _told(recording, progress):
                    done = self._sandbox.run(
                        started.argv, cwd=tree, environment=started.environment, limits=limits, private=place
                    )
            except SandboxError as error:
                return TestReport(
                    command=self.command, problem=Problem(kind="stopped", text=" ".join(str(error).split()))
                )
        self._learn(recording.results)
        done = done.model_copy(
            update={"output": done.output.replace(f"{tree}/", "")}
        )  # a worktree's path means nothing later
        report = self._report(recording, done, tree, wall_seconds=limits.wall_seconds)
        if pipe.forged and not report.problem:
            return report.model_copy(update={"problem": FORGED})
        return (
            report
            if report.problem
            else report.model_copy(update={"problem": wrong_code(recording.loaded, watched, tree)})
        )

    def _started(self, tree: Path, place: Path, paths: Sequence[str], request: Mapping[str, Any]) -> Launch:
        command = self._project.command
        if command.is_pytest or is_unittest(command):
            return cold(
                self._project, tree, place, paths=paths if len(paths) <= MOST_PATHS else (), request=request
            )
        environment = launch(self._project, tree, place, paths=(), requests={REPORT: request}).environment
        return Launch(argv=command.argv, environment=environment)

    def _learn(self, results: Sequence[TestResult]) -> None:
        """Where one test did not end, the next runs of single ones wait less long for such, but longer than for any that ends."""
        self._is_endless |= any(result.failure and result.failure.type == TOO_LONG for result in results)
        self._longest = max(self._longest, *(result.seconds for result in results if result.green), 0.0)

    def _limits_of(self, timeout_seconds: float | None) -> Limits:
        given = (
            {}
            if timeout_seconds is None
            else {"wall_seconds": min(timeout_seconds, self._limits.wall_seconds)}
        )
        room = {} if self._project.command.is_pytest else {"output_bytes": PRINTED_BYTES}
        return self._limits.model_copy(update={**given, **room})

    def _report(
        self, recording: Recording, done: Execution, tree: Path, *, wall_seconds: float
    ) -> TestReport:
        known = TestReport(
            command=self.command,
            seconds=done.seconds,
            exit_code=done.exit_code,
            output=done.output[-OUTPUT_TAIL:],
            reached=recording.reached,
        )
        problem = problem_of(
            recording, done, is_pytest=self._project.command.is_pytest, wall_seconds=wall_seconds
        )
        if recording.began or problem is not None or self._project.command.is_pytest:
            results = (*recording.results, *crashed(recording, problem))
            return known.model_copy(
                update={
                    "results": results,
                    "problem": problem,
                    "indirect": not self._project.command.is_pytest,
                }
            )
        only = TestResult(
            id=self.command, outcome="passed" if done.exit_code == 0 else "failed", seconds=done.seconds
        )
        if told := reported(
            self._project.command.argv,
            "" if done.truncated else done.output,
            tree,
            since=time.time() - done.seconds - 1,
        ):
            unexplained = () if done.exit_code == 0 or any(result.red for result in told) else (only,)
            return known.model_copy(update={"results": (*told, *unexplained), "indirect": True})
        return known.model_copy(update={"results": (only,), "by_exit_code": True})


def normal(tests: Sequence[str], tree: Path) -> tuple[str, ...]:
    """Test ids as pytest writes them, relative to the tree; nothing where the whole tree is meant."""
    found = []
    for test in tests:
        path, colons, name = test.partition("::")
        path = os.path.normpath(path.removeprefix(f"{tree}/"))
        if path == "." and not colons:
            return ()
        found.append(f"{path}{colons}{name}")
    return tuple(dict.fromkeys(found))


def paths_of(tests: Sequence[str], tree: Path) -> tuple[str, ...]:
    """The files and directories of test ids that are there, each once."""
    paths = dict.fromkeys(test.split("::")[0] for test in tests)
    return tuple(path for path in paths if path and (tree / path).exists())


def not_there(tests: Sequence[str]) -> Problem:
    text = f"None of the tests asked for exists: {', '.join(tests[:3])}{' ...' if len(tests) > 3 else ''}."
    return Problem(kind="no_tests", text=text)


def crashed(recording: Recording, problem: Problem | None) -> Iterator[TestResult]:
    """The tests in which the process died: what they test did that, so they are red."""
    if problem is not None and problem.kind == "crash":
        for test in recording.running:
            yield TestResult(
                id=test,
                outcome="error",
                failure=Failure(type="Crash", message=problem.text, text=problem.text),
            )


def labelled(label: str, progress: Progress | None) -> Progress | None:
    """The same listener, told which run a line belongs to."""
    if progress is None:
        return None
    return lambda line: progress(f"{label}: {line}")


@contextmanager
def _told(recording: Recording, progress: Progress | None) -> Iterator[None]:
    """Tell how far the run is, a few times a second, while it goes on."""
    if progress is None:
        yield
        return
    over = threading.Event()

    def tell() -> None:
        said = ""
        while not over.wait(0.3):
            if recording.began and (now := recording.progress) != said:
                progress(now)
                said = now

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
