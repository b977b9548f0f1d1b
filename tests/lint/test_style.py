"""Lint and format as tests; types are checked by a job of their own (.ci/types)."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize(
    "command",
    [
        ("ruff", "check", "benchmarks", "coder", "tools", "tests"),
        ("ruff", "format", "--check", "benchmarks", "coder", "tools", "tests"),
    ],
    ids=" ".join,
)
def test_code_has_no_findings(command: tuple[str, ...]) -> None:
    result = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
