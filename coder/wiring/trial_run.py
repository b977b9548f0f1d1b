"""Trial of a repository's test command on its HEAD."""

from pathlib import Path
from typing import Unpack

from coder.core.verdict import TestReport
from coder.verify.project import Project
from coder.wiring.session import RuntimeOptions, open_runtime


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
