"""Startup time: modules that --version and --help must not load."""

import subprocess
import sys

import pytest

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
    assert loaded & {"coder.wiring.session", "coder.wiring.approach", "coder.wiring.bench"} == set()


def test_windows_gets_one_line_about_wsl() -> None:
    script = (
        'import sys; sys.platform = "win32"; sys.argv = ["coder", "fix", "x"]\n'
        "from coder.__main__ import main\nmain()"
    )
    result = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr.count("\n"), "WSL" in result.stderr) == (2, 1, True)
