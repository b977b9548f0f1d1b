"""Source roots of a tree, which let a worktree take precedence over installed packages."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from configparser import ConfigParser, Error
from pathlib import Path, PurePosixPath
from typing import Any

from coder.files.regular_files import read_regular_text

NOT_THE_PROJECT = frozenset(
    {
        "benchmarks",
        "build",
        "ci",
        "dist",
        "doc",
        "docs",
        "example",
        "examples",
        "scripts",
        "test",
        "testing",
        "tests",
    }
)
PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
NESTED_LEVELS = 2
"""Depth to which projects inside of a project are looked for."""
VENDORED = frozenset({"build", "dist", "env", "node_modules", "site-packages", "test", "tests", "venv"})
"""Directories whose projects are copies or data of tests."""
EXTENSION_SUFFIXES = (".so", ".pyd")
NOT_MODULES = frozenset({"__init__", "conftest", "fabfile", "noxfile", "setup", "tasks", "versioneer"})


def source_roots(tree: Path) -> tuple[Path, ...]:
    """Return the directories whose children are imported by name, most specific first.

    The root of the tree is one only if packages or modules of the project lie there: otherwise a `tools/` or
    `scripts/` there would hide an installed package of that name.
    """
    declared = [tree / name for name in declared_roots(tree)]
    conventional = (
        [tree / "src"] if holds_code(tree / "src") and not (tree / "src" / "__init__.py").exists() else []
    )
    roots = [
        root
        for root in dict.fromkeys([*declared, *conventional])
        if root.is_dir() and root.resolve().is_relative_to(tree.resolve())
    ]
    if roots:
        return tuple(roots)
    return (tree,) if holds_code(tree) else ()


def import_roots(tree: Path) -> tuple[Path, ...]:
    """Return the source roots of a tree, then those of nested projects, as in `packages/a/src`."""
    nested = (
        root
        for directory in nested_projects(tree)
        for root in source_roots(directory)
        if root.resolve().is_relative_to(tree.resolve())
    )
    return tuple(dict.fromkeys((*source_roots(tree), *nested)))


def nested_projects(tree: Path) -> tuple[Path, ...]:
    """Return the directories of Python projects below a tree, outermost first."""
    return tuple(
        dict.fromkeys(
            file.parent
            for depth in range(1, NESTED_LEVELS + 1)
            for name in PROJECT_FILES
            for file in sorted(tree.glob("*/" * depth + name))
            if not any(part.startswith(".") or part in VENDORED for part in file.relative_to(tree).parts)
        )
    )


def module_name(path: str, tree: Path, roots: Sequence[Path] | None = None) -> str | None:
    """Return the dotted name under which a file is imported, None if it is not a module.

    `path` is relative to `tree`; it names a source file or a compiled extension module. `roots` are the
    directories to import from; None are the source roots of the tree.
    """
    pure = PurePosixPath(path)
    if pure.suffix in EXTENSION_SUFFIXES:  # as in `fast.cpython-311-x86_64-linux-gnu.so`
        path = f"{path.removesuffix(pure.name)}{pure.name.partition('.')[0]}.py"
        pure = PurePosixPath(path)
    if pure.suffix != ".py" or not all(part.isidentifier() for part in pure.with_suffix("").parts):
        return None
    containing = [
        root
        for root in (source_roots(tree) if roots is None else roots)
        if (tree / path).is_relative_to(root)
    ]
    if containing:
        root = max(containing, key=lambda root: len(root.parts))
        parts = (tree / path).relative_to(root).with_suffix("").parts
    else:
        top = next(
            (parent for parent in pure.parents if not (tree / parent / "__init__.py").exists()),
            PurePosixPath(),
        )
        parts = pure.relative_to(top).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or None


def holds_code(directory: Path) -> bool:
    """Tell whether packages or modules of the project lie directly in this directory."""
    if not directory.is_dir():
        return False
    if directory.name == "src" and any(directory.glob("*/*.py")):  # packages without __init__.py
        return True
    return any(is_package(child) or is_module(child) for child in directory.iterdir())


def is_package(path: Path) -> bool:
    """Tell whether a directory is a regular package of the project itself."""
    return (path / "__init__.py").is_file() and path.name not in NOT_THE_PROJECT


def is_module(path: Path) -> bool:
    """Tell whether a file is an importable module of the project, not a test or a build script."""
    return path.suffix == ".py" and path.stem not in NOT_MODULES and not path.stem.startswith("test_")


def declared_roots(tree: Path) -> Iterator[str]:
    """Yield the source directories that the build configuration declares, for the common backends."""
    tool = read_toml(tree / "pyproject.toml").get("tool", {})
    yield from filter(None, _setuptools_roots(tool.get("setuptools", {})))
    for package in tool.get("poetry", {}).get("packages", []):
        yield package.get("from", "")
    build = tool.get("hatch", {}).get("build", {})
    for section in (build, build.get("targets", {}).get("wheel", {})):
        yield from (str(PurePosixPath(package).parent) for package in section.get("packages", []))
    for name in (
        tool.get("pdm", {}).get("build", {}).get("package-dir"),
        tool.get("maturin", {}).get("python-source"),
    ):
        if name:
            yield name
    yield from _setup_file_roots(tree)


def _setuptools_roots(section: dict[str, Any]) -> Iterator[str]:
    yield section.get("package-dir", {}).get("", "")
    packages = section.get("packages", {})
    if isinstance(packages, dict):
        yield from packages.get("find", {}).get("where", [])


def _setup_file_roots(tree: Path) -> Iterator[str]:
    options = read_ini(tree / "setup.cfg")
    for line in options.get("options", "package_dir", fallback="").splitlines():
        name, _, directory = line.partition("=")
        if not name.strip() and directory.strip():
            yield directory.strip()
    yield from options.get("options.packages.find", "where", fallback="").split()
    script = read_text(tree / "setup.py")
    for pattern in (
        r"package_dir\s*=\s*\{\s*['\"]{2}\s*:\s*['\"]([\w./-]+)",
        r"find_(?:namespace_)?packages\(\s*(?:where\s*=\s*)?['\"]([\w./-]+)",
    ):
        yield from re.findall(pattern, script)


def read_toml(path: Path) -> dict[str, Any]:
    """Return a parsed TOML file; empty if it does not exist or cannot be parsed."""
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError:
        return {}


def read_ini(path: Path) -> ConfigParser:
    """Return a parsed INI file; empty if it does not exist or cannot be parsed."""
    parser = ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(read_text(path))
    except Error:
        return ConfigParser(interpolation=None)
    return parser


def read_text(path: Path) -> str:
    """Return the text of a regular file; empty if it is missing, a pipe, or a link out of its directory."""
    return read_regular_text(path)
