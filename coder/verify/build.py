"""Builds of both sides of a change by the setting `build`."""

import os
import re
import shlex
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from coder.core.errors import SandboxError
from coder.core.paths import is_test_path
from coder.core.ports import Execution, Limits, Progress, Sandbox
from coder.core.values import Value
from coder.core.verdict import EXIT_CODE, Failure, TestResult
from coder.files.regular_files import read_regular, read_regular_text, source_files
from coder.patching.plan import ConfinedTree
from coder.verify.change import Trees
from coder.verify.layout import EXTENSION_SUFFIXES, find_modules, read_toml, source_roots
from coder.verify.project import Project
from coder.verify.runners.javascript import COMPILED_SUFFIXES, FIND_PROGRAMS, are_compiled
from coder.verify.runners.registry import output_tail

FILE_MODE = 0o755


class Build(Value):
    files: Mapping[str, bytes] = {}
    """Content of the files that it wrote, by path relative to the tree; empty if it failed."""
    error: str = ""
    """The first error, or else why there are no files; empty if there are."""
    output: str = ""
    lacks_library: bool = False
    """True if the error is a header or library that is installed nowhere."""


class FailedBuild(NamedTuple):
    """Why a change cannot be tested: one of its sides cannot be built."""

    reason: str
    """A sentence."""
    results: tuple[TestResult, ...] = ()
    is_broken: bool = False
    """True if the base can be built, and the change lacks nothing that has to be installed."""


class Builder:
    """Builder of the trees of one project."""

    def __init__(self, project: Project, *, sandbox: Sandbox, limits: Limits, command: str = "") -> None:
        self._project = project
        self._sandbox = sandbox
        self._limits = limits
        self.command = command
        """Command that builds a tree; empty if none is set."""

    def describe_unbuilt(self, paths: Sequence[str], tree: Path) -> str:
        """Return, as a sentence, which changed source has to be compiled, and how; empty if none has."""
        sources = compiled_sources(paths)
        proposal = next(filter(None, (find_build(path, tree) for path in sources)), "")
        stale = [path for path in find_modules(tree) if not is_test_path(path)]
        if not sources or not (stale or proposal) or not self._project.command.is_recorded:
            return ""
        loaded = f": the tests would load {stale[0]} as it was built in your checkout" if stale else ""
        example = f", such as `{proposal}`" if proposal else ""
        return (
            f"The change touches {sources[0]}, and no build command is set{loaded}. "
            f"Name it: the setting `build`{example}."
        )

    def build(self, tree: Path) -> Build:
        """Build in `tree` and return what that wrote."""
        tree = tree.resolve()
        before = dict(self._stamps(tree))
        python = shlex.quote(str(self._project.interpreter))
        words = ("sh", "-c", f"{FIND_PROGRAMS}\n{PYTHON.sub(python, self.command)}")
        try:
            execution = self._sandbox.run(
                words, cwd=tree, environment=self._project.environment, limits=self._limits
            )
        except SandboxError as error:
            return Build(error=" ".join(str(error).split()))
        if execution.exit_code != 0:
            return _describe_failed_build(execution, tree, self._limits.wall_seconds)
        files = {
            path: content
            for path, stamp in self._stamps(tree)
            if before.get(path) != stamp
            and (content := read_regular(tree / path, within=tree, limit_bytes=LARGEST_BYTES)) is not None
        }
        return Build(files=files)

    @staticmethod
    def _stamps(tree: Path) -> Iterator[tuple[str, int]]:
        for folder, folders, names in os.walk(tree):
            folders[:] = [name for name in folders if name not in NOT_BUILT]
            for name in names:
                path = Path(folder, name)
                yield path.relative_to(tree).as_posix(), path.lstat().st_mtime_ns


def separate_builds(project: Project, tree: Path, command: str) -> tuple[Project, str]:
    """Return a project, and the command that builds each content once: `command`, else those of its script.

    Builds that compile the tests themselves stay with each run, since what they cannot compile is red.
    """
    builds = project.command.builds
    tests = (path for path in source_files(tree, COMPILED_SUFFIXES) if is_test_path(path))
    if command or not builds or are_compiled(project.command.argv, tests):
        return project, command
    own = project.command
    words = (*(f"{name}={value}" for name, value in own.environment.items()), *own.argv)
    runs = own.model_copy(update={"builds": (), "text": shlex.join(words)})
    return project.model_copy(update={"command": runs}), " && ".join(builds)


class BuiltTrees:
    """`Trees` with what the build command writes; each content is built once, in a checkout of its own."""

    def __init__(self, trees: Trees, builder: Builder | None = None) -> None:
        """Wrap `trees`; without a builder nothing is ever built."""
        self._trees = trees
        self.base, self.read, self.changed_paths = trees.base, trees.read, trees.changed_paths
        self._builder = builder
        self._builds: dict[tuple[str, ...], Build] = {}
        self._lock = threading.Lock()
        self._inputs: tuple[str, ...] = ()
        """Changed files that a build may read, of all changes so far."""

    @property
    def modules(self) -> tuple[str, ...]:
        """Paths of all extension modules that were built."""
        paths = dict.fromkeys(path for build in self._builds.values() for path in build.files)
        return tuple(path for path in paths if path.endswith(EXTENSION_SUFFIXES))

    @property
    def circumstances(self) -> tuple[str, ...]:
        """A sentence for the evidence, if anything was built."""
        most = max((len(build.files) for build in self._builds.values()), default=0)
        names = ", ".join(self.modules) or f"{most} files"
        return (f"Built on both sides from their own sources: {names}.",) if most else ()

    @contextmanager
    def checkout(self, tree: str, paths: Sequence[str] | None = None) -> Iterator[Path]:
        with self._trees.checkout(tree, paths) as place:
            if self._builder is not None and self._builder.command:
                _write_files(self._build(tree, paths, place), place)
            yield place

    def forget_failures(self) -> None:
        """Have what could not be built tried again: the machine has changed."""
        with self._lock:
            self._builds = {key: build for key, build in self._builds.items() if not build.error}

    def rebuild(self, place: Path, paths: Sequence[str]) -> str:
        """Build in a checkout with changed `paths`; return why that failed, or what has to be built."""
        if self._builder is None or not self._builder.command:
            return self._builder.describe_unbuilt(paths, place) if self._builder else ""
        build = self._builder.build(place)
        return f"`{self._builder.command}` fails: {build.error}.\n{build.output}" if build.error else ""

    def prepare(self, tree: str, progress: Progress | None = None) -> FailedBuild | None:
        """Build the base and `tree`; return why one of them cannot be built, or has to be and is not."""
        changed = self._trees.changed_paths(tree)
        if self._builder is None:
            return None
        if not (command := self._builder.command):
            with self._trees.read(tree) as place:
                reason = self._builder.describe_unbuilt(changed, place)
            return FailedBuild(reason) if reason else None
        if progress is not None:
            progress(f"both sides are built: {command}")
        with self._trees.checkout(self.base, ()) as old, self._trees.checkout(tree) as new:
            base = self._build(self.base, (), old)
            builds_tests = any(map(is_test_path, base.files))
            self._add_inputs(path for path in changed if builds_tests or not is_test_path(path))
            change = base if base.error else self._build(tree, None, new)
        return _failed_build(command, change, on_base=base is change) if change.error else None

    def _add_inputs(self, paths: Iterable[str]) -> None:
        """Take more files into account, under which the base keeps its build."""
        with self._trees.read(self.base, ()) as old, self._lock:
            base = self._builds.get(self._key(old))
            self._inputs = tuple(sorted({*self._inputs, *paths}))
            self._builds |= {self._key(old): base} if base else {}

    def _key(self, place: Path) -> tuple[str, ...]:
        return tuple(_digest(place, path) for path in self._inputs)

    def _build(self, tree: str, paths: Sequence[str] | None, place: Path) -> Build:
        """Return the build of a checkout's sources; the first time it takes place in another checkout."""
        assert self._builder is not None
        with self._lock:
            key = self._key(place)
            if key not in self._builds:
                with self._trees.checkout(tree, paths) as workshop:
                    self._builds[key] = self._builder.build(workshop)
            return self._builds[key]


def _write_files(build: Build, place: Path) -> None:
    for path, content in build.files.items():
        ConfinedTree(place).write(path, content, FILE_MODE)


def _digest(place: Path, path: str) -> str:
    content = read_regular(place / path, within=place, limit_bytes=LARGEST_BYTES)
    return "" if content is None else sha256(content).hexdigest()


def _failed_build(command: str, build: Build, *, on_base: bool) -> FailedBuild:
    failure = Failure(type=EXIT_CODE, message=build.error, text=build.output or build.error)
    result = TestResult(id=command, outcome="error", failure=failure)
    if on_base:
        return FailedBuild(f"`{command}` fails on the base: {build.error}.", (result,), is_broken=False)
    if build.lacks_library:
        reason = f"The change needs what is not installed: {build.error}."
        return FailedBuild(reason, (result,), is_broken=False)
    reason = f"`{command}` fails on the change, and not on the base: {build.error}."
    return FailedBuild(reason, (result,), is_broken=True)


LARGEST_BYTES = 1 << 30
"""The limit for one source file or built file."""
NOT_BUILT = (".git", ".venv", "__pycache__", "node_modules", "venv")
"""Directories whose files no build is taken to make."""
PYTHON = re.compile(r"(?:^|(?<=&& ))python(?= )")
"""Where a command starts the project's interpreter."""
ERROR_LINE = re.compile(r"^.*\berror(?:\[\w+\])?: .*$", re.MULTILINE | re.IGNORECASE)
MISSING_LIBRARY = re.compile(r"fatal error: (?P<header>\S+): No such file|cannot find -l(?P<library>\S+)")


def _describe_failed_build(execution: Execution, tree: Path, seconds: float) -> Build:
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


SOURCE_SUFFIXES = frozenset(
    {
        *(".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx"),
        *(".cu", ".f", ".f90", ".pxd", ".pxi", ".pyx", ".rs"),
    }
)
BUILD_FILES = frozenset({"CMakeLists.txt", "Cargo.lock", "Cargo.toml", "meson.build", "meson.options"})
BACKENDS = frozenset({"maturin", "mesonpy", "scikit_build_core.build"})
SETUP_ARGUMENTS = re.compile(r"\b(?:ext_modules|cffi_modules|rust_extensions)\b")


def compiled_sources(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths that a compiler or its build tool reads."""
    return tuple(
        path
        for path in paths
        if (pure := PurePosixPath(path)).suffix in SOURCE_SUFFIXES or pure.name in BUILD_FILES
    )


def find_build(path: str, tree: Path) -> str:
    """Return the command that builds extension modules of the project nearest to a path; or nothing."""
    return next(filter(None, (_command_at(parent, tree) for parent in PurePosixPath(path).parents)), "")


def _command_at(directory: PurePosixPath, tree: Path) -> str:
    place = tree / directory
    configuration = read_toml(place / "pyproject.toml")
    start = "" if directory == PurePosixPath() else f"cd {shlex.quote(str(directory))} && "
    if configuration.get("build-system", {}).get("build-backend", "") in BACKENDS:
        roots = [root.relative_to(place).as_posix() for root in source_roots(place)]
        command = f"{start}python {INSTALL} --target {shlex.quote((*roots, '.')[0])} ."
    elif "ext-modules" in configuration.get("tool", {}).get("setuptools", {}) or SETUP_ARGUMENTS.search(
        read_regular_text(place / "setup.py")
    ):
        script = "setup.py" if (place / "setup.py").is_file() else f"-c {shlex.quote(SETUP)}"
        command = f"{start}python {script} build_ext --inplace --force"
    else:
        return ""
    return f"({command})" if start else command


INSTALL = "-m pip install --quiet --no-index --no-deps --no-build-isolation --upgrade"
SETUP = "import setuptools; setuptools.setup()"
