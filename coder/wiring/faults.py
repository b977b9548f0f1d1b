"""Fault localization outside of a session."""

import secrets
import tempfile
from pathlib import Path

from coder.core.ports.sandbox import Progress
from coder.core.values.proposal import Suspected
from coder.core.values.task import Task
from coder.repo.locks import hold
from coder.repo.repository import open_repository
from coder.sandbox.backends.backend import Walls
from coder.settings import configured, sessions_directory
from coder.wiring.bench import bench_for, sandbox_behind

TRACING_SECONDS = 60.0


def suspected(
    root: Path, tests: tuple[str, ...], *, walls: Walls | None, progress: Progress | None = None
) -> Suspected:
    """Trace failing tests (none: all that fail) in a temporary worktree at HEAD with the uncommitted work.

    Raises:
        UserError: the repository cannot be worked on.
    """
    config = configured(root, {})
    sessions_directory().mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="locate-", dir=sessions_directory()) as state,
        hold(Path(state)),
        sandbox_behind(walls, config) as sandbox,
    ):
        repository = open_repository(
            root, session=f"locate-{secrets.token_hex(4)}", state=Path(state), base=None
        )
        try:
            task = Task(issue="", directory=root, test_command=config.test)
            bench = bench_for(task, config, root=root, sandbox=sandbox)
            worktree = repository.candidate("c1").worktree
            report = None if tests else bench.runner().run(worktree, progress=progress)
            if report is not None and report.problem is not None:
                return Suspected(problem=report.problem.text)
            failing = tests or tuple(result.id for result in (report.reds if report else ()))
            if not failing:
                return Suspected(problem="no test fails.")
            return bench.faults().suspects(worktree, failing, seconds=TRACING_SECONDS, progress=progress)
        finally:
            repository.close()
