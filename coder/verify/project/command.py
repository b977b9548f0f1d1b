"""Parsing of test commands as a user types them."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path, PurePath

from coder.core.values.base import Value

LAUNCHERS = frozenset({"coverage", "hatch", "pdm", "pipenv", "poetry", "run", "uv", "-m", "--"})
"""Words that may precede `pytest` and only choose an environment, which the project's interpreter already is.
"""
SHELL = re.compile(r"[|&;<>`$\n]")


class Command(Value):
    """A parsed test command."""

    text: str
    """As the user would type it."""
    environment: Mapping[str, str] = {}
    """Assignments before the command."""
    argv: tuple[str, ...]
    """What to execute, without test ids."""
    is_pytest: bool
    """Whether paths and pytest options may be appended."""


def parse_command(text: str, interpreter: Path) -> Command:
    """Parse a test command, replacing `pytest` and `python` by those of `interpreter`.

    A launcher that precedes them is dropped.

    Raises:
        ValueError: quotes do not match, or there is no command.
    """
    words = shlex.split(text)
    environment: dict[str, str] = {}
    while words and re.fullmatch(r"[A-Za-z_]\w*=.*", words[0], re.DOTALL):
        name, _, environment[name] = words.pop(0).partition("=")
    if not words:
        raise ValueError("there is no command in it")
    if SHELL.search(text):
        return Command(text=text, argv=("sh", "-c", text), is_pytest=False)
    pytest_index = next(
        (index for index, word in enumerate(words) if PurePath(word).name in ("pytest", "py.test")), None
    )
    if pytest_index is not None and all(_is_launcher(word) for word in words[:pytest_index]):
        as_module = words[:pytest_index][-1:] == ["-m"] or not (interpreter.parent / "pytest").is_file()
        start = ("-m", "pytest") if as_module else (str(interpreter.parent / "pytest"),)
        return Command(
            text=text,
            environment=environment,
            argv=(str(interpreter), *start, *words[pytest_index + 1 :]),
            is_pytest=True,
        )
    if _is_python(words[0]):
        words[0] = str(interpreter)
    return Command(text=text, environment=environment, argv=tuple(_with_verbosity(words)), is_pytest=False)


def named_interpreter(text: str) -> Path | None:
    """Return the interpreter that a command names by absolute path, itself or beside its pytest.

    None if it names none.
    """
    try:
        words = [word for word in shlex.split(text) if not re.match(r"[A-Za-z_]\w*=", word)]
    except ValueError:
        return None
    first = Path(words[0]) if words else Path()
    python = (
        first
        if _is_python(first.name)
        else first.with_name("python")
        if first.name in ("pytest", "py.test")
        else None
    )
    return python if python is not None and python.is_absolute() and python.is_file() else None


def _with_verbosity(words: list[str]) -> list[str]:
    """Return a command of unittest or Django with the option to list each test, not only those that fail."""
    if any(re.match(r"-v|--verbos", word) for word in words):
        return words
    if words[1:3] == ["-m", "unittest"]:
        options = 4 if words[3:4] == ["discover"] else 3  # a subcommand comes before its options
        return [*words[:options], "-v", *words[options:]]
    django = len(words) > 2 and PurePath(words[1]).name == "manage.py" and words[2] == "test"
    return [*words, "--verbosity=2"] if django else words


def _is_launcher(word: str) -> bool:
    return word in LAUNCHERS or word.startswith("-") or _is_python(word)


def _is_python(word: str) -> bool:
    return re.fullmatch(r"(python|pypy)[\d.]*", PurePath(word).name) is not None
