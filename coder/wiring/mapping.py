"""Runs of the tests of a repository's HEAD: the coverage map, and a trial of the test command."""

from pathlib import Path
from typing import Unpack

from coder.core.errors import UserError
from coder.core.ports import Progress
from coder.core.verdict import TestReport
from coder.verify.coverage_map import MapProgress
from coder.verify.project import Project
from coder.wiring.session import RuntimeOptions, open_runtime


def record_head(
    directory: Path,
    *,
    seconds: float | None = None,
    progress: Progress | None = None,
    **options: Unpack[RuntimeOptions],
) -> tuple[MapProgress, Path]:
    """Record what the stored map lacks of the tests of HEAD; return what it covers, and its file.

    Raises:
        UserError: the repository cannot be worked on, or its tests cannot be recorded.
    """
    with (
        open_runtime(directory, **options) as (repository, runtime),
        repository.checkout(repository.head) as tree,
    ):
        runtime.selection.settle(tree)
        if (problem := runtime.project.problem) is not None:
            raise UserError(problem.text)
        if not runtime.project.command.is_recorded:
            raise UserError(
                f"`{runtime.project.command.text}` is not pytest, unittest or Django's runner: "
                "the coverage of its tests cannot be recorded."
            )
        _, covered = runtime.record_map(tree, seconds=seconds, progress=progress)
        return covered, runtime.coverage_path


def try_tests(directory: Path, **options: Unpack[RuntimeOptions]) -> tuple[Project, TestReport, int]:
    """Run one test of HEAD, or all where none can be selected; return how, the report, and the count.

    Raises:
        UserError: the repository cannot be worked on.
    """
    with (
        open_runtime(directory, **options) as (repository, runtime),
        repository.checkout(repository.head) as tree,
    ):
        runtime.selection.settle(tree)
        runner = runtime.runner()
        if not runtime.project.command.is_recorded:
            report = runner.run(tree)
            return runtime.project, report, len(report.results)
        listed = runner.collect(tree)
        if listed.problem is not None or not listed.collected:
            return runtime.project, listed, len(listed.collected)
        return runtime.project, runner.run(tree, listed.collected[:1]), len(listed.collected)
