"""Which files of a tree import which, read from their sources without executing them."""

import ast
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath

from coder.core.values.paths import is_test_path
from coder.files.regular_files import read_regular_text
from coder.python.parsing import parsed
from coder.verify.project.roots import source_roots
from coder.verify.running.launch import NOT_OURS

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
KEPT = 5000
"""So many sources, those asked for last, are not parsed again."""
EVERYTHING = "*"
"""In the place of a name: the file imports what nobody can read in its source."""


@lru_cache(maxsize=KEPT)
def imported_names(text: str) -> frozenset[str]:
    """Dotted names that a source imports, anywhere in it; those of relative imports begin with dots."""
    try:
        tree = parsed(text)
    except (SyntaxError, ValueError):
        return frozenset({EVERYTHING})
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                found |= {alias.name for alias in node.names}
            case ast.ImportFrom():
                start = "." * node.level + (node.module or "")
                found |= {start} | {
                    f"{start}{'' if start.endswith('.') else '.'}{alias.name}" for alias in node.names
                }
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in DYNAMIC:
                found.add(EVERYTHING)
    return frozenset(found)


class ImportGraph:
    """Who is executed when a file is imported."""

    def __init__(self, tree: Path, names: Mapping[str, frozenset[str]]) -> None:
        """`names` is what each Python file of the tree imports."""
        self._known = frozenset(names)
        self._roots = [root.relative_to(tree).as_posix() for root in source_roots(tree)]
        self._paths: dict[str, set[str]] = {}
        for path in names:
            for name in self._names_of(path):
                self._paths.setdefault(name, set()).add(path)
        self._importers: dict[str, set[str]] = {}
        self._imported: dict[str, set[str]] = {}
        self._to_everything = {path for path, found in names.items() if EVERYTHING in found}
        for path, found in names.items():
            self._imported[path] = self._files(path, found)
            for imported in self._imported[path]:
                self._importers.setdefault(imported, set()).add(path)

    def importers(self, path: str) -> frozenset[str]:
        """Files that importing may execute this one, however indirectly, itself included."""
        found = {path}
        todo = deque(found)
        while todo:
            new = (self._importers.get(todo.popleft(), set()) | self._to_everything) - found
            found |= new
            todo.extend(new)
        return frozenset(found)

    def imported(self, path: str) -> frozenset[str]:
        """Files that it names in its own imports, and those above it."""
        return frozenset(self._imported.get(path, ()))

    def _names_of(self, path: str) -> Iterable[str]:
        """Every dotted name that the file may be imported under: from the tree, from a source root, from above its packages."""
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

    def _files(self, path: str, found: frozenset[str]) -> set[str]:
        package = PurePosixPath(path).parent.parts
        files: set[str] = set()
        for name in found:
            level = len(name) - len(name.lstrip("."))
            parts = name.lstrip(".").split(".") if name.strip(".") else []
            absolute = [*package[: len(package) - level + 1], *parts] if level else parts
            for length in range(1, len(absolute) + 1):
                files |= self._paths.get(".".join(absolute[:length]), set())
        files |= {conftest for conftest in self._above(path) if conftest != path}
        return files

    def _above(self, path: str) -> set[str]:
        """What is executed before the file itself: the packages that it lies in, and the conftest.py of its directories."""
        found = set()
        for folder in PurePosixPath(path).parents:
            for name in ("__init__.py", "conftest.py"):
                above = (folder / name).as_posix()
                if above in self._known:
                    found.add(above)
        return found


def importing(tree: Path, changed: Iterable[str]) -> frozenset[str]:
    """The Python files of a tree that import one of these, however indirectly, themselves included."""
    graph = _graph(tree)
    return frozenset(file for path in changed for file in graph.importers(path))


def imported_by(tree: Path, tests: Iterable[str]) -> tuple[str, ...]:
    """The sources that test files import, sorted; of a package also what it imports itself, for that is what it gives."""
    graph = _graph(tree)
    found = {file for test in tests for file in graph.imported(test)}
    found |= {
        file for package in found if package.endswith("__init__.py") for file in graph.imported(package)
    }
    return tuple(sorted(path for path in found if not is_test_path(path)))


def _graph(tree: Path) -> ImportGraph:
    texts = {path: read_regular_text(tree / path) for path in files_of(tree) if path.endswith(".py")}
    return ImportGraph(tree, {path: imported_names(text) for path, text in texts.items()})


def files_of(tree: Path) -> Iterator[str]:
    """The files of a project, relative to the tree, without what is installed or hidden in it."""
    for folder, folders, files in os.walk(tree):
        folders[:] = [
            name for name in folders if not name.startswith(".") and name not in NOT_OURS - {"build", "dist"}
        ]
        for name in files:
            if not (path := Path(folder, name)).is_symlink():
                yield path.relative_to(tree).as_posix()
