"""Test commands found in a project's files: configuration of tools, CI workflows, contributors' guides.

They are hints: each is run in the sandbox like any other command, and used only if tests pass with it.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from configparser import Error
from contextlib import suppress
from pathlib import Path
from typing import Any

from coder.core.values import Value
from coder.python.source import parse_module
from coder.verify.project.configuration import CODER_FILE
from coder.verify.project.roots import read_ini, read_text, read_toml
from coder.verify.runners.registry import find_commands

DJANGO_COMMAND = "python manage.py test"
OWN_TABLES = ("[tool.coder] in pyproject.toml", CODER_FILE)
"""Sources of commands that are the only ones."""
STARTS_TESTS = re.compile(r"\b(?:pytest|py\.test|unittest|manage\.py\s+test|runtests\.py|bin/test)\b")
CI_FILES = (
    ".github/workflows/*.yml",
    ".github/workflows/*.yaml",
    ".gitlab-ci.yml",
    "azure-pipelines.yml",
)
GUIDES = ("CONTRIBUTING*", ".github/CONTRIBUTING*", "docs/CONTRIBUTING*", "docs/contributing*")
MOST_FILES = 20
"""Files read of one kind."""
PLACEHOLDERS = (
    (re.compile(r"\{posargs[^}]*\}"), ""),
    (re.compile(r"\{envpython\}|\$[({](?:PYTHON3?|PY)[)}]"), "python"),
    (re.compile(r"\{toxinidir\}/"), ""),
    (re.compile(r"\$\([A-Z_]+\)|\"?\$@\"?|\"?\$\*\"?|\{+\s*args[^}]*\}+"), ""),
)
"""Placeholders with a known meaning, or whose default is empty."""
IN_FOLDER = re.compile(
    r"cd (?P<folder>[\w./-]+) && (?P<python>\S*python[\d.]* )?(?:\./)?(?P<rest>(?:runtests|manage)\.py.*)"
)


class Hint(Value):
    """A test command that the project names."""

    command: str
    source: str
    """Where it was found, in words."""
    is_weak: bool = False
    """It may run a part of the tests only: one job of several, or an example in a text."""
    is_known: bool = False
    """It is known to run tests, whatever words it consists of."""


def find_hints(root: Path) -> Iterator[Hint]:
    """Yield the test commands that the files of a project name, each once, best first."""
    seen: set[str] = set()
    for hint in _all_hints(root):
        command = hint.command if hint.is_known else _fill_placeholders(hint.command)
        is_usable = hint.is_known or STARTS_TESTS.search(command)
        if command and is_usable and command not in seen:
            seen.add(command)
            yield hint.model_copy(update={"command": command})


def _all_hints(root: Path) -> Iterator[Hint]:
    tool = _table(read_toml(root / "pyproject.toml"), "tool")
    for source, table in zip(OWN_TABLES, (_table(tool, "coder"), read_toml(root / CODER_FILE)), strict=True):
        if command := table.get("test"):
            yield Hint(command=str(command), source=source, is_known=True)
    yield from _tox_hints(root, tool)
    yield from _nox_hints(root)
    yield from _script_hints(tool)
    for name in ("Makefile", "GNUmakefile", "justfile", "Justfile"):
        yield from _target_hints(root / name)
    if "django" in read_text(root / "tests" / "runtests.py"):
        yield Hint(command="python tests/runtests.py", source="Django's tests/runtests.py")
    if "DJANGO_SETTINGS_MODULE" in read_text(root / "manage.py"):
        yield Hint(command=DJANGO_COMMAND, source="Django's manage.py")
    yield from _text_hints(root)
    yield from _adapter_hints(root)
    if (root / "bin" / "test").is_file():
        yield Hint(command="python bin/test", source="bin/test")


def _text_hints(root: Path) -> Iterator[Hint]:
    """Yield commands that CI configurations and guides for contributors name."""
    for patterns, find in ((CI_FILES, _workflow_hints), (GUIDES, _guide_hints)):
        for pattern in patterns:
            for file in sorted(root.glob(pattern))[:MOST_FILES]:
                yield from find(file, file.relative_to(root).as_posix())


def _adapter_hints(root: Path) -> Iterator[Hint]:
    """Yield the commands of runners of other languages."""
    for command, source in find_commands(root):
        yield Hint(command=command, source=source, is_known=True)


def _table(document: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return a nested table of a document; empty if it is missing or is no table."""
    table: Any = document
    for name in names:
        table = table.get(name) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else {}


def _fill_placeholders(command: str) -> str:
    """Return a command without placeholders, in the project's root; empty if it needs one."""
    for pattern, text in PLACEHOLDERS:
        command = pattern.sub(text, command)
    command = " ".join(command.split())
    if match := IN_FOLDER.fullmatch(command):
        command = f"{match['python'] or 'python '}{match['folder'].rstrip('/')}/{match['rest']}"
    return "" if re.search(r"[{}]|\$[({A-Za-z_]", command) else command.strip()


def _tox_hints(root: Path, tool: Mapping[str, Any]) -> Iterator[Hint]:
    """Yield the commands of tox; those of an environment of its own may run anything, so they are weak."""
    ini = read_ini(root / "tox.ini")
    with suppress(Error):
        ini.read_string(str(_table(tool, "tox").get("legacy_tox_ini") or ""))
    for section in sorted(ini.sections(), key=lambda name: name != "testenv"):
        if not section.startswith("testenv"):
            continue
        folder = ini.get(section, "changedir", fallback="").replace("{toxinidir}", "").strip("/ ")
        lines = ini.get(section, "commands", fallback="").replace("\\\n", " ").splitlines()
        for line in filter(None, (line.strip().lstrip("-").strip() for line in lines)):
            command = f"cd {folder} && {line}" if folder else line
            yield Hint(
                command=_fill_placeholders(command) if folder else command,
                source="commands in tox.ini",
                is_weak=section != "testenv",
            )
    for table in (_table(tool, "tox"), read_toml(root / "tox.toml")):
        environments = {"": table.get("env_run_base"), **_table(table, "env")}
        for name in environments:
            commands = _table(environments, name).get("commands")
            for command in commands if isinstance(commands, list) else []:
                words = [word for word in command if isinstance(word, str)]
                yield Hint(command=" ".join(words), source="commands of tox", is_weak=bool(name))


def _nox_hints(root: Path) -> Iterator[Hint]:
    """Yield the literal commands that sessions of nox run."""
    try:
        module = parse_module(read_text(root / "noxfile.py"))
    except (SyntaxError, ValueError, RecursionError):
        return
    for function in module.body:
        for node in ast.walk(function) if isinstance(function, ast.FunctionDef) else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "session.run":
                words = [
                    word.value
                    for word in node.args
                    if isinstance(word, ast.Constant) and isinstance(word.value, str)
                ]
                is_weak = not isinstance(function, ast.FunctionDef) or not function.name.startswith("test")
                yield Hint(command=" ".join(words), source="noxfile.py", is_weak=is_weak)


def _script_hints(tool: Mapping[str, Any]) -> Iterator[Hint]:
    """Yield the scripts and tasks of hatch, pdm, poe and others that are named after tests."""
    tables = [
        (f"hatch's environment {name}", _table(tool, "hatch", "envs", name, "scripts"))
        for name in _table(tool, "hatch", "envs")
    ]
    tables += [
        ("pdm's scripts", _table(tool, "pdm", "scripts")),
        ("poe's tasks", _table(tool, "poe", "tasks")),
        ("the tasks of taskipy", _table(tool, "taskipy", "tasks")),
    ]
    for source, scripts in tables:
        for name, script in scripts.items():
            if isinstance(script, dict):
                script = script.get("cmd") or script.get("shell") or ""
            for command in script if isinstance(script, list) else [script]:
                if isinstance(command, str):
                    is_weak = not str(name).startswith("test")
                    yield Hint(command=command, source=f"{source} in pyproject.toml", is_weak=is_weak)


def _target_hints(file: Path) -> Iterator[Hint]:
    """Yield the recipe of the target `test` of a Makefile or justfile."""
    in_test_target = False
    for line in read_text(file).splitlines():
        if line.strip() and not line[0].isspace():
            in_test_target = line.split(":")[0].split()[:1] in (["test"], ["tests"])
        elif in_test_target and line.strip():
            yield Hint(command=line.strip().lstrip("@-"), source=f"the test target in {file.name}")


def _workflow_hints(file: Path, name: str) -> Iterator[Hint]:
    """Yield the lines of a CI configuration that start tests: values of `run:` or items of a list."""
    for line in read_text(file).splitlines():
        text = re.sub(r"^(?:- )?\s*(?:run|script|bash):\s*\|?", "", line.strip())
        text = text.removeprefix("- ").strip("'\" ")
        if STARTS_TESTS.search(text) and not re.match(
            r"#|[\w-]+:(?:\s|$)|(?:.* )?(?:pip|uv) .*install", text
        ):
            yield Hint(command=text, source=name, is_weak=True)


def _guide_hints(file: Path, name: str) -> Iterator[Hint]:
    """Yield the commands in fenced or indented blocks of a text for contributors."""
    is_fenced = False
    for line in read_text(file).splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            is_fenced = not is_fenced
        elif is_fenced or line.startswith(("    ", "\t")):
            text = re.sub(r"^(?:\$|>|%) ", "", line.strip())
            is_command = re.match(r"(?:\./)?[\w./=-]+(?: |$)", text) and not text.endswith((".", ":", ","))
            if is_command and STARTS_TESTS.search(text) and not re.match(r".*\binstall\b", text):
                yield Hint(command=text, source=name, is_weak=True)
