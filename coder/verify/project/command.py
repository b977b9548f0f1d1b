"""Parsing of test commands as a user types them."""

import re
import shlex
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path, PurePath

from coder.core.values import Value
from coder.verify.project.roots import read_text
from coder.verify.runners.registry import recognize_command

RECORDED = ("pytest", "unittest", "django")
"""Runners that run under our recorder."""
OTHER = "other"
"""A command whose runner is unknown."""

LAUNCHERS = frozenset({"coverage", "hatch", "pdm", "pipenv", "poetry", "run", "uv", "-m", "--"})
"""Words that may precede a test runner and only choose an environment, which the project's interpreter
already is.
"""
LAUNCHER_OPTIONS = frozenset(
    {
        *("-W", "-X", "--extra", "--group", "--python", "--with"),
        *("--concurrency", "--context", "--data-file", "--include", "--omit", "--rcfile", "--source"),
    }
)
"""Options of launchers that a value follows."""
INTERPRETER_SETTINGS = {"dev": "PYTHONDEVMODE", "utf8": "PYTHONUTF8"}
"""Variables that stand for values of the interpreter's option -X."""
DJANGO_OPTIONS = ("--parallel=1", "--noinput")
"""Options of Django's runner: other processes could not be recorded, and nobody answers a question."""
SHELL = re.compile(r"[|&;<>`$\n]")


class Command(Value):
    """A parsed test command."""

    text: str
    """As the user would type it."""
    environment: Mapping[str, str] = {}
    """Assignments before the command."""
    argv: tuple[str, ...]
    """What to execute, without test ids."""
    builds: tuple[str, ...] = ()
    """Commands of a shell that have to run before."""
    runner: str
    """The program that runs the tests: one of RECORDED, the name of an adapter, or OTHER."""

    @property
    def is_pytest(self) -> bool:
        """True if paths and options of pytest may be appended."""
        return self.runner == "pytest"

    @property
    def is_recorded(self) -> bool:
        """True if our recorder reports the results."""
        return self.runner in RECORDED

    @property
    def is_selective(self) -> bool:
        """True if single test files can be run."""
        return self.runner != OTHER

    @property
    def uses_interpreter(self) -> bool:
        """True if the project's Python interpreter may run the tests."""
        return self.is_recorded or self.runner == OTHER


def parse_command(text: str, interpreter: Path, *, root: Path | None = None) -> Command:
    """Parse a test command, replacing `pytest` and `python` by those of `interpreter`.

    A launcher that precedes them is dropped. Scripts are looked up in `root`.

    Raises:
        ValueError: quotes do not match, or there is no command.
    """
    words = shlex.split(text)
    environment: dict[str, str] = {}
    while words and re.fullmatch(r"[A-Za-z_]\w*=.*", words[0], re.DOTALL):
        name, _, environment[name] = words.pop(0).partition("=")
    if not words:
        raise ValueError("there is no command in it")
    is_plain = not SHELL.search(text.replace("&&", ""))
    if is_plain and root is not None and (recognized := recognize_command(text, root)):
        return Command(
            text=text,
            environment=recognized.environment,
            argv=recognized.argv,
            builds=recognized.builds,
            runner=recognized.adapter,
        )
    if SHELL.search(text):
        return Command(text=text, argv=("sh", "-c", text), runner=OTHER)
    runner, index = _find_runner(words, root)
    environment = {**_interpreter_settings(words[:index]), **environment}
    match runner:
        case "pytest":
            as_module = words[:index][-1:] == ["-m"] or not (interpreter.parent / "pytest").is_file()
            start = ["-m", "pytest"] if as_module else [str(interpreter.parent / "pytest")]
            words = [*start, *words[index + 1 :]]
        case "unittest":
            words = ["-m", "unittest", *words[index + 1 :]]
        case "django":
            script = "" if PurePath(words[index]).name == "manage.py" else _script_text(words[index], root)
            options = [
                option for option in DJANGO_OPTIONS if not script or option.partition("=")[0] in script
            ]
            words = [*words[index:], *options]
        case _:
            argv = [str(interpreter), *words[1:]] if _is_python(words[0]) else words
            return Command(text=text, environment=environment, argv=tuple(argv), runner=OTHER)
    return Command(text=text, environment=environment, argv=(str(interpreter), *words), runner=runner)


def _find_runner(words: list[str], root: Path | None) -> tuple[str, int]:
    """Return the test runner that a command starts, and the position of its name."""
    for index, word in enumerate(words):
        match PurePath(word).name:
            case "pytest" | "py.test":
                return "pytest", index
            case "unittest" if words[index - 1] == "-m":
                return "unittest", index
            case "manage.py" if words[index + 1 : index + 2] == ["test"]:
                return "django", index
            case "runtests.py" if "django" in _script_text(word, root):
                return "django", index
            case _ if not _is_launcher(word) and words[max(0, index - 1)] not in LAUNCHER_OPTIONS:
                break
    return OTHER, 0


def _interpreter_settings(words: list[str]) -> dict[str, str]:
    """Return variables that have the effect of the interpreter's options -W and -X on the runner."""
    values = list(pairwise(words))
    warnings = [value for option, value in values if option == "-W"]
    return {
        **({"PYTHONWARNINGS": ",".join(warnings)} if warnings else {}),
        **{
            name: "1"
            for option, value in values
            if option == "-X" and (name := INTERPRETER_SETTINGS.get(value))
        },
    }


def _script_text(path: str, root: Path | None) -> str:
    return read_text(root / path) if root is not None else ""


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


def _is_launcher(word: str) -> bool:
    return word in LAUNCHERS or word.startswith("-") or _is_python(word)


def _is_python(word: str) -> bool:
    return re.fullmatch(r"(python|pypy)[\d.]*", PurePath(word).name) is not None
