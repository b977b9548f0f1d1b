"""Discovery of how a project is tested: interpreter, command, and missing test dependencies."""

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from coder.core.errors import SandboxError, UserError
from coder.core.paths import is_test_file, names_only_tests
from coder.core.phases import READ_ONLY
from coder.core.ports import Limits, Sandbox
from coder.core.values import Value
from coder.core.verdict import RunProblem
from coder.verify.project.command import Command, named_interpreter, parse_command
from coder.verify.project.configuration import (
    DISTRIBUTION_OF_MODULE,
    needed_distributions,
    needed_modules,
    pytest_options,
)
from coder.verify.project.hints import OWN_TABLES, Hint, find_hints
from coder.verify.project.interpreter import (
    editable_roots,
    interpreter_candidates,
    meson_build_directories,
    virtual_environment_of,
)
from coder.verify.project.overlay import Overlay
from coder.verify.project.roots import import_roots, nested_projects
from coder.verify.runners.sources import source_files

DEFAULT_COMMAND = "python -m pytest"
PROBE = Path(__file__).parents[1] / "target" / "coder_probe.py"
UNITTEST_COMMAND = "python -m unittest"
OLDEST_PYTEST = (6, 2)
PYTHON_FILES = ("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "manage.py")
"""Files of a project in Python, whose tests in Python are then run."""
MOST_CANDIDATES = 6
"""Test commands of a project that are considered."""


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
    editable_roots: tuple[str, ...] = ()
    """Directories of the repository that the interpreter's editable installations import from."""

    def import_roots(self, tree: Path) -> tuple[Path, ...]:
        """Return the directories of a tree from which its modules are imported."""
        editable = (
            root
            for root in (tree / name for name in self.editable_roots)
            if root.is_dir() and root.resolve().is_relative_to(tree.resolve())
        )
        return tuple(dict.fromkeys((*import_roots(tree), *editable)))


def find_project(
    root: Path, *, sandbox: Sandbox, environment: Mapping[str, str], test_command: str | None = None
) -> Project:
    """Return the likeliest way to test the repository at `root`, as `find_candidates` finds it.

    Raises:
        UserError: `test_command` cannot be parsed.
    """
    return find_candidates(root, sandbox=sandbox, environment=environment, test_command=test_command)[0]


def find_candidates(
    root: Path, *, sandbox: Sandbox, environment: Mapping[str, str], test_command: str | None = None
) -> tuple[Project, ...]:
    """Return the ways in which the repository at `root` may be tested, likeliest first, changing nothing.

    `root` is the user's checkout: a worktree has no environment in it. A command that the user names is the
    only one.

    Raises:
        UserError: `test_command` cannot be parsed.
    """
    if test_command is not None and names_only_tests(test_command):
        test_command = None  # they are targets, and the command that runs them is detected
    explicit = named_interpreter(test_command) if test_command else None
    interpreter, why = (
        (explicit, "named in the test command")
        if explicit
        else next(
            interpreter_candidates(
                root, environment=environment, sandbox=sandbox, nested=_only_nested_project(root)
            )
        )
    )
    reasons = [f"Interpreter: {interpreter}, {why}."]
    if (root / "uv.lock").exists() and not (root / ".venv").exists():
        reasons.append("uv.lock is here but no .venv: `uv sync` would make it.")
    reasons += filter(None, [_describe_ignored_configurations(root)])
    activation = _activation_environment(interpreter, environment)
    editable = editable_roots(interpreter.parent.parent, root.resolve())
    candidates = [
        Project(
            interpreter=interpreter,
            command=command,
            why=(
                *(reasons if command.uses_interpreter else ()),
                f"Test command: {command.text}, {where}.",
            ),
            environment=activation,
            editable_roots=editable,
        )
        for command, where in _candidate_commands(root, interpreter, test_command)
    ]
    probed = tuple(_probe_pytest(project, root, sandbox) for project in candidates)
    if test_command is not None or not all(project.problem for project in probed):
        return probed
    command = parse_command(UNITTEST_COMMAND, interpreter)
    sentence = f"Test command: {command.text}, since there is no usable pytest."
    return (*probed, candidates[0].model_copy(update={"command": command, "why": (*reasons, sentence)}))


def _candidate_commands(
    root: Path, interpreter: Path, test_command: str | None
) -> tuple[tuple[Command, str], ...]:
    """Return the possible test commands and where they come from, each once and likeliest first."""
    if test_command is not None:
        try:
            return ((parse_command(test_command, interpreter, root=root), "as given"),)
        except ValueError as error:
            raise UserError(
                f"The test command {test_command!r} cannot be understood: {error}. "
                "Give one such as 'python -m pytest'."
            ) from error
    file, _ = pytest_options(root)
    preferred: list[tuple[Command, str]] = []
    others: list[tuple[Command, str]] = []
    adapted: list[tuple[Command, str]] = []
    for hint, command in _parsed_hints(root, interpreter):
        if hint.source in OWN_TABLES:
            return ((command, f"from {hint.source}"),)
        if command.is_recorded:
            is_preferred = not file and not (hint.is_weak and command.is_pytest)
            (preferred if is_preferred else others).append((command, f"from {hint.source}"))
        elif command.is_selective or hint.is_known:
            adapted.append((command, f"from {hint.source}"))
    is_python = file or any((root / name).exists() for name in PYTHON_FILES)
    if adapted and not is_python:
        return tuple(adapted[:1])
    found = [*preferred, _default_command(root, interpreter, file), *others]
    unique: dict[tuple[str, ...], tuple[Command, str]] = {}
    for command, where in found:
        unique.setdefault(command.argv, (command, where))
    return tuple(unique.values())[:MOST_CANDIDATES]


def _default_command(root: Path, interpreter: Path, file: str) -> tuple[Command, str]:
    """Return how pytest runs the tests where nothing says otherwise, and why; `file` configures it."""
    nested = _only_nested_project(root)
    options, where = "", "the default"
    if file:
        where = f"{where}, configured in {file}"
    elif nested is not None and (name := pytest_options(nested)[0]):
        place = nested.relative_to(root).as_posix()
        options = f" -c {shlex.quote(f'{place}/{name}')} --rootdir=. {shlex.quote(place)}"
        where = f"{where}, configured in {place}/{name}"
    elif _has_single_modules_alone(root):
        options, where = " -o python_files=test*.py", f"{where} with the file names of unittest"
    return parse_command(f"{DEFAULT_COMMAND}{options}", interpreter), where


def _only_nested_project(root: Path) -> Path | None:
    """Return the only Python project below a directory that is none itself; None if there are several."""
    projects = nested_projects(root)
    is_project = any((root / name).exists() for name in PYTHON_FILES) or bool(pytest_options(root)[0])
    return projects[0] if len(projects) == 1 and not is_project else None


def _has_single_modules_alone(root: Path) -> bool:
    """Tell whether all test files are called `test.py` or `tests.py`, which pytest collects by request."""
    files = [path for path in source_files(root, (".py",)) if is_test_file(path)]
    return bool(files) and all(path.rpartition("/")[2] in ("test.py", "tests.py") for path in files)


def _describe_ignored_configurations(root: Path) -> str:
    """Return a sentence on projects below a directory whose configuration of pytest a run there ignores."""
    configured = [
        path.relative_to(root).as_posix() for path in nested_projects(root) if pytest_options(path)[0]
    ]
    if len(configured) < 2 or pytest_options(root)[0]:
        return ""
    example = f"python -m pytest -c {configured[0]}/{pytest_options(root / configured[0])[0]} --rootdir=. "
    return (
        f"{', '.join(configured)} configure pytest themselves, which a run of all of them ignores: to test "
        f"one, give --test '{example}{configured[0]}'."
    )


def _parsed_hints(root: Path, interpreter: Path) -> Iterator[tuple[Hint, Command]]:
    """Yield the hints of a project whose commands can be parsed.

    Raises:
        UserError: the command in coder's own settings cannot be.
    """
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


def _probe_pytest(project: Project, root: Path, sandbox: Sandbox) -> Project:
    """Ask the interpreter whether it has pytest and the plugins that the configuration needs."""
    if not project.command.is_pytest:
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
        probe = json.loads(execution.output.splitlines()[-1])
    except (SandboxError, ValueError, IndexError) as error:
        text = (
            f"{project.interpreter} could not be asked for its pytest ({error}). "
            "Check that it runs, or activate the project's environment."
        )
        return project.model_copy(update={"problem": RunProblem(kind="no_runner", text=text)})
    missing = [
        DISTRIBUTION_OF_MODULE.get(name, name.replace("_", "-")) for name in probe["missing_modules"]
    ] + probe["missing_distributions"]
    return project.model_copy(
        update={
            "problem": _dependency_problem(
                project.interpreter, probe["pytest"], list(dict.fromkeys(missing)), root
            ),
            "has_cache": "no:cacheprovider" not in str(options.get("addopts", "")),
            "options": ("--no-cov",) if probe["has_cov"] else (),
            "why": (*project.why, f"Python {probe['python']}, pytest {probe['pytest'] or 'missing'}."),
        }
    )


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
