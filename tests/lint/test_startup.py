"""Startup time: modules that --version and --help must not load."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import repo

ROOT = Path(__file__).parent.parent.parent
HEAVY = {
    "pydantic",
    "pydantic_ai",
    "rich",
    "textual",
    "git",
    "jinja2",
    "tree_sitter",
    "unidiff",
    "ripgrepy",
    "ray",
    "asyncio",
    "coder.wiring",
}
SCRIPT = """
import sys
sys.argv = ["coder", {argument!r}]
from coder.__main__ import main
try:
    main()
except SystemExit:
    pass
print("\\n".join(sys.modules), file=sys.stderr)
"""


@pytest.mark.parametrize(("argument", "forbidden"), [("--version", HEAVY | {"typer"}), ("--help", HEAVY)])
def test_startup_loads_no_heavy_module(argument: str, forbidden: set[str]) -> None:
    script = SCRIPT.format(argument=argument)
    result = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout
    assert forbidden & set(result.stderr.splitlines()) == set()


@pytest.mark.parametrize(
    ("modules", "forbidden"),
    [
        (
            "coder.wiring.project_runtime",  # asks for trust before anything else is loaded
            "coder.wiring.session coder.repair.proposer",
        ),
        ("coder.cli.log", "pydantic git"),
        (
            "coder.cli.running, coder.cli.tui, coder.files.regular_files, coder.repo.git, "
            "coder.ui.tui.app",  # what is loaded before the first paint
            "typer pydantic git coder.settings coder.wiring",
        ),
        (
            "coder.models.catalog",
            "pydantic_ai openai anthropic google.genai httpx httpx2 http.client concurrent.futures asyncio",
        ),
        ("coder.wiring.session", "pydantic_ai httpx2 openai"),
        ("coder.tools.registry", "tree_sitter unidiff pyflakes git textual"),
    ],
)
def test_modules_load_nothing_heavy(modules: str, forbidden: str) -> None:
    script = f"import sys, {modules}; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert {*result.stdout.split()} & {*forbidden.split()} == set()


def test_listing_sessions_starts_no_git(tmp_path: Path) -> None:
    script = (
        "import sys; from coder.cli.app import run_command_line; run_command_line(['log']); "
        "print(*sys.modules)"
    )
    repository = repo(tmp_path / "r", {"a.py": ""})
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    result = subprocess.run(
        [sys.executable, "-c", script],
        cwd=repository,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.startswith("No sessions yet")
    assert "git" not in result.stdout.split()
