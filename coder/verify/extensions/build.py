"""Builds of extension modules in a tree, in the sandbox and with the tools that the project has."""

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from coder.core.errors import SandboxError
from coder.core.ports import Execution, Limits, Sandbox
from coder.core.values import Value
from coder.files.regular_files import read_regular
from coder.verify.extensions.projects import ExtensionProject, find_modules
from coder.verify.project.project import Project
from coder.verify.project.roots import EXTENSION_SUFFIXES
from coder.verify.runners.execution import output_tail
from coder.verify.running.workdirs import numbered_directory

LARGEST_BYTES = 1 << 30
"""The limit for one source file or extension module."""
IN_DIRECTORY = ("/bin/sh", "-c", 'cd "$0" && exec "$@"')
"""Commands may write below their working directory, which is the whole tree."""
BUILD_WHEEL = "import sys, importlib; importlib.import_module(sys.argv[1]).build_wheel(sys.argv[2])"
"""The hook of https://peps.python.org/pep-0517/#build-wheel."""
SETUP = "import setuptools; setuptools.setup()"
ERROR_LINE = re.compile(r"^.*\berror(?:\[\w+\])?: .*$", re.MULTILINE | re.IGNORECASE)
MISSING_LIBRARY = re.compile(r"fatal error: (?P<header>\S+): No such file|cannot find -l(?P<library>\S+)")


class Build(Value):
    """One build of a tree's extension modules."""

    modules: Mapping[str, bytes] = {}
    """Content of the built modules by path relative to the tree; empty if the build failed."""
    error: str = ""
    """The compiler's first error, or else why there are no modules; empty if there are."""
    output: str = ""
    """End of the output of a failed build."""
    lacks_library: bool = False
    """True if the error is a header or library that is installed nowhere."""


class ExtensionBuilder:
    """Builder of the extension modules of one project's trees."""

    def __init__(self, project: Project, *, sandbox: Sandbox, scratch: Path, limits: Limits) -> None:
        """Prepare to build; `scratch` is a directory outside of any tree that commands may write."""
        self._project = project
        self._sandbox = sandbox
        self._scratch = scratch
        self._limits = limits

    @property
    def is_recorded(self) -> bool:
        """True if the tests run in a Python interpreter that imports the modules of the tree."""
        return self._project.command.is_recorded

    def build(self, tree: Path, projects: Sequence[ExtensionProject]) -> Build:
        """Build in `tree` and return its extension modules; other files that this writes there are left."""
        tree = tree.resolve()
        modules: dict[str, bytes] = {}
        for project in projects:
            with numbered_directory(self._scratch, "build-") as place:
                before = {path: (tree / path).lstat().st_mtime_ns for path in find_modules(tree)}
                try:
                    execution = self._run(project, tree, place)
                except SandboxError as error:
                    return Build(error=" ".join(str(error).split()))
                if execution.exit_code != 0:
                    return _failed_build(execution, tree, self._limits.wall_seconds)
                built = {
                    path: content
                    for path in find_modules(tree)
                    if (tree / path).lstat().st_mtime_ns != before.get(path)
                    and (content := read_regular(tree / path, within=tree, limit_bytes=LARGEST_BYTES))
                }
                built |= _read_wheels(place, tree, self._project.import_roots(tree))
            if not built:
                return Build(
                    error="the build makes no extension module", output=output_tail(execution.output)
                )
            modules |= built
        return Build(modules=modules)

    def _run(self, project: ExtensionProject, tree: Path, place: Path) -> Execution:
        python = str(self._project.interpreter)
        if project.backend:
            command: tuple[str, ...] = (python, "-c", BUILD_WHEEL, project.backend, str(place))
        else:
            has_script = (tree / project.directory / "setup.py").is_file()
            setup = ("setup.py",) if has_script else ("-c", SETUP)
            command = (python, *setup, "build_ext", "--inplace", "--force", f"--build-temp={place / 'temp'}")
        return self._sandbox.run(
            (*IN_DIRECTORY, project.directory, *command),
            cwd=tree,
            environment=self._project.environment,
            limits=self._limits,
            private=place,
        )


def _failed_build(execution: Execution, tree: Path, seconds: float) -> Build:
    output = execution.output.replace(f"{tree}/", "")
    if execution.timed_out:
        return Build(error=f"the build did not end within {seconds:g} s", output=output_tail(output))
    line = ERROR_LINE.search(output)
    missing = MISSING_LIBRARY.search(output)
    return Build(
        error=(line[0] if line else output_tail(output).splitlines()[-1]).strip(" .?"),
        output=output_tail(output),
        lacks_library=missing is not None
        and not (missing["header"] and any(tree.rglob(PurePosixPath(missing["header"]).name))),
    )


def _read_wheels(place: Path, tree: Path, roots: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    """Yield the extension modules of built wheels, each with its path in the tree beside its package.

    Packages lie in `roots`.
    """
    for wheel in place.glob("*.whl"):
        with suppress(zipfile.BadZipFile), zipfile.ZipFile(wheel) as archive:
            for entry in archive.infolist():
                parts = PurePosixPath(entry.filename).parts
                is_module = entry.filename.endswith(EXTENSION_SUFFIXES) and entry.file_size <= LARGEST_BYTES
                if not is_module or {"/", ".."} & {*parts}:
                    continue
                if root := next(
                    (root for root in roots if not parts[1:] or (root / parts[0]).is_dir()), None
                ):
                    yield (root / entry.filename).relative_to(tree).as_posix(), archive.read(entry)
