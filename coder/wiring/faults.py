"""Fault localization outside of a session."""

import secrets
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from coder.core.ports.sandbox import Progress
from coder.core.values.proposal import SuspectRanking
from coder.core.values.task import Task
from coder.directories import sessions_directory
from coder.repo.git import find_checkout
from coder.repo.locks import session_lock
from coder.repo.repository import open_repository
from coder.sandbox.choice import require_backend
from coder.settings import load_config
from coder.wiring.inspection import make_sandbox
from coder.wiring.preparation import ensure_trust
from coder.wiring.project_runtime import build_project_runtime

TRACING_SECONDS = 60.0


def locate_faults(
    directory: Path,
    tests: tuple[str, ...],
    *,
    trusted: bool = False,
    unsafe: bool = False,
    confirm: Callable[[str], bool] | None = None,
    progress: Progress | None = None,
) -> SuspectRanking:
    """Trace failing tests (none: all that fail) in a temporary worktree at HEAD with the uncommitted work.

    `confirm` asks the user for trust where there is no full sandbox; None if nobody can be asked.

    Raises:
        UserError: the repository cannot be worked on.
    """
    root = find_checkout(directory).root
    config = load_config(root, {})
    walls = require_backend(unsafe=unsafe, image=config.image)
    if not trusted:
        ensure_trust(root, walls=walls, confirm=confirm)
    sessions_directory().mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="locate-", dir=sessions_directory()) as state,
        session_lock(Path(state)),
        closing(
            open_repository(root, session=f"locate-{secrets.token_hex(4)}", state=Path(state), base=None)
        ) as repository,
        make_sandbox(walls, config, exposed=repository.exposed_directories) as sandbox,
    ):
        task = Task(issue="", directory=root, test_command=config.test)
        bench = build_project_runtime(task, config, root=root, sandbox=sandbox)
        worktree = repository.create_candidate("c1").worktree
        report = None if tests else bench.runner().run(worktree, progress=progress)
        if report is not None and report.problem is not None:
            return SuspectRanking(problem=report.problem.text)
        failing = tests or tuple(result.id for result in (report.project_failures if report else ()))
        if not failing:
            return SuspectRanking(problem="no test fails.")
        return bench.faults().rank_suspects(worktree, failing, seconds=TRACING_SECONDS, progress=progress)
