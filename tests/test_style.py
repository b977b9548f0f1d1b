"""Lint, format and types as tests."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    "command",
    [
        ("ruff", "check", "coder", "tools", "tests"),
        ("ruff", "format", "--check", "coder", "tools", "tests"),
        ("mypy",),
    ],
    ids=" ".join,
)
def test_code_has_no_findings(command: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
