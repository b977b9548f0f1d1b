"""Extension modules that a change touches, built from each side's own sources."""

import re
import shutil
import threading
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from coder.core.errors import SandboxError
from coder.core.paths import is_test_path
from coder.core.ports import Execution, Limits, Progress, Sandbox
from coder.core.values import Value
from coder.core.verdict import EXIT_CODE, Failure, TestResult
from coder.files.regular_files import read_regular, read_regular_text
from coder.linux_distribution import owning_packages
from coder.patching.plan import ConfinedTree
from coder.verify.launch import files_below
from coder.verify.layout import EXTENSION_SUFFIXES, read_toml
from coder.verify.project import Project
from coder.verify.run import numbered_directory
from coder.verify.runners.workspaces import output_tail
from coder.verify.trees import Trees

MODULE_MODE = 0o755


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


class FailedBuild(NamedTuple):
    """Why a change that touches the sources of extension modules cannot be judged."""

    reason: str
    """A sentence."""
    results: tuple[TestResult, ...] = ()
    """The failed build as a result, with the compiler's output."""


class ExtensionProject(Value):
    """A directory of the tree whose build configuration compiles extension modules."""

    directory: str
    """Relative to the tree."""
    backend: str = ""
    """Module with the hook `build_wheel`; empty for the command `build_ext` of setuptools."""


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
                    return _describe_failed_build(execution, tree, self._limits.wall_seconds)
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


class BuiltTrees:
    """`Trees` in which extension modules are built as soon as a change touches their sources.

    Until then, checkouts have the modules of the user's checkout. Each version of the sources is built once,
    in a checkout of its own: of what a build writes, only extension modules reach the trees that are tested.
    """

    def __init__(self, trees: Trees, builder: ExtensionBuilder | None = None) -> None:
        """Wrap `trees`; without a builder nothing is ever built."""
        self._trees = trees
        self._builder = builder
        self._builds: dict[tuple[str, ...], Build] = {}
        self._lock = threading.Lock()
        self.inputs: tuple[str, ...] = ()
        """Changed files that a build may read, of all changes so far; empty if nothing is built."""

    @property
    def base(self) -> str:
        return self._trees.base

    @property
    def modules(self) -> tuple[str, ...]:
        """Paths of all extension modules that were built."""
        return tuple(dict.fromkeys(path for build in self._builds.values() for path in build.modules))

    @property
    def circumstances(self) -> tuple[str, ...]:
        """A sentence for the evidence, if anything was built."""
        names = ", ".join(self.modules)
        return (f"Built on both sides from their own sources: {names}.",) if names else ()

    @property
    def system_packages(self) -> tuple[str, ...]:
        """Packages of the operating system that builds used: compilers, and libraries that modules load."""
        builds = [build for build in self._builds.values() if build.modules]
        if not builds:
            return ()
        suffixes = {PurePosixPath(path).suffix for path in self.inputs}
        programs = {COMPILERS[suffix] for suffix in suffixes & COMPILERS.keys()}
        return owning_packages(
            frozenset(program for name in programs if (program := shutil.which(name))),
            frozenset(
                name
                for build in builds
                for content in build.modules.values()
                for name in linked_libraries(content)
            ),
        )

    def changed_paths(self, tree: str) -> tuple[str, ...]:
        return self._trees.changed_paths(tree)

    def changed_texts(self, tree: str) -> Mapping[str, str | None] | None:
        return self._trees.changed_texts(tree)

    def read(self, tree: str, paths: Sequence[str] | None = None) -> AbstractContextManager[Path]:
        return self._trees.read(tree, paths)

    @contextmanager
    def checkout(self, tree: str, paths: Sequence[str] | None = None) -> Iterator[Path]:
        """Check out `base` with the content of `tree`, all of it or at `paths` only, until exit."""
        with self._trees.checkout(tree, paths) as place:
            if self._builder is not None and self.inputs:
                _write_modules(self._build(self._builder, tree, paths, place), place)
            yield place

    def forget_failures(self) -> None:
        """Have what could not be built tried again: the machine has changed."""
        with self._lock:
            self._builds = {key: build for key, build in self._builds.items() if not build.error}

    def rebuild(self, place: Path, paths: Sequence[str]) -> str:
        """Build in a checkout whose changed `paths` touch extension modules; return why that failed."""
        projects = find_projects(compiled_sources(paths), place) if self._builder else ()
        if self._builder is None or not projects:
            return ""
        build = self._builder.build(place, projects)
        _write_modules(build, place)
        return f"The extension modules cannot be built: {build.error}.\n{build.output}" if build.error else ""

    def prepare(self, tree: str, progress: Progress | None = None) -> FailedBuild | None:
        """Build the extension modules of the base and of `tree`, if it changes their sources.

        Return why a change cannot be judged for them, None for any other.
        """
        changed = self._trees.changed_paths(tree)
        sources = compiled_sources(changed)
        if self._builder is None or not sources:
            return None
        with self._trees.read(tree) as place:
            is_known = bool(find_projects(sources, place))
            stale = [path for path in find_modules(place) if not is_test_path(path)]
        if not is_known:
            if not stale or not self._builder.is_recorded:
                return None
            return FailedBuild(
                f"The change touches {sources[0]}, and nothing is known that compiles it: the tests would "
                f"load {stale[0]} as it was built in your checkout."
            )
        self.inputs = tuple(
            sorted({*self.inputs, *sources, *(path for path in changed if not is_test_path(path))})
        )
        if progress is not None:
            progress("extension modules: the change touches their sources, they are built on both sides")
        with self._trees.checkout(self.base, ()) as old, self._trees.checkout(tree) as new:
            base = self._build(self._builder, self.base, (), old)
            change = base if base.error else self._build(self._builder, tree, None, new)
        if base.error and not self._builder.is_recorded:  # the tests may need no extension module
            return None
        return _failed_build(change, sources, on_base=base is change) if change.error else None

    def _build(self, builder: ExtensionBuilder, tree: str, paths: Sequence[str] | None, place: Path) -> Build:
        """Return the build of a checkout's sources; the first time it takes place in another checkout."""
        with self._lock:
            key = tuple(_digest(place, path) for path in self.inputs)
            if key not in self._builds:
                with self._trees.checkout(tree, paths) as workshop:
                    projects = find_projects(compiled_sources(self.inputs), workshop)
                    self._builds[key] = builder.build(workshop, projects)
            return self._builds[key]


def _write_modules(build: Build, place: Path) -> None:
    for path, content in build.modules.items():
        ConfinedTree(place).write(path, content, MODULE_MODE)


def _digest(place: Path, path: str) -> str:
    content = read_regular(place / path, within=place, limit_bytes=LARGEST_BYTES)
    return "" if content is None else sha256(content).hexdigest()


def _failed_build(build: Build, sources: Sequence[str], *, on_base: bool) -> FailedBuild:
    failure = Failure(type=EXIT_CODE, message=build.error, text=build.output or build.error)
    result = TestResult(id=sources[0], outcome="error", failure=failure)
    if on_base:
        reason = f"The change touches {sources[0]}, and the base's extension modules cannot be built: "
        return FailedBuild(f"{reason}{build.error}.", (result,))
    if build.lacks_library:
        return FailedBuild(
            f"The change to {sources[0]} needs what is not installed: {build.error}.", (result,)
        )
    reason = "The extension modules of the base can be built, and those of the change cannot"
    return FailedBuild(f"{reason}: {build.error}.", (result,))


LARGEST_BYTES = 1 << 30
"""The limit for one source file or extension module."""
IN_DIRECTORY = ("/bin/sh", "-c", 'cd "$0" && exec "$@"')
"""Commands may write below their working directory, which is the whole tree."""
BUILD_WHEEL = "import sys, importlib; importlib.import_module(sys.argv[1]).build_wheel(sys.argv[2])"
"""The hook of https://peps.python.org/pep-0517/#build-wheel."""
SETUP = "import setuptools; setuptools.setup()"
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


SOURCE_SUFFIXES = frozenset(
    {
        *(".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx"),
        *(".cu", ".f", ".f90", ".pxd", ".pxi", ".pyx", ".rs"),
    }
)
BUILD_FILES = frozenset({"CMakeLists.txt", "Cargo.lock", "Cargo.toml", "meson.build", "meson.options"})
COMPILERS = {
    **dict.fromkeys((".c", ".h", ".pyx", ".pxd", ".pxi"), "cc"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), "c++"),
    **dict.fromkeys((".f", ".f90"), "gfortran"),
    ".rs": "rustc",
    ".cu": "nvcc",
}
"""The program that compiles a source, by suffix."""
LIBRARY = re.compile(rb"(?<=\0)lib[\w.+-]+\.so(?:\.\d+)*(?=\0)")
BACKENDS = frozenset({"maturin", "mesonpy", "scikit_build_core.build"})
"""Build backends that are for extension modules, and run by their hook."""
SETUP_ARGUMENTS = re.compile(r"\b(?:ext_modules|cffi_modules|rust_extensions)\b")


def compiled_sources(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths that a compiler or its build tool reads."""
    return tuple(
        path
        for path in paths
        if (pure := PurePosixPath(path)).suffix in SOURCE_SUFFIXES or pure.name in BUILD_FILES
    )


def find_projects(sources: Iterable[str], tree: Path) -> tuple[ExtensionProject, ...]:
    """Return the nearest project of each source that compiles extension modules, each once."""
    found = (
        next(filter(None, (_project_at(directory, tree) for directory in PurePosixPath(path).parents)), None)
        for path in sources
    )
    return tuple(dict.fromkeys(filter(None, found)))


def linked_libraries(module: bytes) -> frozenset[str]:
    """Return the names of shared libraries in the string table of an ELF file, such as `libz.so.1`."""
    return frozenset(name.decode() for name in LIBRARY.findall(module))


def find_modules(tree: Path) -> Iterator[str]:
    """Return the extension modules in a tree, without those in environments and build directories."""
    return (path for path in files_below(tree) if path.endswith(EXTENSION_SUFFIXES))


def _project_at(directory: PurePosixPath, tree: Path) -> ExtensionProject | None:
    configuration = read_toml(tree / directory / "pyproject.toml")
    backend = configuration.get("build-system", {}).get("build-backend", "")
    if backend in BACKENDS:
        return ExtensionProject(directory=str(directory), backend=backend)
    declares = "ext-modules" in configuration.get("tool", {}).get("setuptools", {})
    if declares or SETUP_ARGUMENTS.search(read_regular_text(tree / directory / "setup.py")):
        return ExtensionProject(directory=str(directory))
    return None


SUFFIXES = tuple(sorted(SOURCE_SUFFIXES))
_COMMENT = re.compile(r"^\s*(?://|/\*|\*\s|#(?!\s*(?:define|include|if|elif)))")
_OF_PROCESS = tuple(
    (re.compile(pattern), what)
    for pattern, what in (
        (
            r"\b(?:system|popen|execl[pe]*|execv[pe]*|posix_spawn\w*|v?fork|ptrace|dlopen|dlsym|dladdr|_?exit|_Exit"
            r"|quick_exit|atexit|on_exit|kill|sigaction|mprotect|process_vm_\w+|syscall|backtrace|raw_syscalls?)"
            r"\s*\(",
            "calls {}",
        ),
        (r"\b__asm__\b|\basm\s*[!(]|\b__attribute__\s*\(\(\s*(?:constructor|destructor)", "uses {}"),
    )
)
"""Accesses by which a program decides on its own exit code, whatever its tests find."""
_OF_INTERPRETER = tuple(
    (re.compile(pattern), what)
    for pattern, what in (
        (
            r"\b_?Py(?:Run|Sys|Frame|ThreadState|InterpreterState|GC|Unstable|Marshal|Trace\w*)_\w+"
            r"|\bPyEval_(?!SaveThread|RestoreThread|CallObject)\w+|\bPy_(?:AtExit|AddPendingCall|Exit|Finalize\w*)\b",
            "uses {} of the interpreter",
        ),
        (
            r"""["'](?:sys|gc|builtins|inspect|ctypes|atexit|os|importlib)["']"""
            r"|\b(?:c?import|from)\s+(?:sys|gc|builtins|inspect|ctypes|atexit|importlib|posix|libc\.signal)\b",
            "reaches for a module of the interpreter ({})",
        ),
        (r"\b_?pytest\b|\bunittest\b|\bpluggy\b|\bPYTEST_\w+", "names {}"),
        (r"\b(?:secure_)?getenv\s*\(|\benviron\b|\bstd::env\b", "asks for the environment ({})"),
        (r"/proc/", "reads {}"),
        (
            r"\bstd::process\b|\blibc::\w+|\bPython::\w*(?:run|eval)\w*|\bpy\.(?:run|eval|import)\w*",
            "uses {}",
        ),
    )
)


def find_native_accesses(
    old: Mapping[str, str], new: Mapping[str, str], *, extensions: Collection[str]
) -> Iterator[str]:
    """Yield accesses in new lines of compiled sources (texts by path), half a sentence each.

    Those in `extensions` are loaded by an interpreter, whose own functions count as well.

    Detection is by regular expressions, line by line: deliberately obscured code is not found.
    """
    for path, text in new.items():
        known = frozenset(old.get(path, "").splitlines())
        patterns = (*_OF_PROCESS, *_OF_INTERPRETER) if path in extensions else _OF_PROCESS
        for number, line in enumerate(text.splitlines(), 1):
            if line in known or _COMMENT.match(line):
                continue
            for pattern, what in patterns:
                if match := pattern.search(line):
                    yield f"{path}:{number} {what.format(match[0].strip(' ('))}"
