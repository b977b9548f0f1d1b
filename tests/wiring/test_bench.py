import os
import subprocess
import sys
from pathlib import Path

import pytest

from coder.sandbox.process import ProcessSandbox
from coder.settings import Config
from coder.verify.base import SuiteLimits
from coder.wiring.project_runtime import command_environment, suite_limits
from tests.builders import find_project, write


def test_all_tests_run_where_the_user_waits() -> None:
    assert suite_limits(Config(suite_seconds=60)) == SuiteLimits(suite_seconds=60)
    assert suite_limits(Config(wait=True)).waits
    assert not suite_limits(Config(wait=True), in_turn=True).waits


@pytest.mark.parametrize("root", ["packages/shop/src", pytest.param(".", marks=pytest.mark.thorough)])
def test_commands_import_worktree_despite_editable_install(tmp_path: Path, root: str) -> None:
    files = {f"{root}/shop/__init__.py": "", "packages/shop/pyproject.toml": "[project]\nname = 'shop'\n"}
    write(tmp_path / "checkout", files)
    write(tmp_path / "worktree", files)
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    packages = next(venv.glob("lib/python*/site-packages"))
    (packages / "shop.pth").write_text(f"{tmp_path / 'checkout' / root}\n")
    script = "import shop, sys; sys.exit('/worktree/' not in shop.__file__)"
    outside = tmp_path / "worktree" / "elsewhere"
    outside.mkdir()
    with ProcessSandbox(os.environ) as sandbox:
        project = find_project(
            tmp_path / "checkout",
            sandbox=sandbox,
            environment={},
            test_command=f"{venv}/bin/python -m pytest",
        )
        codes = [
            sandbox.run(
                [str(venv / "bin" / "python"), "-c", script], cwd=outside, environment=environment
            ).exit_code
            for environment in ({}, command_environment(project, tmp_path / "worktree"))
        ]
    assert codes == [1, 0]
