"""Test commands as users type them."""

from pathlib import Path

import pytest

from coder.verify.project.command import Command, named_interpreter, parse_command

PYTHON = Path("/venv/bin/python")
MODULE = ("/venv/bin/python", "-m", "pytest")


@pytest.mark.parametrize(
    ("text", "argv", "is_pytest"),
    [
        ("python -m pytest", MODULE, True),
        ("python3.12 -m pytest -q tests/unit", (*MODULE, "-q", "tests/unit"), True),
        ("pytest -k 'a b'", (*MODULE, "-k", "a b"), True),
        ("uv run --frozen pytest -x", (*MODULE, "-x"), True),
        ("poetry run python -m pytest", MODULE, True),
        ("coverage run -m pytest tests", (*MODULE, "tests"), True),
        ("python runtests.py --fast", ("/venv/bin/python", "runtests.py", "--fast"), False),
        ("python -m unittest", ("/venv/bin/python", "-m", "unittest", "-v"), False),
        (
            "python -m unittest discover -s tests -t .",
            ("/venv/bin/python", "-m", "unittest", "discover", "-v", "-s", "tests", "-t", "."),
            False,
        ),
        (
            "python -m unittest discover -v -s tests",
            ("/venv/bin/python", "-m", "unittest", "discover", "-v", "-s", "tests"),
            False,
        ),
        (
            "python manage.py test shop",
            ("/venv/bin/python", "manage.py", "test", "shop", "--verbosity=2"),
            False,
        ),
        ("make test", ("make", "test"), False),
        ("nox -s pytest-3.12", ("nox", "-s", "pytest-3.12"), False),
        ("docker compose run web pytest", ("docker", "compose", "run", "web", "pytest"), False),
        ("cd sub && pytest", ("sh", "-c", "cd sub && pytest"), False),
    ],
)
def test_parses_test_command(text: str, argv: tuple[str, ...], is_pytest: bool) -> None:
    assert parse_command(text, PYTHON) == Command(text=text, argv=argv, is_pytest=is_pytest)


def test_assignments_become_environment() -> None:
    command = parse_command("A=1 B='x y' pytest", PYTHON)
    assert (command.environment, command.argv) == ({"A": "1", "B": "x y"}, MODULE)


def test_keeps_pytest_script_of_project(tmp_path: Path) -> None:
    (tmp_path / "pytest").touch()
    assert parse_command("pytest -q", tmp_path / "python").argv == (
        str(tmp_path / "python"),
        str(tmp_path / "pytest"),
        "-q",
    )


@pytest.mark.parametrize("text", ["", "A=1", "pytest 'open"])
def test_refuses_invalid_command(text: str) -> None:
    with pytest.raises(ValueError, match=r"command|quotation"):
        parse_command(text, PYTHON)


def test_absolute_interpreter_path_is_used(tmp_path: Path) -> None:
    for name in ("python3", "python", "pytest"):
        (tmp_path / name).touch()
    assert named_interpreter(f"A=1 {tmp_path}/python3 -m pytest") == tmp_path / "python3"
    assert named_interpreter(f"{tmp_path}/pytest -q") == tmp_path / "python"
    assert named_interpreter("python -m pytest") is None
    assert named_interpreter(f"{tmp_path}/python2 -m pytest") is None
    assert named_interpreter("'") is None
