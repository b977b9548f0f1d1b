"""Test setup of a project: command, interpreter, environment, and what its files say about them."""

import json
import os
import platform
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from configparser import Error
from contextlib import suppress
from hashlib import sha256
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

from coder.core.errors import SandboxError, UserError
from coder.core.paths import is_test_file, names_only_tests
from coder.core.ports import Limits, Sandbox
from coder.core.text import parse_json, suggest_name
from coder.core.values import READ_ONLY, Value
from coder.core.verdict import RunProblem
from coder.files.regular_files import is_within, read_regular_text, source_files
from coder.verify.layout import (
    CODER_FILE,
    DISTRIBUTION_OF_MODULE,
    PYTEST_FILES,
    RUNNER_FILES,
    RUNNER_SCRIPTS,
    PackageRun,
    divide_run,
    find_modules,
    find_packages,
    import_roots,
    names_place,
    needed_distributions,
    needed_modules,
    nested_projects,
    nested_table,
    pytest_options,
    read_ini,
    read_toml,
)
from coder.verify.runners.javascript import find_binary
from coder.verify.runners.registry import find_commands, recognize_command

DEFAULT_COMMAND = "python -m pytest"
PROBE = Path(__file__).parent / "target" / "coder_probe.py"
UNITTEST_COMMAND = "python -m unittest"
OLDEST_PYTEST = (6, 2)
NO_COVERAGE = ("--no-cov", "-W", "ignore:Coverage disabled via --no-cov")
"""The plugin warns that it is switched off, which `filterwarnings = error` makes an error at the end."""
PYTHON_FILES = ("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "manage.py")
"""Files of a project in Python, whose tests in Python are then run."""


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

    def divide(self, tree: Path, tests: Sequence[str]) -> tuple[PackageRun, ...]:
        """Return the processes that together run some tests of a tree; all if there are none."""
        return divide_run(tree, tests) if self.runs_anywhere(tree) else (PackageRun(tests=tuple(tests)),)

    def runs_anywhere(self, tree: Path) -> bool:
        """Tell whether the command may run in any package of a tree: it names no place in it."""
        words = self.argv[3 if self.argv[1:2] == ("-m",) else 2 :]
        return self.runner in ("pytest", "unittest") and not any(names_place(word, tree) for word in words)

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


def editable_roots(prefix: Path, root: Path) -> tuple[str, ...]:
    """Return the directories of a checkout that an environment's editable installations import from.

    They are relative to the checkout. Path files name them; import hooks name the packages in them.
    """
    packages = prefix.glob("lib/python*/site-packages")
    named: list[Path] = []
    for file in sorted(file for directory in packages for file in directory.iterdir()):
        if file.suffix == ".pth":
            named += (Path(line) for line in read_regular_text(file).splitlines() if line.startswith("/"))
        elif EDITABLE_HOOK.fullmatch(file.name):
            modules = map(Path, QUOTED_PATH.findall(read_regular_text(file)))
            named += (
                module.parent.parent if module.name == "__init__.py" else module.parent for module in modules
            )
    directories = (path for path in named if path.is_relative_to(root) and path.is_dir())
    inside = (path.relative_to(root) for path in directories if path.is_relative_to(root))
    return tuple(dict.fromkeys(map(str, inside)))


class Overlay(Value):
    """The packages chosen for one repository, and where overlays are stored."""

    interpreter: Path
    root: Path
    chosen_file: Path

    @property
    def packages(self) -> tuple[str, ...]:
        """The chosen packages; empty if none are, or the file cannot be read."""
        try:
            return tuple(map(str, parse_json(self.chosen_file.read_text(encoding="utf-8"))))
        except (OSError, ValueError, TypeError, RecursionError):
            return ()

    @property
    def directory(self) -> Path | None:
        """The directory with the installed packages, None if there is none."""
        place = self.directory_of(self.packages)
        return place if self.packages and place.is_dir() else None

    @property
    def evidence_sentence(self) -> str:
        """A sentence about the packages for the evidence; empty without an overlay."""
        return (
            f"Packages of coder's own, which the project's environment lacks: {', '.join(self.packages)}."
            if self.directory
            else ""
        )

    def directory_of(self, packages: Sequence[str]) -> Path:
        """Return the directory for these packages, named by a hash of interpreter, packages and platform."""
        name = json.dumps([os.path.realpath(self.interpreter), sorted(packages), platform.platform()])
        return self.root / sha256(name.encode()).hexdigest()[:24]

    def choose(self, packages: Sequence[str]) -> None:
        self.chosen_file.parent.mkdir(parents=True, exist_ok=True)
        self.chosen_file.write_text(json.dumps(sorted(packages)), encoding="utf-8")


class Project(Value):
    """Discovered test setup of a repository, with the reasons for it."""

    interpreter: Path
    command: Command
    why: tuple[str, ...]
    """Sentences for the user."""
    environment: Mapping[str, str]
    """Variables that activating the interpreter's environment would set."""
    problem: RunProblem | None = None
    """Why the tests cannot run at present, and what to install where."""
    options: tuple[str, ...] = ()
    """Additional pytest options for a run for evidence."""
    overlay: Overlay | None = None
    """Packages installed by coder that tests find as well."""
    has_cache: bool = True
    """False if the configuration turns pytest's cache off."""
    python: str = ""
    """The interpreter's version; empty if it was not asked."""
    distributions: tuple[str, ...] = ()
    """Distributions that the interpreter finds, as `name-version`."""
    editable_roots: tuple[str, ...] = ()
    """Directories of the repository that the interpreter's editable installations import from."""

    def import_roots(self, tree: Path) -> tuple[Path, ...]:
        editable = (
            root
            for root in (tree / name for name in self.editable_roots)
            if root.is_dir() and is_within(root, tree)
        )
        return tuple(dict.fromkeys((*import_roots(tree), *editable)))


def describe_environment(project: Project, root: Path, copied: Iterable[str] = ()) -> str:
    """Return what results of a project's tests depend on outside of its tracked files.

    These are interpreter, command, variables, installed packages by name and time, the extension modules of
    the checkout at `root`, and its untracked files that are `copied` to where tests run.
    """
    prefix = project.interpreter.parent.parent
    packages = [
        file for folder in prefix.glob("lib/python*/site-packages") for file in sorted(folder.iterdir())
    ]
    files = sorted({root / path for path in (*find_modules(root), *copied)})
    return "\n".join(
        (
            str(project.interpreter),
            project.command.text,
            project.overlay.evidence_sentence if project.overlay else "",
            *(f"{name}={value}" for name, value in sorted(project.environment.items())),
            *(f"{file} {file.lstat().st_mtime_ns}" for file in (*packages, *files) if os.path.lexists(file)),
        )
    )


def find_project(
    root: Path,
    *,
    sandbox: Sandbox,
    environment: Mapping[str, str],
    test_command: str | None = None,
    base: Path | None = None,
) -> Project:
    """Return how the repository at `root` is tested, changing nothing.

    `root` is the user's checkout: a worktree has no environment in it. Where that contains the change to be
    judged, the commands are those of `base`, the tree without it. A command that the user names is the only
    one; of others it is the first whose runner and plugins are installed.

    Raises:
        UserError: `test_command` cannot be parsed.
    """
    if test_command is not None and names_only_tests(test_command):
        test_command = None  # they are targets, and the command that runs them is detected
    explicit = named_interpreter(test_command) if test_command else None
    interpreter, why = (
        (explicit, "named in the test command")
        if explicit
        else next(interpreter_candidates(root, environment=environment, sandbox=sandbox))
    )
    reasons = [f"Interpreter: {interpreter}, {why}."]
    if (root / "uv.lock").exists() and not (root / ".venv").exists():
        reasons.append("uv.lock is here but no .venv: `uv sync` would make it.")
    reasons += filter(None, [_describe_packages(root)])
    naming = base if base and next(find_hints(base), None) else root
    unprobed = Project(
        interpreter=interpreter,
        command=parse_command(UNITTEST_COMMAND, interpreter),
        why=(*reasons, f"Test command: {UNITTEST_COMMAND}, since there is no usable pytest."),
        environment=_activation_environment(interpreter, environment),
        editable_roots=editable_roots(interpreter.parent.parent, root.resolve()),
    )
    first = None
    for command, where in _candidate_commands(naming, interpreter, test_command):
        shown = (*(reasons if command.uses_interpreter else ()), f"Test command: {command.text}, {where}.")
        project = unprobed.model_copy(update={"command": command, "why": shown})
        if test_command is not None:
            _check_program(project, root, sandbox)
        project = _probe_pytest(project, root, sandbox)
        if project.problem is None:
            return project
        first = first or project
    assert first is not None
    return unprobed if test_command is None and _is_for_unittest(root) else first


def _is_for_unittest(root: Path) -> bool:
    """Tell whether the tests of a project need no pytest."""
    tests = [read_regular_text(root / path) for path in source_files(root, (".py",)) if is_test_file(path)]
    needs_pytest = any(re.search(r"^(?:async )?def test|\bpytest\b", text, re.MULTILINE) for text in tests)
    return any("TestCase" in text for text in tests) and not needs_pytest


def _candidate_commands(root: Path, interpreter: Path, test_command: str | None) -> list[tuple[Command, str]]:
    """Return the possible test commands and where they come from, likeliest first."""
    if test_command is not None:
        try:
            return [(parse_command(test_command, interpreter, root=root), "as given")]
        except ValueError as error:
            raise UserError(
                f"The test command {test_command!r} cannot be understood: {error}. "
                "Give one such as 'python -m pytest'."
            ) from error
    file, _ = pytest_options(root)
    preferred: list[tuple[Command, str]] = []
    environment: Mapping[str, str] = {}
    adapted: list[tuple[Command, str]] = []
    for hint, command in _parsed_hints(root, interpreter):
        if hint.source in OWN_TABLES:
            return [(command, f"from {hint.source}")]
        if command.is_pytest:
            environment = environment or command.environment
        if command.is_recorded:
            if hint.source == TOX or not file:
                preferred.append((command, f"from {hint.source}"))
        elif command.is_selective or hint.is_known:
            adapted.append((command, f"from {hint.source}"))
    if adapted and not _is_python_project(root):
        return adapted[:1]
    return [*preferred, _default_command(root, interpreter, file, environment)]


def _default_command(
    root: Path, interpreter: Path, file: str, environment: Mapping[str, str] = {}
) -> tuple[Command, str]:
    """Return how pytest runs the tests where nothing says otherwise, and why.

    `file` configures it; `environment` are variables that the project sets for it.
    """
    options, where = "", "the default"
    if file:
        where = f"{where}, configured in {file}"
    elif _has_single_modules_alone(root):
        options, where = " -o python_files=test*.py", f"{where} with the file names of unittest"
    if environment:
        where = f"{where}, with the project's own {', '.join(environment)}"
    return parse_command(f"{_assignments(environment)}{DEFAULT_COMMAND}{options}", interpreter), where


def _is_python_project(root: Path) -> bool:
    return bool(pytest_options(root)[0]) or any((root / name).exists() for name in PYTHON_FILES)


def _has_single_modules_alone(root: Path) -> bool:
    """Tell whether all test files are called `test.py` or `tests.py`, which pytest collects by request."""
    files = [path for path in source_files(root, (".py",)) if is_test_file(path)]
    return bool(files) and all(path.rpartition("/")[2] in ("test.py", "tests.py") for path in files)


def _describe_packages(root: Path) -> str:
    """Return a sentence on the packages that are tested by themselves; empty without any."""
    packages = find_packages(root)
    return f"Tested one by one, each in its own directory: {', '.join(packages)}." if packages else ""


class Hint(Value):
    """A test command that the project names."""

    command: str
    source: str
    """Where it was found, in words."""
    is_known: bool = False
    """It is known to run tests, whatever words it consists of."""


def _parsed_hints(root: Path, interpreter: Path) -> Iterator[tuple[Hint, Command]]:
    """Yield the hints of a project whose commands can be parsed."""
    for hint in find_hints(root):
        try:
            yield hint, parse_command(hint.command, interpreter, root=root)
        except ValueError as error:
            if hint.source in OWN_TABLES:
                raise UserError(
                    f"The test command {hint.command!r} of {hint.source} cannot be understood: {error}."
                ) from error


def _activation_environment(interpreter: Path, environment: Mapping[str, str]) -> dict[str, str]:
    search = f"{interpreter.parent}:{environment.get('PATH', '/usr/local/bin:/usr/bin:/bin')}"
    prefix = virtual_environment_of(interpreter)
    skipped = os.pathsep.join(meson_build_directories(prefix)) if prefix else ""
    return {
        "PATH": search,
        **({"VIRTUAL_ENV": str(prefix)} if prefix else {}),
        **({"MESONPY_EDITABLE_SKIP": skipped} if skipped else {}),
    }


def use_interpreter(project: Project, interpreter: Path, environment: Mapping[str, str]) -> Project:
    """Return the same project as another interpreter, with other packages, runs it."""
    argv = project.command.argv
    is_own = argv[:1] == (str(project.interpreter),)
    own = str(interpreter)
    return project.model_copy(
        update={
            "interpreter": interpreter,
            "command": project.command.model_copy(update={"argv": (own, *argv[1:]) if is_own else argv}),
            "environment": {**project.environment, **_activation_environment(interpreter, environment)},
            "overlay": None,
        }
    )


def _check_program(project: Project, root: Path, sandbox: Sandbox) -> None:
    """Refuse a test command whose program is not there."""
    program = project.command.argv[0]
    path = project.environment.get("PATH", os.environ.get("PATH"))
    is_there = program == str(project.interpreter) or (root / program).is_file()
    if is_there or find_binary(root, program) != program or shutil.which(program, path=path):
        return
    words = ("sh", "-c", 'command -v "$1"', "sh", program)
    limits = Limits(wall_seconds=30.0)
    execution = sandbox.run(
        words, cwd=PROBE.parent, environment=project.environment, policy=READ_ONLY, limits=limits
    )
    if execution.exit_code:
        raise UserError(
            f"The test command {project.command.text!r} cannot start: there is no program {program!r}. "
            f"{suggest_name(program, ('pytest', 'python', 'make', 'npm', 'cargo', 'go', 'tox', 'nox'))}"
            "Name a command, such as 'python -m pytest', or ids of tests, such as tests/test_a.py::test_b."
        )


def _probe_pytest(project: Project, root: Path, sandbox: Sandbox) -> Project:
    """Ask the interpreter whether it has pytest and the plugins that the configuration needs."""
    if not project.command.is_recorded:
        return project
    _, options = pytest_options(root)
    modules = needed_modules({"addopts": [*project.command.argv[1:]]}) + needed_modules(options)
    words = [
        str(project.interpreter),
        "-B",
        str(PROBE),
        *dict.fromkeys(modules),
        "--",
        *needed_distributions(options),
    ]
    try:
        execution = sandbox.run(
            words,
            cwd=PROBE.parent,
            environment=project.environment,
            policy=READ_ONLY,
            limits=Limits(wall_seconds=30.0),
        )
        probe = parse_json(execution.output.splitlines()[-1])
    except (SandboxError, ValueError, IndexError, RecursionError) as error:
        text = (
            f"{project.interpreter} could not be asked for its pytest ({error}). "
            "Check that it runs, or activate the project's environment."
        )
        return project.model_copy(update={"problem": RunProblem(kind="no_runner", text=text)})
    facts = {"python": probe["python"], "distributions": tuple(probe["distributions"])}
    if not project.command.is_pytest:
        return project.model_copy(update=facts)
    missing = [
        DISTRIBUTION_OF_MODULE.get(name, name.replace("_", "-"))
        for name in probe["missing_modules"]
        if not _is_in_tree(name, root)
    ] + probe["missing_distributions"]
    return project.model_copy(
        update=facts
        | {
            "problem": _dependency_problem(
                project.interpreter, probe["pytest"], list(dict.fromkeys(missing)), root
            ),
            "has_cache": "no:cacheprovider" not in str(options.get("addopts", "")),
            "options": NO_COVERAGE if probe["has_cov"] else (),
            "why": (*project.why, f"Python {probe['python']}, pytest {probe['pytest'] or 'missing'}."),
        }
    )


MISSING_NAME = re.compile(r"\bNo module named '(\w+)'")


def install_advice(text: str, tree: Path, interpreter: Path) -> str:
    """Return, as a sentence that follows it, how to install what a message calls missing; or nothing."""
    missing = MISSING_NAME.search(text)
    if missing is None or _is_in_tree(missing[1], tree):
        return ""
    package = DISTRIBUTION_OF_MODULE.get(missing[1], missing[1].replace("_", "-"))
    return f". Install it: {_install_command(interpreter, [package], tree)}"


def _is_in_tree(module: str, root: Path) -> bool:
    """Tell whether a repository has a file of that module, wherever it is imported from."""
    name = module.replace(".", "/")
    ends = (f"/{name}.py", f"/{name}/__init__.py")
    return any(f"/{path}".endswith(ends) for path in source_files(root, (".py",)))


def _dependency_problem(
    interpreter: Path, version: str | None, plugins: list[str], root: Path
) -> RunProblem | None:
    if version is None:
        packages, what = ["pytest", *plugins], "pytest is not installed"
    elif tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < OLDEST_PYTEST:
        packages, what = (
            ["pytest>=6.2", *plugins],
            f"pytest {version} is too old (6.2 is the oldest that works)",
        )
    elif plugins:
        packages, what = (
            plugins,
            f"pytest needs {', '.join(plugins)}, named in the project's configuration or command"
            " but not installed,",
        )
    else:
        return None
    return RunProblem(
        kind="no_runner",
        text=f"{what} in {interpreter}. Install it there: {_install_command(interpreter, packages, root)}",
    )


def _install_command(interpreter: Path, packages: list[str], root: Path) -> str:
    names = " ".join(f"'{name}'" if ">" in name else name for name in packages)
    is_in_repository = interpreter.is_relative_to(root)  # a lock file describes only this environment
    if is_in_repository and (root / "uv.lock").exists():
        return f"uv add --dev {names}"
    if is_in_repository and (root / "poetry.lock").exists():
        return f"poetry add --group dev {names}"
    return f"{interpreter} -m pip install {names}"


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


def parse_command(text: str, interpreter: Path, *, root: Path | None = None) -> Command:
    """Parse a test command, replacing `pytest` and `python` by those of `interpreter`.

    A launcher that precedes them is dropped, also from the text, which says what runs. Scripts are looked up
    in `root`.

    Raises:
        ValueError: quotes do not match, or there is no command.
    """
    environment, words = _split_assignments(shlex.split(text))
    if not words:
        raise ValueError("there is no command in it")
    runner, index = _find_runner(words, root)
    is_plain = runner == OTHER and not SHELL.search(text.replace("&&", ""))
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
    if runner != OTHER and not LAUNCHERS.isdisjoint({*words[:index]} - {"-m", "--"}):
        python = "python " if runner == "django" else "python -m " if words[index - 1] == "-m" else ""
        text = f"{_assignments(environment)}{python}{shlex.join(words[index:])}"
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


def _split_assignments(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return the variables that the start of a command sets, unset ones as empty, and the rest."""
    environment: dict[str, str] = {}
    by_program = words[:1] == ["env"]
    rest = words[1:] if by_program else words
    while rest:
        if re.fullmatch(r"[A-Za-z_]\w*=.*", rest[0], re.DOTALL):
            name, _, environment[name] = rest[0].partition("=")
            rest = rest[1:]
        elif rest[0] in ("-u", "--unset") and by_program and len(rest) > 1:
            environment[rest[1]] = ""
            rest = rest[2:]
        else:
            break
    return environment, words if rest and rest[0].startswith("-") else rest


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
    return read_regular_text(root / path) if root is not None else ""


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


DJANGO_COMMAND = "python manage.py test"
OWN_TABLES = ("[tool.coder] in pyproject.toml", CODER_FILE)
"""Sources of commands that are the only ones."""
TOX = "commands of tox"
STARTS_TESTS = re.compile(r"\b(?:pytest|py\.test|unittest|manage\.py\s+test|runtests\.py)\b")
NAMING_FILES = frozenset({*RUNNER_FILES, *RUNNER_SCRIPTS, *PYTEST_FILES})
"""Files that may name the test command."""
PLACEHOLDERS = (
    (re.compile(r"\{posargs:?([^{}]*)\}"), r"\1"),
    (re.compile(r"\{envpython\}|\$[({](?:PYTHON3?|PY)[)}]"), "python"),
    (re.compile(r"\{toxinidir\}/"), ""),
    (re.compile(r"\$\([A-Z_]+\)|\"?\$@\"?|\"?\$\*\"?|\{+\s*args[^}]*\}+"), ""),
)
"""Placeholders with a known meaning or default; others whose default is empty."""
IN_FOLDER = re.compile(
    r"cd (?P<folder>[\w./-]+) && (?P<python>\S*python[\d.]* )?(?:\./)?(?P<rest>(?:runtests|manage)\.py.*)"
)
RUNNER_IN_FOLDER = re.compile(
    r"cd (?P<folder>[\w./-]+) && "
    r"(?:(?P<unittest>\S*python[\d.]* -m unittest discover)(?: (?:-s )?\.(?=\s|$))?"
    r"(?P<options>(?!.* -[ts]\b).*)"
    r"|(?P<pytest>(?:\S*python[\d.]* -m )?py\.?test(?: -\S+)*))"
)
"""A runner started in the folder of the tests, which takes the folder as well; no paths relative to it."""


def may_name_command(path: str) -> bool:
    """Tell whether a file may name the test command."""
    return PurePath(path).name in NAMING_FILES


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
    tool = nested_table(read_toml(root / "pyproject.toml"), "tool")
    for source, table in zip(
        OWN_TABLES, (nested_table(tool, "coder"), read_toml(root / CODER_FILE)), strict=True
    ):
        if command := table.get("test"):
            yield Hint(command=str(command), source=source, is_known=True)
    yield from _tox_hints(root, tool)
    for name in ("Makefile", "GNUmakefile", "justfile", "Justfile"):
        yield from _target_hints(root / name)
    if "django" in read_regular_text(root / "tests" / "runtests.py"):
        yield Hint(command="python tests/runtests.py", source="Django's tests/runtests.py")
    if "DJANGO_SETTINGS_MODULE" in read_regular_text(root / "manage.py"):
        yield Hint(command=DJANGO_COMMAND, source="Django's manage.py")
    for command, source in () if _is_python_project(root) else find_commands(root):
        yield Hint(command=command, source=source, is_known=True)
    yield from _make_hints(root)


def _fill_placeholders(command: str) -> str:
    """Return a command without placeholders, in the project's root; empty if it needs one."""
    for pattern, text in PLACEHOLDERS:
        command = pattern.sub(text, command)
    command = " ".join(command.split())
    if match := IN_FOLDER.fullmatch(command):
        command = f"{match['python'] or 'python '}{match['folder'].rstrip('/')}/{match['rest']}"
    elif match := RUNNER_IN_FOLDER.fullmatch(command):
        command = (
            f"{match['unittest']} -s {match['folder']}{match['options']}"
            if match["unittest"]
            else f"{match['pytest']} {match['folder']}"
        )
    return "" if re.search(r"[{}]|\$[({A-Za-z_]", command) else command.strip()


def _tox_hints(root: Path, tool: Mapping[str, Any]) -> Iterator[Hint]:
    """Yield the commands of tox's main environment."""
    ini = read_ini(root / "tox.ini")
    with suppress(Error):
        ini.read_string(str(nested_table(tool, "tox").get("legacy_tox_ini") or ""))
    main: Mapping[str, str] = dict(ini.items("testenv")) if ini.has_section("testenv") else {}
    folder = main.get("changedir", "").replace("{toxinidir}", "").strip("/ ")
    settings = main.get("setenv", main.get("set_env", "")).splitlines()
    variables: Mapping[str, object] = dict(line.split("=", 1) for line in settings if "=" in line)
    lines = main.get("commands", "").replace("\\\n", " ").splitlines()
    for line in filter(None, (line.strip().lstrip("-").strip() for line in lines)):
        yield _tox_hint(f"cd {folder} && {line}" if folder else line, variables)
    for table in (nested_table(tool, "tox"), read_toml(root / "tox.toml")):
        base = nested_table(table, "env_run_base")
        commands = base.get("commands")
        for command in commands if isinstance(commands, list) else []:
            words = [word for word in command if isinstance(word, str)]
            yield _tox_hint(" ".join(words), nested_table(base, "set_env"))


def _tox_hint(command: str, variables: Mapping[str, object]) -> Hint:
    """Return a command of tox with the variables that it sets, as far as their values are known here."""
    values = {
        name.strip(): str(value).strip().replace("{toxinidir}/", "").replace("{toxinidir}", ".")
        for name, value in variables.items()
        if re.fullmatch(r"(?!PATH\b|HOME\b|TMPDIR\b)[A-Za-z_]\w*", name.strip())
    }
    known = {name: value for name, value in values.items() if not re.search(r"[{}$]", value)}
    filled = _fill_placeholders(command)
    is_test = STARTS_TESTS.search(filled)
    return Hint(command=f"{_assignments(known)}{filled}" if is_test else "", source=TOX)


def _assignments(environment: Mapping[str, str]) -> str:
    """Return variables as they stand before a command of a shell."""
    return "".join(f"{name}={shlex.quote(value)} " for name, value in environment.items())


def _target_hints(file: Path) -> Iterator[Hint]:
    """Yield the recipe of the target `test` of a Makefile or justfile."""
    in_test_target = False
    for line in read_regular_text(file).splitlines():
        if line.strip() and not line[0].isspace():
            in_test_target = line.split(":")[0].split()[:1] in (["test"], ["tests"])
        elif in_test_target and line.strip():
            yield Hint(command=line.strip().lstrip("@-"), source=f"the test target in {file.name}")


def _make_hints(root: Path) -> Iterator[Hint]:
    """Yield the targets that run the tests of a project without Python."""
    if any(any(root.glob(pattern)) for pattern in ("*.py", "*/*.py")):
        return
    for name, tool in (("Makefile", "make"), ("GNUmakefile", "make"), ("justfile", "just")):
        text = read_regular_text(root / name)
        targets = re.findall(r"^(test|check)\b[^=\n]*:(?!=)", text, re.MULTILINE)
        for target in () if re.search(r"\bpy(?:test|thon)", text) else targets[:1]:
            yield Hint(command=f"{tool} {target}", source=f"the {target} target in {name}", is_known=True)


ASK_SECONDS = 8.0
EDITABLE_HOOK = re.compile(r"(?:__editable__|_editable_impl_).*\.py")
"""Names of the import hooks of setuptools and hatchling."""
QUOTED_PATH = re.compile(r"'(/[^'\n]+)'")


def interpreter_candidates(
    root: Path, *, environment: Mapping[str, str], sandbox: Sandbox
) -> Iterator[tuple[Path, str]]:
    """Yield existing interpreters, each with the reason for it, likeliest first; the last is coder's own."""
    active = environment.get("VIRTUAL_ENV", "")
    if active and Path(active).resolve() != Path(sys.prefix).resolve():
        yield from _in_prefix(Path(active), "the active virtual environment ($VIRTUAL_ENV)")
    below = () if _is_python_project(root) else nested_projects(root)
    for directory in (root, *below):
        for name in (".venv", "venv", "env"):
            prefix = directory / name
            yield from _in_prefix(prefix, f"{prefix.relative_to(root)} in the repository")
    if chosen := read_regular_text(root / ".pdm-python").strip():
        yield from _in_prefix(Path(chosen).parent.parent, "pdm's choice (.pdm-python)")
    for query, why in _environment_queries(root):
        if answer := _run_query(query, root, sandbox):
            yield from _in_prefix(Path(answer), why)
    if environment.get("CONDA_PREFIX") and environment.get("CONDA_DEFAULT_ENV") != "base":
        yield from _in_prefix(
            Path(environment["CONDA_PREFIX"]), "the active conda environment ($CONDA_PREFIX)"
        )
    for directory in (
        *sorted(root.glob(".tox/py*"), reverse=True),
        *sorted(root.glob(".nox/*"), reverse=True),
    ):
        if any(directory.glob("lib/python*/site-packages/pytest")):
            yield from _in_prefix(directory, f"{directory.relative_to(root)} in the repository")
    yield from _on_path(root, environment, sandbox)
    yield (
        Path(sys.executable),
        "the interpreter that coder runs on, since no environment of the project was found",
    )


def _on_path(root: Path, environment: Mapping[str, str], sandbox: Sandbox) -> Iterator[tuple[Path, str]]:
    """Yield interpreters on PATH, outside of the repository and not coder's own, that have pytest.

    Containers, CI jobs, pyenv and conda's base install coder apart and the project's packages where `python3`
    finds them. In CI, and for pre-commit, coder's own may come before them, and those without pytest follow.
    """
    is_automatic = bool(environment.get("CI") or environment.get("PRE_COMMIT"))
    others: list[Path] = []
    for directory in dict.fromkeys(filter(None, environment.get("PATH", "").split(os.pathsep))):
        for found, name in _interpreters_in(Path(directory)):
            if found.parent.resolve() == Path(sys.executable).parent.resolve():
                if is_automatic:
                    continue
                return
            if is_within(found, root) or is_within(directory, root):
                continue
            answer = _run_query((str(found), "-I", "-c", RUNNER_QUERY), root, sandbox)
            executable, _, has_pytest = answer.partition("\t")
            if has_pytest:
                yield Path(executable), f"{name} on PATH, which has pytest"
            elif executable:
                others.append(Path(executable))
    for interpreter in others if is_automatic else ():
        yield interpreter, "python3 on PATH"


def _interpreters_in(directory: Path) -> Iterator[tuple[Path, str]]:
    """Yield the interpreter of a directory's pytest, its python3 and its python, each with its name."""
    start = read_regular_text((directory / "pytest").resolve()).partition("\n")[0]
    if start.startswith("#!/") and "python" in start:
        yield Path(start.removeprefix("#!").strip()), "the interpreter of pytest"
    known: set[Path] = set()
    for name in ("python3", "python"):
        found = directory / name
        if found.is_file() and found.resolve() not in known:
            known.add(found.resolve())
            yield found, name


RUNNER_QUERY = (
    "import sys, importlib.util as u; print(sys.executable, 'x' * bool(u.find_spec('pytest')), sep='\\t')"
)
"""Program that prints an interpreter's own path, and after a tab whether it has pytest."""


def virtual_environment_of(interpreter: Path) -> Path | None:
    """Return the virtual environment that an interpreter belongs to, None outside of one."""
    prefix = interpreter.parent.parent
    return prefix if (prefix / "pyvenv.cfg").is_file() else None


def meson_build_directories(prefix: Path) -> list[str]:
    """Return the build directories of the editable installations that meson-python made in an environment.

    Its import hook comes before the import path, and leads to the installed checkout; it leaves out the build
    directories that MESONPY_EDITABLE_SKIP names.
    """
    return [
        path
        for loader in sorted(prefix.glob("lib/python*/site-packages/_*_editable_loader.py"))
        for path in QUOTED_PATH.findall(read_regular_text(loader))
        if Path(path, "meson-info").is_dir()
    ]


def _in_prefix(prefix: Path, why: str) -> Iterator[tuple[Path, str]]:
    interpreter = prefix / "bin" / "python"
    if interpreter.exists():
        yield interpreter, why


def _environment_queries(root: Path) -> Iterator[tuple[Sequence[str], str]]:
    """Yield commands that print a tool's environment, for installed tools that the repository uses."""
    tool = read_toml(root / "pyproject.toml").get("tool", {})
    for used, query in (
        ((root / "poetry.lock").exists() or "poetry" in tool, ("poetry", "env", "info", "-p")),
        ((root / "Pipfile").exists(), ("pipenv", "--venv")),
        ("hatch" in tool and "envs" in tool["hatch"], ("hatch", "env", "find")),
    ):
        if used and shutil.which(query[0]):
            yield query, f"the answer of `{' '.join(query)}`"


def _run_query(query: Sequence[str], root: Path, sandbox: Sandbox) -> str:
    try:
        execution = sandbox.run(query, cwd=root, policy=READ_ONLY, limits=Limits(wall_seconds=ASK_SECONDS))
    except SandboxError:
        return ""
    lines = execution.output.strip().splitlines()
    return lines[-1].strip() if execution.exit_code == 0 and lines else ""
