"""All adapters, and the recognition of test commands by them."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from coder.core.paths import is_test_path
from coder.verify.runners.adapter import Adapter
from coder.verify.runners.go import GoTest
from coder.verify.runners.javascript import (
    Jest,
    Mocha,
    NodeTest,
    Vitest,
    find_parts,
    find_test_scripts,
    is_build,
    is_check,
    read_manifest,
    read_scripts,
    split_launchers,
    split_wrapper,
)
from coder.verify.runners.rows import REPORT_RUNNERS
from coder.verify.runners.rust import CargoTest
from coder.verify.runners.workspaces import RecognizedCommand, Workspaces

ADAPTERS: tuple[Adapter, ...] = (
    *(Vitest(), Jest(), Mocha(), NodeTest()),
    *(GoTest(), CargoTest(), *REPORT_RUNNERS),
)
CHANGES_SHELL = frozenset({".", "cd", "eval", "exec", "export", "pushd", "set", "source"})
"""Commands of a shell that others after them depend on."""
NO_TEST = "no test specified"
"""In the test script of a new package."""


def find_adapter(name: str) -> Adapter | None:
    return next((adapter for adapter in (WORKSPACES, *ADAPTERS) if adapter.name == name), None)


def find_commands(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the test commands of a project and what they were found by.

    Test scripts of the package come first, then those of its workspaces; one without an adapter is last.
    """
    scripts = read_scripts(root)
    calls = ("npm test" if name == "test" else f"npm run {name}" for name in find_test_scripts(scripts))
    recognized = [(call, found) for call in calls if (found := recognize_command(call, root))]
    unbuilt = {found.argv for _, found in recognized if not found.builds}
    for call, found in recognized:
        if not found.builds or found.argv not in unbuilt:  # else a script runs the same tests without a build
            others = "".join(
                f"; `{text}` in the same script is not run (setting: test)" for text in found.omitted
            )
            source = f"the project's use of {found.adapter}{others}"
            assignments = (f"{name}={value}" for name, value in found.environment.items())
            yield call if found.builds else shlex.join((*assignments, *found.argv)), source
    has_workspaces = bool(read_manifest(root))
    for adapter in (WORKSPACES, *ADAPTERS) if has_workspaces else (*ADAPTERS, WORKSPACES):
        for command in adapter.find_commands(root):
            yield command, f"the project's use of {adapter.name}"
    if "test" in scripts and NO_TEST not in scripts["test"]:
        yield "npm test", "the test script in package.json"


def recognize_command(text: str, root: Path) -> RecognizedCommand | None:
    """Return the one test runner that a command of a shell starts, also through a script of its package.

    Linters beside it are left out, and so are other programs in scripts, and runs of parts of the suite
    beside a run of all of it; builds before it are not. Of several runs of a whole suite it is the first.
    """
    found = []
    builds: list[str] = []
    for part in find_parts(text, read_scripts(root)):
        environment, argv = split_launchers(part.words)
        if argv and argv[0] in CHANGES_SHELL:
            return None
        if WORKSPACES.recognizes(part.words):
            found.append(RecognizedCommand(adapter=WORKSPACES.name, argv=part.words))
        elif adapter := next((known for known in ADAPTERS if known.recognizes(split_wrapper(argv)[1])), None):
            found.append(
                RecognizedCommand(
                    adapter=adapter.name, environment=environment, argv=argv, builds=tuple(builds)
                )
            )
        elif is_build(part):
            builds.append(part.text)
        elif not part.script and not is_check(part):
            return None
    if len(found) == 1:
        return found[0]
    runs = {run.argv: run for run in found if not any(map(_names_tests, split_wrapper(run.argv)[1][1:]))}
    if not runs or len({run.adapter for run in found}) > 1:
        return None
    first, *others = runs.values()
    return first.model_copy(update={"omitted": tuple(shlex.join(run.argv) for run in others)})


def _names_tests(word: str) -> bool:
    return not word.startswith("-") and ("/" in word or is_test_path(word))


WORKSPACES = Workspaces(recognize_command, find_adapter)
