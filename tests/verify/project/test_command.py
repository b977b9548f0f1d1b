"""Test commands as users type them."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from coder.verify.project import NO_COVERAGE, Command, parse_command
from tests.builders import lines, write

PYTHON = Path("/venv/bin/python")
MODULE = ("/venv/bin/python", "-m", "pytest")


@pytest.mark.parametrize("case", lines("commands/parsed.txt"))
def test_parses_test_command(case: str) -> None:
    text, shown, run = case.split(" => ")
    runner, _, argv = run.partition(": ")
    assert parse_command(text, PYTHON) == Command(text=shown, argv=tuple(shlex.split(argv)), runner=runner)


def test_recognizes_script_that_starts_runner_of_django(tmp_path: Path) -> None:
    script = "import django\nparser.add_argument('--parallel')\n"
    write(tmp_path, {"tests/runtests.py": script, "runtests.py": "import pytest\n"})
    command = parse_command("python tests/runtests.py", PYTHON, root=tmp_path)
    assert (command.argv, command.runner) == (
        ("/venv/bin/python", "tests/runtests.py", "--parallel=1"),
        "django",
    )
    assert parse_command("./manage.py test", PYTHON).argv[:3] == ("/venv/bin/python", "./manage.py", "test")
    assert parse_command("python runtests.py", PYTHON, root=tmp_path).runner == "other"


def test_assignments_become_environment() -> None:
    command = parse_command("A=1 B='x y' pytest", PYTHON)
    assert (command.environment, command.argv) == ({"A": "1", "B": "x y"}, MODULE)


def test_program_env_sets_and_unsets_variables() -> None:
    command = parse_command("env -u CI --unset B A=1 pytest -x", PYTHON)
    assert (command.runner, command.environment) == ("pytest", {"CI": "", "B": "", "A": "1"})
    assert command.argv == (*MODULE, "-x")
    assert parse_command("env -i pytest", PYTHON).argv == ("env", "-i", "pytest")


def test_options_of_interpreter_become_environment() -> None:
    command = parse_command("python -W error -X dev -W ignore::ResourceWarning -m unittest", PYTHON)
    assert (command.environment, command.runner) == (
        {"PYTHONWARNINGS": "error,ignore::ResourceWarning", "PYTHONDEVMODE": "1"},
        "unittest",
    )


@pytest.mark.parametrize("text", ["", "A=1", "pytest 'open"])
def test_refuses_invalid_command(text: str) -> None:
    with pytest.raises(ValueError, match=r"command|quotation"):
        parse_command(text, PYTHON)


@pytest.mark.parametrize(("options", "code"), [((), 1), (NO_COVERAGE[1:], 0)])
def test_disabled_coverage_is_no_error_where_warnings_are(
    tmp_path: Path, options: tuple[str, ...], code: int
) -> None:
    hook = (
        "import warnings\n\n\ndef pytest_terminal_summary():\n"
        "    warnings.warn('Coverage disabled via --no-cov switch!')\n"
    )
    ini = "[pytest]\nfilterwarnings =\n    error\n"
    write(tmp_path, {"conftest.py": hook, "pytest.ini": ini, "test_a.py": "def test_a(): pass\n"})
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == code
