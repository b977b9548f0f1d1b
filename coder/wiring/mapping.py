"""Recording of the coverage map of a repository's HEAD."""

from collections.abc import Callable
from pathlib import Path

from coder.core.errors import UserError
from coder.core.ports import Progress
from coder.verify.coverage_map import MapProgress
from coder.wiring.session import open_runtime


def record_head(
    directory: Path,
    *,
    test_command: str | None = None,
    seconds: float | None = None,
    trusted: bool = False,
    unsafe: bool = False,
    confirm: Callable[[str], bool] | None = None,
    progress: Progress | None = None,
) -> tuple[MapProgress, Path]:
    """Record what the stored map lacks of the tests of HEAD; return what it covers, and its file.

    `confirm` asks the user for trust where there is no full sandbox; None if nobody can be asked.

    Raises:
        UserError: the repository cannot be worked on, or its tests cannot be recorded.
    """
    with (
        open_runtime(
            directory, test_command=test_command, trusted=trusted, unsafe=unsafe, confirm=confirm
        ) as (repository, runtime),
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
