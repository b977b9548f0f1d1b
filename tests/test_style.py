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
    result = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
