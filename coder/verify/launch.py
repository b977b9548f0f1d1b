"""Command lines and environments of test runs with our recorders or pytest plugins loaded."""

import argparse
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from coder.core.paths import is_test_file, test_file_of
from coder.core.values import Value
from coder.verify.layout import (
    PackageRun,
    find_packages,
    is_below,
    package_of,
    pytest_options,
    shadows_library,
    source_roots,
)
from coder.verify.project import Command, Project
from coder.verify.runners.adapter import Invocation

TARGET = Path(__file__).parent / "target"
REPORT = "coder_pytest_report"
VARIABLES = {
    REPORT: "CODER_PYTEST_REQUEST",
    "coder_trace": "CODER_TRACE_REQUEST",
    "coder_trials": "CODER_TRIALS_REQUEST",
}
"""Environment variable in which each plugin finds the path of its request file."""
DEFAULT_HASH_SEED = "0"
"""Used if the project's environment sets none."""
EXCLUDED_DIRECTORIES = frozenset({"site-packages", "node_modules", "venv", "env", "build", "dist"})


PLAIN_START = """\
import os, runpy, sys, threading, time
seconds, shadowing, folder, module, *sys.argv[1:] = sys.argv[1:]
shadowing = shadowing.split(os.pathsep) if shadowing else []
sys.path[:1] = [] if folder in shadowing else [folder]
index = next((index for index, entry in enumerate(sys.path) if entry.endswith("-packages")), len(sys.path))
sys.path[index:index] = shadowing
def end(code):
    time.sleep(float(seconds))
    os._exit(code)
try:
    if module.endswith(".py") or os.path.isabs(module):
        sys.argv[0] = module
        runpy.run_path(module, run_name="__main__")
    else:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
except SystemExit as ending:
    code = ending.code if ending.code is None or isinstance(ending.code, int) else 1
    threading.Thread(target=end, args=(code or 0,), daemon=True).start()
    raise
except BaseException:
    os._exit(125)
"""
"""Program that starts a runner as `python -m` or a script does, and ends it although a thread is left.

It ends with CRASHED where the runner itself raises an exception, which no test can make it do.
"""
CRASHED = 125
VALUE_OPTIONS = ("-k", "-m", "-p", "-c", "-n", "-o", "-W")
"""Short options of pytest that are followed by a value."""
LINGER_SECONDS = 5
"""The time that threads and children of tests have after the runner's own end."""


def prepare_launch(
    project: Project,
    tree: Path,
    place: Path,
    *,
    paths: Sequence[str],
    requests: Mapping[str, Mapping[str, Any]],
    options: Sequence[str] = (),
    folder: str | None = None,
    plugin_path: Sequence[Path] = (),
) -> Invocation:
    """Prepare a run of the tests at `paths`, writing the request of each plugin into `place`.

    It starts in `folder` of the tree; None is the package that holds all of the paths, if one does. Plugins
    are imported from `plugin_path`.
    """
    command = project.command
    if folder is None:
        packages = find_packages(tree) if paths and command.runs_anywhere(tree) else ()
        holding = {package_of(packages, path) for path in paths}
        folder = holding.pop() if len(holding) == 1 else "."
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
    return Invocation(
        argv=_start_in(folder, (*argv, *_collected_paths(paths, folder))),
        environment={
            "PYTHONHASHSEED": DEFAULT_HASH_SEED,
            **project.environment,
            **command.environment,
            **variables,
            **({"PYTHONSAFEPATH": "1"} if shadowing_roots(project, tree, folder) else {}),
            "PYTHONPATH": os.pathsep.join([*search_path(project, tree, folder), *map(str, plugin_path)]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_ADDOPTS": f"{user_options} {our_options}".strip(),
        },
    )


def search_path(project: Project, tree: Path, folder: str = ".") -> list[str]:
    """Return the directories to import from before the standard library.

    Those of `folder` come first, then others of the tree, those of the command, and packages that coder
    installed. Directories that hold modules called like some of the standard library are left out.
    """
    command_paths = filter(None, project.command.environment.get("PYTHONPATH", "").split(os.pathsep))
    return [
        *(str(root) for root in _roots(project, tree, folder) if not shadows_library(root)),
        *command_paths,
        *([str(project.overlay.directory)] if project.overlay and project.overlay.directory else []),
    ]


def shadowing_roots(project: Project, tree: Path, folder: str = ".") -> list[str]:
    """Return the directories to import from after the standard library: they hold modules called like it.

    A runner puts directories of tests onto the path only once it has loaded what it needs itself.
    """
    roots = dict.fromkeys((*_roots(project, tree, folder), tree / folder))
    return [str(root) for root in roots if shadows_library(root)]


def _roots(project: Project, tree: Path, folder: str) -> tuple[Path, ...]:
    own = source_roots(tree / folder) if folder != "." else ()
    return tuple(dict.fromkeys((*own, *project.import_roots(tree))))


def _start_in(folder: str, argv: Sequence[str]) -> tuple[str, ...]:
    """Return a command that starts another one in a directory below its own."""
    return (*argv,) if folder == "." else ("sh", "-c", 'cd "$0" && exec "$@"', folder, *argv)


def _collected_paths(paths: Sequence[str], folder: str) -> list[str]:
    """Return paths relative to `folder` as pytest takes them.

    It reads a bracket in one as parameters of a test, so all of the directory above is collected.
    """
    relative = (os.path.relpath(path, folder) for path in paths)
    shown = (str(Path(path[: path.index("[") + 1]).parent) if "[" in path else path for path in relative)
    return list(dict.fromkeys(shown))


def prepare_cold_launch(
    project: Project,
    tree: Path,
    place: Path,
    *,
    run: PackageRun,
    paths: Sequence[str],
    request: Mapping[str, Any],
) -> Invocation:
    """Prepare a run for evidence of the tests at `paths` of a package, all that `run` means if empty.

    The runner starts inside of coder_start, which loads the recorder before the tree can be imported.
    """
    arguments, start = _start_request(project, tree, run, paths)
    prefix = start["prefix"]
    if prefix:  # the recorder compares ids as pytest knows them, relative to its root
        weights = request.get("weights", {})
        start["select"] = [test.removeprefix(prefix) for test in request["select"]]
        start["weights"] = {file.removeprefix(prefix): seconds for file, seconds in weights.items()}
    launched = prepare_launch(
        project,
        tree,
        place,
        paths=(),
        requests={REPORT: {**request, **start}},
        options=[f"--rootdir={tree / prefix}"] if prefix else (),
        folder=run.root,
    )
    argv = (str(project.interpreter), str(TARGET / "coder_start.py"), *arguments)
    environment = {**launched.environment, "PYTHONPATH": "", "PYTHONSAFEPATH": ""}
    if not project.command.is_pytest:
        del environment["PYTEST_ADDOPTS"]
    return launched.model_copy(update={"argv": _start_in(run.root, argv), "environment": environment})


def prepare_plain_launch(project: Project, tree: Path, place: Path, *, run: PackageRun) -> Invocation:
    """Prepare a run of some tests by the project's runner in which nothing of ours is loaded, nor can be."""
    launched = prepare_launch(project, tree, place, paths=(), requests={}, folder=run.root)
    paths = search_path(project, tree, run.root)
    tests = [os.path.relpath(test, run.root) if run.root != "." else test for test in run.tests]
    command = project.command
    is_module = command.argv[1:2] == ("-m",)
    options = _without_paths(command.argv[3 if is_module else 2 :], tree / run.root)
    arguments: tuple[str, ...] = (*options, *tests)
    if not command.is_pytest:
        files = tuple(dict.fromkeys(map(test_file_of, tests)))
        labelled = prepare_labelled_run(command, files, tree / run.root)
        options = [*labelled.arguments[: len(labelled.arguments) - len(labelled.labels)]]
        labels = {path: label for label, path in labelled.labels.items()}
        known = (test for test in tests if test_file_of(test) in labels)
        names = (f"{labels[test_file_of(test)]}.{_dotted_name(test)}" for test in known)
        arguments = (*options, *names)
        paths += [str(tree / run.root / labelled.root)] if labelled.root else []
    start = command.argv[2] if is_module else command.argv[1]
    folder = tree / run.root if is_module else (tree / run.root / start).parent
    shadowing = os.pathsep.join(shadowing_roots(project, tree, run.root))
    program = ("-c", PLAIN_START, str(LINGER_SECONDS), shadowing, os.path.normpath(folder), start)
    return launched.model_copy(
        update={
            "argv": _start_in(run.root, (str(project.interpreter), *program, *arguments)),
            "environment": {**launched.environment, "PYTHONPATH": os.pathsep.join(paths)},
        }
    )


def _without_paths(arguments: Sequence[str], root: Path) -> list[str]:
    """Return a command's arguments without the test paths, which would run more than the selected tests."""
    return [
        argument
        for before, argument in pairwise(("", *arguments))
        if argument.startswith("-")
        or (before.startswith("--") and "=" not in before)
        or before in VALUE_OPTIONS
        or not (root / argument.partition("::")[0]).exists()
    ]


def _dotted_name(test: str) -> str:
    """Return class and method of a test, without what tells its subtests apart."""
    return re.sub(r"[\[(].*", "", test.partition("::")[2], flags=re.DOTALL).replace("::", ".").strip()


def _start_request(
    project: Project, tree: Path, run: PackageRun, paths: Sequence[str]
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the arguments of the runner, and what coder_start needs to know to start it."""
    command = project.command
    runs_module = command.argv[1:2] == ("-m",)
    request: dict[str, Any] = {
        "runner": command.runner,
        "script": "" if runs_module else command.argv[1],
        "path": search_path(project, tree, run.root),
        "shadowing": shadowing_roots(project, tree, run.root),
        "linger": LINGER_SECONDS,
        "own_runner": any(
            (root / name).exists()
            for root in source_roots(tree)
            for name in ("_pytest", "pluggy", "iniconfig")
        ),
        "prefix": "",
    }
    if command.is_pytest:
        has_own_root = run.root != "." and (pytest_options(tree / run.root)[0] or not pytest_options(tree)[0])
        request["prefix"] = run.prefix if has_own_root else ""
        ignored = [f"--ignore={tree / path}" for path in run.ignored]
        words = command.argv[3 if runs_module else 2 :]
        own = _without_paths(words, tree / run.root) if paths else words
        return (*own, *ignored, *_collected_paths(paths, run.root)), request
    if run.root != "." or run.ignored:
        files = test_files_at(paths or (run.root,), tree)
        apart = [path for path in files if not any(is_below(path, other) for other in run.ignored)]
        names = [path.removeprefix(run.prefix) for path in apart]
        labelled = prepare_labelled_run(command, names, tree / run.root)
        labels = {label: f"{run.prefix}{path}" for label, path in labelled.labels.items()}
    else:
        labelled = prepare_labelled_run(command, test_files_at(paths, tree), tree)
        labels = dict(labelled.labels)
    label_root = str(tree / run.root / labelled.root) if labelled.root else ""
    return labelled.arguments, {**request, "labels": labels, "label_root": label_root}


def files_below(tree: Path, start: str = ".") -> Iterator[str]:
    """Yield the project's files in a directory of a tree, relative to the tree and sorted."""
    for folder, folders, names in os.walk(tree / start):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in EXCLUDED_DIRECTORIES
        )
        yield from (Path(folder, name).relative_to(tree).as_posix() for name in sorted(names))


def test_files_at(paths: Sequence[str], tree: Path) -> tuple[str, ...]:
    """Return the existing files at `paths`, and the test files of the directories there, each once."""
    files: dict[str, None] = {}
    for path in paths:
        inside = [path] if (tree / path).is_file() else filter(is_test_file, files_below(tree, path))
        files |= dict.fromkeys(inside)
    return tuple(files)


DISCOVERY = {"-s": "start-directory", "-t": "top-level-directory", "-p": "pattern"}
"""Options of unittest's discovery, and of Django's: they do not apply to labels."""
WITH_VALUES = {
    "unittest": ("-k", "--durations"),
    "django": (
        *("-k", "-v", "--durations", "--exclude-tag", "--pythonpath", "--settings", "--tag", "--testrunner"),
        *("--database", "--shuffle", "--start-after", "--start-at", "--verbosity"),
    ),
}
"""Other options that are followed by a value, by runner."""
FLAGS = {"unittest": ("-b", "-c", "-f", "-q", "-v"), "django": ()}
"""Options without a value, which can be written as one word."""
GEOGRAPHIC = "gis_tests"
"""Tests of Django itself that end the whole run with an error if no geographic database is set up."""


class LabelledRun(Value):
    """Arguments of a label-based runner that runs the files of some tests."""

    arguments: tuple[str, ...]
    """Everything after the script or module."""
    labels: Mapping[str, str]
    """Path of the test file, by label; empty for the whole suite."""
    root: str = ""
    """Directory, relative to the tree, that must be importable for the labels."""


def prepare_labelled_run(command: Command, files: Sequence[str], tree: Path) -> LabelledRun:
    """Return how to run test files, relative to `tree`; all if there are none.

    Files that the runner cannot import by name are left out. Single tests are selected by the recorder.
    """
    own = command.argv[3:] if command.runner == "unittest" else command.argv[2:]
    if not files:
        return LabelledRun(arguments=own, labels={})
    subcommand = own[:1] if own[:1] in (("test",), ("discover",)) else ()
    options, named, discovery = _parse_arguments(own[len(subcommand) :], command.runner)
    if command.runner == "unittest":
        is_discovery = bool(subcommand) or not named
        root = _discovery_root(named, discovery, tree) if is_discovery else ""
        subcommand = ()
    else:
        root = PurePosixPath(os.path.normpath(command.argv[1])).parent.as_posix()
    labels = {}
    for path in files:
        label = label_of(path, root)
        if label and not (command.runner == "django" and label.startswith(f"{GEOGRAPHIC}.")):
            labels[label] = path
    return LabelledRun(arguments=(*subcommand, *options, *labels), labels=labels, root=root)


class _Keep(argparse.Action):
    """Collect options as they apply to labels, each with its value."""

    def __call__(self, _parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        namespace.kept = (*namespace.kept, option_string, *values)


def _parse_arguments(words: Sequence[str], runner: str) -> tuple[list[str], list[str], dict[str, str]]:
    """Return the options of a label-based runner with their values, its labels, and those of discovery."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    for short, long in DISCOVERY.items():
        parser.add_argument(short, f"--{long}", dest=long, default="")
    for option in WITH_VALUES[runner]:
        parser.add_argument(option, dest="kept", action=_Keep, nargs=1, default=())
    for option in FLAGS[runner]:
        parser.add_argument(option, dest="kept", action=_Keep, nargs=0, default=())
    known, rest = parser.parse_known_args(words)
    options = [*known.kept, *(word for word in rest if word.startswith("-"))]
    return options, [word for word in rest if not word.startswith("-")], vars(known)


def label_of(path: str, root: str) -> str:
    """Return the dotted name of a file that is imported from `root`, both relative to the tree.

    A file elsewhere is named from the top of the tree; empty if it cannot be named.
    """
    pure = PurePosixPath(path)
    inside = pure.relative_to(root) if root and pure.is_relative_to(root) else pure
    parts = inside.with_suffix("").parts
    return ".".join(parts) if pure.suffix == ".py" and all(map(str.isidentifier, parts)) else ""


def _discovery_root(named: Sequence[str], discovery: Mapping[str, str], tree: Path) -> str:
    """Return the directory from which unittest's discovery imports: the top level, else the start."""
    start = discovery["start-directory"] or (*named, ".")[0]
    top = discovery["top-level-directory"] or (*named[2:3], "")[0]
    root = os.path.normpath(top or start)
    return root if root != "." and (tree / root).is_dir() else ""
