"""Command lines and environments of test runs with our recorders or pytest plugins loaded."""

import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from coder.core.paths import is_test_file, is_test_path
from coder.core.values import Value
from coder.verify.project.project import Project
from coder.verify.project.roots import source_roots
from coder.verify.running.labels import prepare_labelled_run

TARGET = Path(__file__).parents[1] / "target"
PLUGIN_PATH = tuple(str(TARGET / part) for part in (".", "server", "tracing", "trials"))
"""Import path of our modules in the project's interpreter; a cold run needs the first directory alone."""
VARIABLES = {
    "coder_pytest_report": "CODER_PYTEST_REQUEST",
    "coder_trace": "CODER_TRACE_REQUEST",
    "coder_warm": "CODER_WARM_REQUEST",
}
"""Environment variable in which each plugin finds the path of its request file."""
REPORT = "coder_pytest_report"
DEFAULT_HASH_SEED = "0"
"""Used if the project's environment sets none."""
EXCLUDED_DIRECTORIES = frozenset({"site-packages", "node_modules", "venv", "env", "build", "dist"})


class Launch(Value):
    """Command line and environment of a test run."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]


def prepare_launch(
    project: Project,
    tree: Path,
    place: Path,
    *,
    paths: Sequence[str],
    requests: Mapping[str, Mapping[str, Any]],
    options: Sequence[str] = (),
) -> Launch:
    """Prepare a run of the tests at `paths`, writing the request of each plugin into `place`."""
    command = project.command
    argv = command.argv if command.is_pytest else (str(project.interpreter), "-m", "pytest")
    user_options = command.environment.get("PYTEST_ADDOPTS", "")
    variables = {}
    for plugin, request in requests.items():
        (place / plugin).write_text(
            json.dumps({**request, "tree": str(tree), "addopts": user_options}), encoding="utf-8"
        )
        variables[VARIABLES[plugin]] = str(place / plugin)
    # The cache is relocated rather than disabled: projects may use its options and its fixture.
    cache = ["-o", f"cache_dir={place / 'cache'}"] if project.has_cache else []
    plugins = [word for plugin in requests for word in ("-p", plugin)]
    our_options = shlex.join([*plugins, f"--rootdir={tree}", *cache, *project.options, *options])
    return Launch(
        argv=(*argv, *paths),
        environment={
            "PYTHONHASHSEED": DEFAULT_HASH_SEED,
            **project.environment,
            **command.environment,
            **variables,
            "PYTHONPATH": os.pathsep.join([*search_path(project, tree), *PLUGIN_PATH]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_ADDOPTS": f"{user_options} {our_options}".strip(),
        },
    )


def search_path(project: Project, tree: Path) -> list[str]:
    """Return the directories to import from before the standard library.

    Those of the tree come first, then those of the command, then packages that coder installed.
    """
    command_paths = filter(None, project.command.environment.get("PYTHONPATH", "").split(os.pathsep))
    return [
        *map(str, project.import_roots(tree)),
        *command_paths,
        *([str(project.overlay.directory)] if project.overlay and project.overlay.directory else []),
    ]


def prepare_cold_launch(
    project: Project, tree: Path, place: Path, *, paths: Sequence[str], request: Mapping[str, Any]
) -> Launch:
    """Prepare a run for evidence of the tests at `paths`, all if empty.

    The runner starts inside of coder_start, which loads the recorder before the tree can be imported.
    """
    arguments, start = _start_request(project, tree, paths)
    launched = prepare_launch(project, tree, place, paths=(), requests={REPORT: {**request, **start}})
    argv = (str(project.interpreter), str(TARGET / "coder_start.py"), *arguments)
    environment = {**launched.environment, "PYTHONPATH": ""}
    if not project.command.is_pytest:
        del environment["PYTEST_ADDOPTS"]
    return launched.model_copy(update={"argv": argv, "environment": environment})


def _start_request(
    project: Project, tree: Path, paths: Sequence[str]
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the arguments of the runner, and what coder_start needs to know to start it."""
    command = project.command
    runs_module = command.argv[1:2] == ("-m",)
    request: dict[str, Any] = {
        "runner": command.runner,
        "script": "" if runs_module else command.argv[1],
        "path": search_path(project, tree),
        "own_runner": any(
            (root / name).exists()
            for root in source_roots(tree)
            for name in ("_pytest", "pluggy", "iniconfig")
        ),
    }
    if command.is_pytest:
        return (*command.argv[3 if runs_module else 2 :], *paths), request
    run = prepare_labelled_run(command, test_files_at(paths, tree), tree)
    label_root = str(tree / run.root) if run.root else ""
    return run.arguments, {**request, "labels": run.labels, "label_root": label_root}


def source_files(tree: Path) -> Iterator[str]:
    """Yield the Python files of the project that are not tests, relative to the tree and sorted."""
    for folder, folders, files in os.walk(tree):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in EXCLUDED_DIRECTORIES
        )
        for name in sorted(files):
            path = Path(folder, name).relative_to(tree).as_posix()
            if name.endswith(".py") and not is_test_path(path):
                yield path


def test_files_at(paths: Sequence[str], tree: Path) -> tuple[str, ...]:
    """Return the existing files at `paths`, and the test files of the directories there, each once."""
    files: dict[str, None] = {}
    for path in paths:
        if (tree / path).is_file():
            files[path] = None
        for folder, folders, names in os.walk(tree / path):
            folders[:] = sorted(
                name for name in folders if not name.startswith(".") and name not in EXCLUDED_DIRECTORIES
            )
            inside = (Path(folder, name).relative_to(tree).as_posix() for name in sorted(names))
            files |= dict.fromkeys(filter(is_test_file, inside))
    return tuple(files)


def directories_of_tests(tests: Sequence[str], tree: Path) -> tuple[str, ...]:
    """Return the directories of test files, each once, without those inside of another one."""
    parents = {Path(test.split("::")[0]).parent for test in tests if (tree / test.split("::")[0]).is_file()}
    return tuple(
        sorted(
            path.as_posix()
            for path in parents
            if not any(other != path and path.is_relative_to(other) for other in parents)
        )
    )
