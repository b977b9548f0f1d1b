"""Starts pytest in the project's interpreter on a tree, with plugins of ours in it."""

import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from coder.core.paths import is_test_path
from coder.core.value import Value
from coder.verify.project import Project
from coder.verify.roots import source_roots

TARGET = Path(__file__).parent / "target"
VARIABLES = {
    "coder_pytest_report": "CODER_PYTEST_REQUEST",
    "coder_trace": "CODER_TRACE_REQUEST",
    "coder_warm": "CODER_WARM_REQUEST",
}
"""Where each plugin looks for the file that says what it is to do."""
NOT_OURS = frozenset({"site-packages", "node_modules", "venv", "env", "build", "dist"})


class Launch(Value):
    """How to start it."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]


def launch(
    project: Project,
    tree: Path,
    place: Path,
    *,
    paths: Sequence[str],
    requests: Mapping[str, Mapping[str, Any]],
    options: Sequence[str] = (),
) -> Launch:
    """Prepare a run of the tests at `paths`; `requests` says what each plugin is to do, which is written into `place`."""
    command = project.command
    argv = command.argv if command.is_pytest else (str(project.interpreter), "-m", "pytest")
    own = command.environment.get("PYTEST_ADDOPTS", "")
    place_of_more = project.overlay.place if project.overlay else None
    variables = {}
    for plugin, request in requests.items():
        (place / plugin).write_text(json.dumps({**request, "tree": str(tree), "addopts": own}), encoding="utf-8")
        variables[VARIABLES[plugin]] = str(place / plugin)
    # The cache goes elsewhere rather than away: projects may use its options and its fixture.
    cache = ["-o", f"cache_dir={place / 'cache'}"] if project.has_cache else []
    plugins = [word for plugin in requests for word in ("-p", plugin)]
    ours = shlex.join([*plugins, f"--rootdir={tree}", *cache, *project.options, *options])
    return Launch(
        argv=(*argv, *paths),
        environment={
            **project.environment,
            **command.environment,
            **variables,
            "PYTHONPATH": os.pathsep.join(
                [
                    *(str(root) for root in source_roots(tree)),
                    *filter(None, [command.environment.get("PYTHONPATH")]),
                    *([str(place_of_more)] if place_of_more else []),
                    str(TARGET),
                ]
            ),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
            "PYTEST_ADDOPTS": f"{own} {ours}".strip(),
        },
    )


def sources(tree: Path) -> Iterator[str]:
    """The Python files of the project that are no tests, relative to the tree and sorted."""
    for folder, folders, files in os.walk(tree):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in NOT_OURS)
        for name in sorted(files):
            path = Path(folder, name).relative_to(tree).as_posix()
            if name.endswith(".py") and not is_test_path(path):
                yield path


def directories(tests: Sequence[str], tree: Path) -> tuple[str, ...]:
    """The directories that hold the tests, each once, without those that lie inside of another."""
    found = {Path(test.split("::")[0]).parent for test in tests if (tree / test.split("::")[0]).is_file()}
    return tuple(sorted(path.as_posix() for path in found if not any(other != path and path.is_relative_to(other) for other in found)))
