"""Real interpreters and a real sandbox for the tests that run pytest."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from coder.core.ports import Execution, Limits
from coder.sandbox.process import ProcessSandbox
from coder.verify.project import PROBE
from coder.verify.run import PytestRunner
from tests.builders import find_project, plain_environment

Run = Callable[..., PytestRunner]


class ProbingOnce(ProcessSandbox):
    """Sandbox that asks each interpreter once for its pytest, which nearly all tests here begin with."""

    answers: dict[tuple[str, ...], Execution] = {}  # noqa: RUF012 (of all sandboxes)

    def run(self, argv: Sequence[str], **options: Any) -> Execution:
        if str(PROBE) not in argv:
            return super().run(argv, **options)
        if tuple(argv) not in self.answers:
            self.answers[tuple(argv)] = super().run(argv, **options)
        return self.answers[tuple(argv)]


@pytest.fixture
def sandbox() -> Iterator[ProcessSandbox]:
    with ProbingOnce(os.environ) as sandbox:
        yield sandbox


@pytest.fixture
def make_runner(sandbox: ProcessSandbox, plain_venv: Path) -> Run:
    """Return a function that makes the runner of a project at a path."""

    def make(
        root: Path,
        *,
        command: str | None = None,
        wall_seconds: float = 60.0,
        venv: Path | None = None,
        **options: Any,
    ) -> PytestRunner:
        environment = {"PATH": os.environ["PATH"], "VIRTUAL_ENV": str(venv or plain_venv)}
        project = find_project(root, sandbox=sandbox, environment=environment, test_command=command)
        assert project.problem is None, project.problem
        return PytestRunner(
            project=project,
            sandbox=sandbox,
            scratch=sandbox.scratch,
            limits=Limits(wall_seconds=wall_seconds),
            **options,
        )

    return make


@pytest.fixture(scope="session")
def plugin_venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a virtual environment of its own, whose pytest loads all installed plugins."""
    venv = plain_environment(tmp_path_factory.mktemp("venv") / "venv")
    next(venv.glob("lib/python*/site-packages/plain.pth")).unlink()
    return venv
