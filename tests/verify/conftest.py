"""Real interpreters and a real sandbox for the tests that run pytest."""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coder.core.ports.sandbox import Limits
from coder.sandbox.process.process import ProcessSandbox
from coder.verify.project.project import find_project
from coder.verify.running.runner import PytestRunner

Run = Callable[..., PytestRunner]


@pytest.fixture
def sandbox() -> Iterator[ProcessSandbox]:
    with ProcessSandbox(os.environ) as sandbox:
        yield sandbox


@pytest.fixture
def make_runner(sandbox: ProcessSandbox) -> Run:
    """Return a function that makes the runner of a project at a path, on this interpreter unless
    $VIRTUAL_ENV is set.
    """

    def make(
        root: Path, *, command: str | None = None, wall_seconds: float = 60.0, venv: Path | None = None
    ) -> PytestRunner:
        environment = {"PATH": os.environ["PATH"], **({"VIRTUAL_ENV": str(venv)} if venv else {})}
        project = find_project(root, sandbox=sandbox, environment=environment, test_command=command)
        assert project.problem is None, project.problem
        return PytestRunner(
            project=project,
            sandbox=sandbox,
            scratch=sandbox.scratch,
            limits=Limits(wall_seconds=wall_seconds),
        )

    return make


@pytest.fixture(scope="session")
def bare_venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a separate virtual environment that sees this one's packages, so that nothing has to be
    downloaded.
    """
    venv = tmp_path_factory.mktemp("venv") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (next(venv.glob("lib/python*/site-packages")) / "shared.pth").write_text(
        sysconfig.get_path("purelib") + "\n"
    )
    return venv
