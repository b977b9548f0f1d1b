"""Startup time: modules that --version and --help must not load."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import repo

ROOT = Path(__file__).parent.parent
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


def test_trust_is_asked_without_loading_what_sessions_need() -> None:
    script = "import sys, coder.wiring.preparation; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(result.stdout.split())
    assert loaded & {"coder.wiring.session", "coder.wiring.project_runtime"} == set()


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        (
            "coder.wiring.preparation",
            {"coder.wiring.project_runtime", "coder.repair.proposer", "coder.verify.verifier"},
        ),
        ("coder.cli.log", {"pydantic", "git"}),
    ],
)
def test_short_commands_load_nothing_that_sessions_need(module: str, forbidden: set[str]) -> None:
    script = f"import sys, {module}; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(result.stdout.split()) & forbidden == set()


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


def test_the_interface_needs_no_parser_before_its_first_paint() -> None:
    """Its own modules, and what decides about them, load neither typer nor pydantic."""
    script = (
        "import sys, coder.cli.reporting, coder.cli.tui, coder.cli.tui_services, coder.directories, "
        "coder.repo.git, coder.ui.tui.app, coder.ui.tui.app; print(*sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (
        set(result.stdout.split()) & {"typer", "pydantic", "git", "coder.settings", "coder.wiring"} == set()
    )


def test_windows_gets_one_line_about_wsl() -> None:
    script = (
        'import sys; sys.platform = "win32"; sys.argv = ["coder", "fix", "x"]\n'
        "from coder.__main__ import main\nmain()"
    )
    result = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr.count("\n"), "WSL" in result.stderr) == (2, 1, True)
