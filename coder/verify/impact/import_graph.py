"""Static import graph of a source tree, built without executing it."""

import ast
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath

from coder.core.paths import is_test_path
from coder.files.regular_files import read_regular_text
from coder.python.source import parse_module
from coder.verify.project.roots import source_roots
from coder.verify.running.launch import EXCLUDED_DIRECTORIES

DYNAMIC = frozenset(
    {
        "__import__",
        "entry_points",
        "exec_module",
        "find_loader",
        "find_spec",
        "import_module",
        "import_string",
        "load_module",
    }
)
PARSED_SOURCES_CACHED = 5000
"""Size of the cache of parsed sources, least recently used first out."""
ANY_FILE = "*"
"""Stands for a name where a file imports dynamically, so that it may import any file."""


@lru_cache(maxsize=PARSED_SOURCES_CACHED)
def imported_names(text: str) -> frozenset[str]:
    """Return the dotted names that a source imports, anywhere in it; relative imports begin with dots."""
    try:
        tree = parse_module(text)
    except (SyntaxError, ValueError):
        return frozenset({ANY_FILE})
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                names |= {alias.name for alias in node.names}
            case ast.ImportFrom():
                start = "." * node.level + (node.module or "")
                names |= {start} | {
                    f"{start}{'' if start.endswith('.') else '.'}{alias.name}" for alias in node.names
                }
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in DYNAMIC:
                names.add(ANY_FILE)
    return frozenset(names)


class ImportGraph:
    """The files of a tree and which of them importing a file executes."""

    def __init__(self, tree: Path, names: Mapping[str, frozenset[str]]) -> None:
        """Build the graph from `names`, the imported names of each Python file of the tree."""
        self._known = frozenset(names)
        self._roots = [root.relative_to(tree).as_posix() for root in source_roots(tree)]
        self._paths: dict[str, set[str]] = {}
        for path in names:
            for name in self._import_names(path):
                self._paths.setdefault(name, set()).add(path)
        self._importers: dict[str, set[str]] = {}
        self._imported: dict[str, set[str]] = {}
        self._to_everything = {path for path, imports in names.items() if ANY_FILE in imports}
        for path, imports in names.items():
            self._imported[path] = self._resolve(path, imports)
            for imported in self._imported[path]:
                self._importers.setdefault(imported, set()).add(path)

    def importers(self, path: str) -> frozenset[str]:
        """Return the files whose import may execute `path`, directly or indirectly, including itself."""
        importers = {path}
        todo = deque(importers)
        while todo:
            new = (self._importers.get(todo.popleft(), set()) | self._to_everything) - importers
            importers |= new
            todo.extend(new)
        return frozenset(importers)

    def imported_files(self, path: str) -> frozenset[str]:
        """Return the files that the imports of `path` name, and packages and conftest.py files above it."""
        return frozenset(self._imported.get(path, ()))

    def _import_names(self, path: str) -> Iterable[str]:
        """Yield every dotted name that the file may be imported under.

        Names are relative to the tree, to each source root, and to the directory above its outermost package.
        """
        pure = PurePosixPath(path)
        top = next(
            folder
            for folder in pure.parents
            if (folder / "__init__.py").as_posix() not in self._known or folder == PurePosixPath()
        )
        for start in {PurePosixPath(), top, *(PurePosixPath(root) for root in self._roots)}:
            if pure.is_relative_to(start):
                parts = pure.relative_to(start).with_suffix("").parts
                yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def _resolve(self, path: str, names: frozenset[str]) -> set[str]:
        package = PurePosixPath(path).parent.parts
        files: set[str] = set()
        for name in names:
            level = len(name) - len(name.lstrip("."))
            parts = name.lstrip(".").split(".") if name.strip(".") else []
            absolute = [*package[: len(package) - level + 1], *parts] if level else parts
            for length in range(1, len(absolute) + 1):
                files |= self._paths.get(".".join(absolute[:length]), set())
        files |= {conftest for conftest in self._parents(path) if conftest != path}
        return files

    def _parents(self, path: str) -> set[str]:
        """Return the packages and the conftest.py files above a file: they are executed before it."""
        files = set()
        for folder in PurePosixPath(path).parents:
            for name in ("__init__.py", "conftest.py"):
                candidate = (folder / name).as_posix()
                if candidate in self._known:
                    files.add(candidate)
        return files


def transitive_importers(tree: Path, changed: Iterable[str]) -> frozenset[str]:
    """Return the Python files that import one of `changed`, directly or indirectly, including these."""
    graph = _build_graph(tree)
    return frozenset(file for path in changed for file in graph.importers(path))


def sources_imported_by(tree: Path, test_files: Iterable[str]) -> tuple[str, ...]:
    """Return the sources that test files import, sorted.

    For a package, the imports of its `__init__.py` count too: it re-exports them.
    """
    graph = _build_graph(tree)
    imported = {file for test in test_files for file in graph.imported_files(test)}
    imported |= {
        file
        for package in imported
        if package.endswith("__init__.py")
        for file in graph.imported_files(package)
    }
    return tuple(sorted(path for path in imported if not is_test_path(path)))


def _build_graph(tree: Path) -> ImportGraph:
    texts = {path: read_regular_text(tree / path) for path in project_files(tree) if path.endswith(".py")}
    return ImportGraph(tree, {path: imported_names(text) for path, text in texts.items()})


def project_files(tree: Path) -> Iterator[str]:
    """Yield the files of a project, relative to the tree, without installed and hidden ones."""
    for folder, folders, files in os.walk(tree):
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".") and name not in EXCLUDED_DIRECTORIES - {"build", "dist"}
        ]
        for name in files:
            if not (path := Path(folder, name)).is_symlink():
                yield path.relative_to(tree).as_posix()
