"""Projects that compile extension modules, by their build configuration and their sources."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from coder.core.values import Value
from coder.verify.project.roots import EXTENSION_SUFFIXES, read_text, read_toml

SOURCE_SUFFIXES = frozenset(
    {
        *(".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx"),
        *(".cu", ".f", ".f90", ".pxd", ".pxi", ".pyx", ".rs"),
    }
)
BUILD_FILES = frozenset({"CMakeLists.txt", "Cargo.lock", "Cargo.toml", "meson.build", "meson.options"})
SKIPPED_DIRECTORIES = frozenset({"build", "dist", "env", "node_modules", "site-packages", "venv"})
BACKENDS = frozenset({"maturin", "mesonpy", "scikit_build_core.build"})
"""Build backends that are for extension modules, and run by their hook."""
SETUP_ARGUMENTS = re.compile(r"\b(?:ext_modules|cffi_modules|rust_extensions)\b")


class ExtensionProject(Value):
    """A directory of the tree whose build configuration compiles extension modules."""

    directory: str
    """Relative to the tree."""
    backend: str = ""
    """Module with the hook `build_wheel`; empty for the command `build_ext` of setuptools."""


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


def find_modules(tree: Path) -> Iterator[str]:
    """Yield the extension modules in a tree, sorted, without those in environments and build directories."""
    for directory, names, files in os.walk(tree):
        names[:] = sorted(
            name for name in names if not name.startswith(".") and name not in SKIPPED_DIRECTORIES
        )
        yield from (
            Path(directory, name).relative_to(tree).as_posix()
            for name in sorted(files)
            if name.endswith(EXTENSION_SUFFIXES)
        )


def _project_at(directory: PurePosixPath, tree: Path) -> ExtensionProject | None:
    configuration = read_toml(tree / directory / "pyproject.toml")
    backend = configuration.get("build-system", {}).get("build-backend", "")
    if backend in BACKENDS:
        return ExtensionProject(directory=str(directory), backend=backend)
    declares = "ext-modules" in configuration.get("tool", {}).get("setuptools", {})
    if declares or SETUP_ARGUMENTS.search(read_text(tree / directory / "setup.py")):
        return ExtensionProject(directory=str(directory))
    return None
