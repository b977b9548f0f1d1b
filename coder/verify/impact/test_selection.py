"""Which test files a change can reach, read from the sources by name: they stand for a suite that takes long."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from coder.core.values.base import Value
from coder.core.values.paths import is_test_file, is_test_path
from coder.files.regular_files import read_regular_text
from coder.python.parsing import parsed
from coder.verify.impact.import_graph import files_of
from coder.verify.project.configuration import may_configure, pytest_options

LEVELS = 2
"""Levels of callers between a test and a changed definition."""
COMMON = 40
"""A name that so many source files hold says little about who uses this definition: its users are not followed further."""
HALF = 0.5
"""Share of the test files from which on a name tells none of them from the others."""
DEFAULT_FILES = frozenset({"test_*.py", "*_test.py", "tests.py"})
"""Names of test files that `is_test_file` knows."""
PROSE = frozenset({".adoc", ".cff", ".md", ".po", ".pot", ".rst", ".txt"})
PROSE_FOLDERS = frozenset(
    {"doc", "docs", "changes", "changelog", "changelog.d", "newsfragments", "release-notes"}
)
_TEST = re.compile(r"^\s*(?:async )?def test", re.MULTILINE)
_WORD = re.compile(r"[^\W\d]\w*")
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Impacted(Value):
    """The test files that a change can reach."""

    files: tuple[str, ...] = ()
    """Nearest first: those that the change touches, those that name what changed, those that name what uses it."""
    total: int = 0
    """Test files in the suite."""


def impacted(old: Path, new: Path, changed: Sequence[str]) -> Impacted | None:
    """Return the test files that a change can reach, those that it deletes included; None where that may be any of them.

    Args:
        old: the tree before the change.
        new: the tree after it.
        changed: paths that differ, relative to both.
    """
    options = pytest_options(new)[1]
    if not DEFAULT_FILES.issuperset(_patterns(options.get("python_files"))):
        return None
    every = tuple(path for path in files_of(new) if path.endswith(".py"))
    tests = sorted(path for path in every if is_test_file(path))
    files = dict.fromkeys(filter(is_test_file, changed))  # those that it deletes too
    sources: list[str] = []
    helpers: list[str] = []
    for path in changed:
        if path in files or _is_prose(path):
            continue
        if PurePosixPath(path).name == "conftest.py":
            files |= dict.fromkeys(
                test for test in tests if PurePosixPath(test).is_relative_to(PurePosixPath(path).parent)
            )
        elif may_configure(path) or not path.endswith(".py"):
            return None
        else:
            (helpers if is_test_path(path) else sources).append(path)
    if "--doctest-modules" in _patterns(options.get("addopts")):
        files |= dict.fromkeys(sources)
    if any(
        _import_code(read_regular_text(old / path)) != _import_code(read_regular_text(new / path))
        for path in (*sources, *helpers)
    ):
        return None
    words = {test: _words(new / test) for test in tests}
    names = {PurePosixPath(path).stem for path in helpers}
    files |= dict.fromkeys(test for test in tests if names & words[test])
    others = {path: _words(new / path) for path in every if not is_test_path(path)} if sources else {}
    for level in _levels(old, new, sources, others):
        telling = {
            name
            for name in level
            if sum(name in held for held in words.values()) <= max(3, HALF * len(tests))
        }
        files |= dict.fromkeys(test for test in tests if telling & words[test])
    return Impacted(files=tuple(files), total=len(tests))


def naming(tree: Path, tests: Sequence[str]) -> tuple[str, ...]:
    """Return test files of a tree: those of `tests` that it has, then others in which the name of one of these stands."""
    stems = {PurePosixPath(path).stem for path in tests}
    there = [path for path in tests if is_test_file(path) and (tree / path).is_file()]
    others = (
        path for path in files_of(tree) if path.endswith(".py") and is_test_file(path) and path not in there
    )
    return (*there, *(path for path in others if stems & _words(tree / path)))


def count_tests(tree: Path) -> int:
    """Return about how many tests a tree has: functions and methods that are named like one."""
    files = (path for path in files_of(tree) if path.endswith(".py") and is_test_file(path))
    return sum(len(_TEST.findall(read_regular_text(tree / path))) for path in files)


def _levels(
    old: Path, new: Path, sources: Sequence[str], words: Mapping[str, Collection[str]]
) -> Iterator[set[str]]:
    """Yield the names of what changed, then of the definitions that use it, one level after another."""
    found: set[str] = set()
    for path in sources:
        found |= _changed_names(read_regular_text(old / path), read_regular_text(new / path)) or {
            PurePosixPath(path).stem
        }
    seen = set(found)
    yield found
    for _ in range(LEVELS):
        wanted = {name for name in found if sum(name in held for held in words.values()) <= COMMON}
        found = set()
        for path, held in words.items():
            if wanted & set(held):
                found |= _users(read_regular_text(new / path), wanted)
        found -= seen
        seen |= found
        if not found:
            return
        yield found


def _changed_names(old: str, new: str) -> set[str]:
    """Return the innermost definitions that differ, and the module's own names that do; of what has no own name, those around it."""
    before, after = _bodies(old), _bodies(new)
    different = {
        qualified for qualified in {*before, *after} if before.get(qualified) != after.get(qualified)
    }
    return {name for qualified in different if (name := _telling(qualified))}


def _telling(qualified: str) -> str:
    """Return the last part that callers write: of `Point.__add__` that is `Point`."""
    parts = [part for part in qualified.split(".") if not (part.startswith("__") and part.endswith("__"))]
    return parts[-1] if parts else ""


def _bodies(text: str) -> dict[str, str]:
    """Return what each definition says itself, without the definitions inside of it, by its dotted name; the module's is empty."""
    try:
        module = parsed(text)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    found: dict[str, str] = {}

    def visit(node: ast.AST, name: str) -> None:
        own: list[str] = []
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Function | ast.ClassDef):
                visit(child, f"{name}.{child.name}".lstrip("."))
            elif not name and isinstance(child, ast.Assign | ast.AnnAssign | ast.AugAssign):
                for target in child.targets if isinstance(child, ast.Assign) else [child.target]:
                    for leaf in ast.walk(target):
                        if isinstance(leaf, ast.Name):
                            found[leaf.id] = ast.dump(child)
            elif not name and isinstance(child, ast.Import | ast.ImportFrom):
                found.update(
                    {alias.asname or alias.name.partition(".")[0]: ast.dump(child) for alias in child.names}
                )
            else:
                own.append(ast.dump(child))
        found[name] = "\n".join(own)

    visit(module, "")
    return found


def _import_code(text: str) -> list[str]:
    """Return what a module does as it is imported, beside binding its own names: it may reach any other module."""
    try:
        module = parsed(text)
    except (SyntaxError, ValueError, RecursionError):
        return [text]
    return [ast.dump(statement) for statement in module.body if not _only_binds(statement)]


def _only_binds(statement: ast.stmt) -> bool:
    match statement:
        case (
            ast.FunctionDef()
            | ast.AsyncFunctionDef()
            | ast.ClassDef()
            | ast.Import()
            | ast.ImportFrom()
            | ast.Expr(value=ast.Constant() | ast.Name())
        ):
            return True
        case ast.Assign(targets=targets):
            return all(isinstance(target, ast.Name | ast.Tuple) for target in targets)
        case ast.AnnAssign(target=ast.Name()) | ast.AugAssign(target=ast.Name()):
            return True
        case _:
            return False


def _users(text: str, names: set[str]) -> set[str]:
    """Return the functions and classes of a source that use one of the names."""
    try:
        module = parsed(text)
    except (SyntaxError, ValueError, RecursionError):
        return set()
    found: set[str] = set()

    def visit(node: ast.AST, name: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = f"{name}.{child.name}" if isinstance(child, Function | ast.ClassDef) else name
            used = (
                child.id
                if isinstance(child, ast.Name)
                else child.attr
                if isinstance(child, ast.Attribute)
                else ""
            )
            if used in names and name:
                found.add(_telling(name.lstrip(".")))
            visit(child, inner)

    visit(module, "")
    return found - {""}


def _words(file: Path) -> frozenset[str]:
    return frozenset(_WORD.findall(read_regular_text(file)))


def _patterns(value: object) -> list[str]:
    """Return the words of an option of pytest, which TOML files may give as a list."""
    return [str(word) for word in value] if isinstance(value, list) else str(value or "").split()


def _is_prose(path: str) -> bool:
    pure = PurePosixPath(path)
    if path.endswith(".py"):
        return False
    folders = {part.lower() for part in pure.parts[:-1]}
    return pure.suffix in PROSE or bool(PROSE_FOLDERS & folders) or (not pure.suffix and pure.name.isupper())
