"""Runs of the project's own test runner through its adapter."""

from collections.abc import Sequence
from pathlib import Path

from coder.core.ports.sandbox import Execution
from coder.core.values.paths import match_test_ids, test_file_of
from coder.core.values.verdict import Frame, RunProblem, TestResult
from coder.verify.project.command import Command
from coder.verify.results.reports import with_unique_ids
from coder.verify.runners.adapter import Adapter, Run, plain_text, select_tests

TAIL_LINES = 20
"""Lines of output shown where nothing else says what went wrong."""


def make_run(command: Command, tests: Sequence[str], tree: Path, place: Path) -> Run:
    """Return the run of those tests, relative to `tree`, whose files exist; of all if none is given."""
    return Run(
        argv=command.argv,
        folder=tree / command.folder,
        place=place,
        selection=select_tests(
            [test for test in tests if (tree / test_file_of(test)).exists()], command.folder
        ),
    )


def read_results(adapter: Adapter, run: Run, tree: Path, tests: Sequence[str]) -> tuple[TestResult, ...]:
    """Return the results of those tests that were asked for (none: all), with ids relative to `tree`.

    A file that could not be loaded is reported whichever of its tests were asked for.
    """
    folder = run.folder.relative_to(tree).as_posix()
    results = [_relocate(result, folder) for result in adapter.read_results(run)]
    is_asked = match_test_ids(tests)
    files = frozenset(map(test_file_of, tests))
    return with_unique_ids(
        [result for result in results if not tests or is_asked(result.id) or result.id in files]
    )


def missing_results_problem(command: str, execution: Execution) -> RunProblem:
    """Return the problem of a run that reported no test."""
    if execution.exit_code == 0:
        text = f"`{command}` found no test. Name a test command with --test, or add a test."
        return RunProblem(kind="no_tests", text=text)
    text = f"`{command}` ended with exit code {execution.exit_code} before any test ran"
    return RunProblem(kind="no_report", text=f"{text}: {output_tail(execution.output)}")


def output_tail(output: str) -> str:
    """Return the last lines that a command printed, without blank ones."""
    lines = [line.rstrip() for line in plain_text(output).splitlines() if line.strip()]
    return "\n".join(lines[-TAIL_LINES:]) or "it printed nothing"


def _relocate(result: TestResult, folder: str) -> TestResult:
    """Return a result with its paths relative to the tree instead of to `folder` in it."""
    if folder == ".":
        return result
    failure = result.failure and result.failure.model_copy(
        update={"frames": tuple(_relocate_frame(frame, folder) for frame in result.failure.frames)}
    )
    return result.model_copy(update={"id": f"{folder}/{result.id}", "failure": failure})


def _relocate_frame(frame: Frame, folder: str) -> Frame:
    is_inside = not frame.path.startswith(("/", "<"))
    return frame.model_copy(update={"path": f"{folder}/{frame.path}"}) if is_inside else frame
