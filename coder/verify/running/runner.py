"""Test runner: runs a project's tests in any checkout and reads the recorded results."""

import os
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from coder.core.errors import SandboxError
from coder.core.ports import Execution, Limits, Progress, Sandbox
from coder.core.verdict import EXIT_CODE, DeniedResource, Failure, RunProblem, TestReport, TestResult
from coder.verify.project.configuration import pytest_options
from coder.verify.project.project import Project
from coder.verify.project.roots import module_name
from coder.verify.results.failure_reasons import NEVER_ENDING
from coder.verify.results.reports import parse_reports
from coder.verify.results.sandbox_failures import mark_sandbox_failures
from coder.verify.runners.adapter import Run
from coder.verify.runners.execution import missing_results_problem, output_tail, prepare_run, read_results
from coder.verify.runners.registry import find_adapter
from coder.verify.running.launch import REPORT, Launch, prepare_cold_launch, prepare_launch
from coder.verify.running.problems import run_problem, wrong_code_problem
from coder.verify.running.record_pipe import RecordPipe
from coder.verify.running.recording import Recording
from coder.verify.running.workdirs import numbered_directory, tree_digest

OUTPUT_TAIL = 4000
PRINTED_BYTES = 64 << 20
"""Output limit for commands other than pytest: their report may be in the output, one line per test."""
MOST_OBSERVED = 200
"""With more tests named, only pytest's own outcome is recorded, since observing test bodies takes time."""
FORGED = RunProblem(
    kind="forged",
    text="Something in the test process wrote records that are not the recorder's, "
    "so the results say nothing: look at what it executes.",
)
CUT_SHORT = RunProblem(kind="timeout", text="The user asked to deliver now.")
MOST_OBSERVED_FILES = 10
"""The same for whole files named for a label-based runner: a run of impacted tests would be slowed down."""
MOST_PATHS = 500
"""With more files named, everything is collected and the plugin selects."""
TEST_SECONDS, ENDLESS_AGAIN_SECONDS, TIMES, SHARE = 60.0, 5.0, 20.0, 3.0
"""Limits of processor time after which a test counts as endless, and is red.

A test may use TEST_SECONDS (AGAIN_SECONDS once a test did not end), or TIMES as much as the longest one that
ended; in any case no more than the limit of the run divided by SHARE.
"""


class PytestRunner:
    """`TestRunner` of one project.

    Results of pytest, unittest and Django come from our recorder, those of runners with an adapter from
    their own report. The result of any other command is read from a report that it writes, or else from its
    exit code alone.
    """

    def __init__(
        self,
        *,
        project: Project,
        sandbox: Sandbox,
        scratch: Path,
        limits: Limits,
        denied: Collection[DeniedResource] = (),
    ) -> None:
        """Prepare to run.

        `scratch` is a directory outside of any tree that sandboxed commands may write; `denied` are the
        resources that the sandbox keeps from tests.
        """
        self._project = project
        self._sandbox = sandbox
        self._scratch = scratch
        self._limits = limits
        self._denied = denied
        self._adapter = find_adapter(project.command.runner)
        self._longest = 0.0
        self._is_endless = False

    @property
    def command(self) -> str:
        """The test command as the user would type it."""
        return self._project.command.text

    def run(
        self,
        tree: Path,
        tests: Sequence[str] = (),
        *,
        timeout_seconds: float | None = None,
        expect_loaded: Sequence[str] = (),
        progress: Progress | None = None,
        is_base: bool = False,
        cut: threading.Event | None = None,
        shard: tuple[int, int] | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> TestReport:
        """Run the suite, or only `tests`, in `tree` and return the report.

        With `shard`, an index and a number, only that share of the files is run; they are shared out by
        `weights`, the seconds of files as far as known.
        """
        more = {"shard": shard, "weights": weights or {}} if shard else {}
        return self._run(
            tree, tests, timeout_seconds, expect_loaded, progress, more, is_base=is_base, cut=cut
        )

    @property
    def is_recorded(self) -> bool:
        """True if each test is recorded, so that single tests can be run."""
        return self._project.command.is_recorded

    def is_configured(self, options: Sequence[str], tree: Path) -> bool:
        """Tell whether the command or the project's configuration gives one of these options of pytest."""
        configured = pytest_options(tree)[1].get("addopts", "")
        words = configured.split() if isinstance(configured, str) else map(str, configured)
        return any(word.startswith(tuple(options)) for word in (*words, *self._project.command.argv[1:]))

    def collect(
        self, tree: Path, tests: Sequence[str] = (), *, progress: Progress | None = None
    ) -> TestReport:
        """Collect the suite, or only `tests`, in `tree` without running it."""
        return self._run(tree, tests, None, (), progress, {"collect": True})

    def _run(
        self,
        tree: Path,
        tests: Sequence[str],
        timeout_seconds: float | None,
        expect_loaded: Sequence[str],
        progress: Progress | None,
        more: Mapping[str, Any],
        *,
        is_base: bool = False,
        cut: threading.Event | None = None,
    ) -> TestReport:
        if self._project.problem is not None:
            return TestReport(command=self.command, problem=self._project.problem)
        tree = tree.resolve()
        tests = normalize_test_ids(tests, tree)
        paths = existing_test_paths(tests, tree)
        if tests and not paths and self._project.command.is_selective:
            return TestReport(command=self.command, problem=no_tests_problem(tests))
        roots = self._project.import_roots(tree) if expect_loaded else ()
        watched = {name: path for path in expect_loaded if (name := module_name(path, tree, roots))}
        limits = self._run_limits(timeout_seconds)
        recording = Recording()
        with (
            numbered_directory(self._scratch, "run-") as place,
            RecordPipe(place / "report", recording.add) as pipe,
        ):
            request = {
                "report": str(pipe.path),
                "key": pipe.key,
                "observe": self._observes(tests),
                "select": [*tests],
                "collect": False,
                **more,
                "watch": [*watched],
                "endless": {
                    "floor": ENDLESS_AGAIN_SECONDS if tests and self._is_endless else TEST_SECONDS,
                    "again": ENDLESS_AGAIN_SECONDS,
                    "times": TIMES,
                    "longest": self._longest,
                    "most": limits.wall_seconds / SHARE,
                },
            }
            own = Run(argv=self._project.command.argv, tree=tree, place=place, files=paths, tests=tests)
            launched = self._prepare(own, request)
            if not self._project.command.is_recorded:  # Python's runners are taken to build nothing
                self._sandbox.select_builds(place, tree_digest(tree))
            try:
                with _reporting_progress(recording, progress):
                    execution = self._sandbox.run(
                        launched.argv,
                        cwd=tree,
                        environment=launched.environment,
                        limits=limits,
                        private=place,
                        cut=cut,
                    )
            except SandboxError as error:
                return TestReport(
                    command=self.command,
                    problem=RunProblem(kind="stopped", text=" ".join(str(error).split())),
                )
            if is_base and not self._project.command.is_recorded:
                self._sandbox.share_builds(place)
            finished = own.model_copy(update={"output": "" if execution.truncated else execution.output})
            builds = self._project.command.builds
            adapted = read_results(self._adapter, finished, tests, builds) if self._adapter else None
        self._update_limits(recording.results)
        execution = execution.model_copy(
            update={"output": execution.output.replace(f"{tree}/", "")}
        )  # the path of the worktree is meaningless later
        is_cut = execution.timed_out and cut is not None and cut.is_set()
        problem = (
            CUT_SHORT
            if is_cut
            else run_problem(
                recording,
                execution,
                runner=self._project.command.runner,
                wall_seconds=limits.wall_seconds,
            )
        )
        report = self._build_report(recording, execution, tree, problem, adapted)
        report = report.model_copy(update={"results": mark_sandbox_failures(report.results, self._denied)})
        if pipe.forged_lines and not report.problem:
            return report.model_copy(update={"problem": FORGED})
        return (
            report
            if report.problem
            else report.model_copy(update={"problem": wrong_code_problem(recording.loaded, watched, tree)})
        )

    def _observes(self, tests: Sequence[str]) -> bool:
        """Tell whether the bodies of tests are observed, from their names alone: both sides must agree."""
        whole_files = sum("::" not in test for test in tests)
        is_small = self._project.command.is_pytest or whole_files <= MOST_OBSERVED_FILES
        return 0 < len(tests) <= MOST_OBSERVED and is_small

    def _prepare(self, run: Run, request: Mapping[str, Any]) -> Launch:
        command = self._project.command
        if self._adapter is not None:
            invocation = prepare_run(self._adapter, run, command.builds)
            variables = {**self._project.environment, **invocation.environment, **command.environment}
            return Launch(argv=invocation.argv, environment=variables)
        if command.is_recorded:
            return prepare_cold_launch(
                self._project,
                run.tree,
                run.place,
                paths=run.files if len(run.files) <= MOST_PATHS else (),
                request=request,
            )
        environment = prepare_launch(
            self._project, run.tree, run.place, paths=(), requests={REPORT: request}
        ).environment
        # Reports are read from the output: lines of two streams must keep their order.
        return Launch(argv=command.argv, environment={"PYTHONUNBUFFERED": "1", **environment})

    def _update_limits(self, results: Sequence[TestResult]) -> None:
        """Remember the longest passing test, and whether one did not end.

        Later runs of single tests then wait less for an endless one, but longer than any test that ended
        took.
        """
        self._is_endless |= any(result.failure and result.failure.type == NEVER_ENDING for result in results)
        self._longest = max(self._longest, *(result.seconds for result in results if result.green), 0.0)

    def _run_limits(self, timeout_seconds: float | None) -> Limits:
        wall_limit = (
            {}
            if timeout_seconds is None
            else {"wall_seconds": min(timeout_seconds, self._limits.wall_seconds)}
        )
        output_limit = {} if self._project.command.is_recorded else {"output_bytes": PRINTED_BYTES}
        return self._limits.model_copy(update={**wall_limit, **output_limit})

    def _build_report(
        self,
        recording: Recording,
        execution: Execution,
        tree: Path,
        problem: RunProblem | None,
        adapted: tuple[TestResult, ...] | None,
    ) -> TestReport:
        report = TestReport(
            command=self.command,
            seconds=execution.seconds,
            exit_code=execution.exit_code,
            output=execution.output[-OUTPUT_TAIL:],
            reached=recording.reached,
            selected=recording.collected,
            collected=tuple(recording.listed),
        )
        if not self._project.command.is_recorded:
            report = report.model_copy(update={"indirect": True, "whole_only": adapted is None})
        if recording.began or problem is not None or self._project.command.is_recorded:
            results = (*recording.results, *(adapted or ()), *crash_results(recording, problem))
            return report.model_copy(update={"results": results, "problem": problem})
        if adapted == ():
            return report.model_copy(update={"problem": missing_results_problem(self.command, execution)})
        reported = adapted or parse_reports(
            self._project.command.argv,
            "" if execution.truncated else execution.output,
            tree,
            since=time.time() - execution.seconds - 1,
        )
        exit_result = exit_code_result(self.command, execution)
        if not reported:
            return report.model_copy(update={"results": (exit_result,), "by_exit_code": True})
        is_explained = not exit_result.red or any(result.red for result in reported)
        return report.model_copy(update={"results": reported if is_explained else (*reported, exit_result)})


def exit_code_result(command: str, execution: Execution) -> TestResult:
    """Return the result of a whole command, with the end of its output if it failed."""
    if execution.exit_code == 0:
        return TestResult(id=command, outcome="passed", seconds=execution.seconds)
    message = f"exit code {execution.exit_code}"
    failure = Failure(type=EXIT_CODE, message=message, text=output_tail(execution.output))
    return TestResult(id=command, outcome="failed", seconds=execution.seconds, failure=failure)


def normalize_test_ids(tests: Sequence[str], tree: Path) -> tuple[str, ...]:
    """Return test ids in pytest's form, relative to the tree; empty if they mean the whole tree."""
    normalized = []
    for test in tests:
        path, colons, name = test.partition("::")
        path = os.path.normpath(path.removeprefix(f"{tree}/"))
        if path == "." and not colons:
            return ()
        normalized.append(f"{path}{colons}{name}")
    return tuple(dict.fromkeys(normalized))


def existing_test_paths(tests: Sequence[str], tree: Path) -> tuple[str, ...]:
    """Return the existing files and directories of test ids, each once."""
    paths = dict.fromkeys(test.split("::")[0] for test in tests)
    return tuple(path for path in paths if path and (tree / path).exists())


def no_tests_problem(tests: Sequence[str]) -> RunProblem:
    """Return the problem that none of the tests exists."""
    text = f"None of the tests asked for exists: {', '.join(tests[:3])}{' ...' if len(tests) > 3 else ''}."
    return RunProblem(kind="no_tests", text=text)


def crash_results(recording: Recording, problem: RunProblem | None) -> Iterator[TestResult]:
    """Yield a red result for each test that was running when the process died: it caused that."""
    if problem is not None and problem.kind == "crash":
        for test in recording.running_tests:
            yield TestResult(
                id=test,
                outcome="error",
                failure=Failure(type="Crash", message=problem.text, text=problem.text),
            )


def with_label(label: str, progress: Progress | None) -> Progress | None:
    """Return a progress callback that puts a label before each line."""
    if progress is None:
        return None
    return lambda line: progress(f"{label}: {line}")


@contextmanager
def _reporting_progress(recording: Recording, progress: Progress | None) -> Iterator[None]:
    """Report progress a few times a second while the block runs."""
    if progress is None:
        yield
        return
    finished = threading.Event()

    def report() -> None:
        last_line = ""
        while not finished.wait(0.3):
            if recording.began and (current := recording.progress) != last_line:
                progress(current)
                last_line = current

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()
