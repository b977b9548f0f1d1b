"""Recording of the coverage map of a repository's HEAD."""

import secrets
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from coder.core.errors import UserError
from coder.core.ports import Progress
from coder.core.task import Task
from coder.directories import sessions_directory
from coder.repo.git import find_checkout, session_lock
from coder.repo.repository import open_repository
from coder.sandbox.choice import require_backend
from coder.settings import load_config
from coder.verify.coverage_map import MapProgress
from coder.wiring.preparation import ensure_trust, make_sandbox
from coder.wiring.project_runtime import build_project_runtime


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
    root = find_checkout(directory).root
    config = load_config(root, {})
    backend = require_backend(unsafe=unsafe, image=config.image)
    if not trusted:
        ensure_trust(root, backend=backend, confirm=confirm)
    sessions_directory().mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="map-", dir=sessions_directory()) as state,
        session_lock(Path(state)),
        closing(
            open_repository(root, session=f"map-{secrets.token_hex(4)}", state=Path(state), base=None)
        ) as repository,
        make_sandbox(backend, config, exposed=repository.exposed_directories) as sandbox,
        repository.checkout(repository.head) as tree,
    ):
        task = Task(issue="", directory=root, test_command=test_command or config.test)
        runtime = build_project_runtime(task, config, root=root, sandbox=sandbox)
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
