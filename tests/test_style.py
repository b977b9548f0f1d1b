"""Lint, format and types as tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OLDEST_ON_MACOS = ("--platform", "darwin", "--python-version", "3.11", "--no-warn-unreachable")
"""What an older interpreter of a project on macOS lacks, such as os.waitid, is an error."""


@pytest.mark.parametrize(
    "command",
    [
        ("ruff", "check", "benchmarks", "coder", "tools", "tests"),
        ("ruff", "format", "--check", "benchmarks", "coder", "tools", "tests"),
        ("mypy",),
        ("mypy", *OLDEST_ON_MACOS, "--cache-dir", os.devnull, "coder/verify/target"),
    ],
    ids=" ".join,
)
def test_code_has_no_findings(command: tuple[str, ...]) -> None:
    result = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
