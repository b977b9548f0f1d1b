"""Callers of changed definitions, found by their names in the sources."""

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath

from coder.core.paths import is_test_path
from coder.files.regular_files import read_regular_text
from coder.python.source import parse_module

MOST_FILES_OF_A_NAME = 40
"""A name in more source files than this is too common to identify users of the definition, and is not
followed further.
"""
MOST_DEFINERS = 5
"""A function or class name that more source files define does not identify one of them."""
_DEFINITION = re.compile(r"^[ \t]*(?:async def|def|class) (\w+)", re.MULTILINE)
_WORD = re.compile(r"[^\W\d]\w*")
Function = ast.FunctionDef | ast.AsyncFunctionDef


class CallerIndex:
    """The names that the sources of a tree use and define."""

    def __init__(self, tree: Path, sources: Sequence[str], words: Mapping[str, Collection[str]]) -> None:
        """Index the words of `sources`; `words` are those of the test files."""
        self._tree = tree
        self._words = {path: words_of(tree / path) for path in sources}
        self._helpers = [path for path in sources if is_test_path(path)]
        self._tests = words
        self._users: dict[str, dict[str, set[str]]] = {}

    def levels(self, path: str, old: str, new: str) -> Iterator[set[str]]:
        """Yield the names of the definitions that differ between two texts of a source, then of their
        callers, one level after another, to the last. Helpers of the tests are as near as what they use.
        """
        changed = _changed_names(old, new)
        level = {_callable_name(name) for name in changed} | {
            self._referable_name(name, path) for name in changed
        }
        level = (level - {""}) or {_module_name(path)}
        known: set[str] = set()
        while level:
            while helpers := self._callers(level, known | level, self._helpers):
                level |= helpers
            yield level
            known |= level
            level = self._callers(level, known, self._words)

    def _callers(self, names: Collection[str], known: Collection[str], paths: Iterable[str]) -> set[str]:
        """Return names of the definitions in files that use one of `names`, unless they are `known`."""
        rare = {
            name
            for name in names
            if sum(name in words for words in self._words.values()) <= MOST_FILES_OF_A_NAME
        }
        return {
            self._referable_name(user, path, known)
            for path in paths
            for name in rare & self._words[path]
            for user in self._users_in(path).get(name, ())
        } - set(known)

    def _users_in(self, path: str) -> dict[str, set[str]]:
        if path not in self._users:
            self._users[path] = _find_users(read_regular_text(self._tree / path))
        return self._users[path]

    def _referable_name(self, qualified: str, path: str, known: Collection[str] = ()) -> str:
        """Return the name by which other code most likely refers to a definition in a file.

        It is the definition's own or that of an enclosing one, unless many files define the same, nothing
        uses it (a method that is called by a computed name) or its users are `known`; else the module's:
        `collectstatic` for its `Command.handle`.
        """
        parts = [part for part in qualified.split(".") if not _is_dunder(part)]
        return next(
            (
                part
                for part in reversed(parts)
                if part not in known and self._definers[part] <= MOST_DEFINERS and self._is_used(part)
            ),
            _module_name(path),
        )

    def _is_used(self, name: str) -> bool:
        return self._uses[name] > 0 or any(name in words for words in self._tests.values())

    @cached_property
    def _definers(self) -> Counter[str]:
        """Number of the sources that define a function or class of each name."""
        return Counter(
            name
            for path in self._words
            for name in set(_DEFINITION.findall(read_regular_text(self._tree / path)))
        )

    @cached_property
    def _uses(self) -> Counter[str]:
        """Number of occurrences of each word in the sources other than as a definition's name."""
        uses: Counter[str] = Counter()
        for path in self._words:
            text = read_regular_text(self._tree / path)
            uses.update(_WORD.findall(text))
            uses.subtract(_DEFINITION.findall(text))
        return uses


def _changed_names(old: str, new: str) -> set[str]:
    """Return the dotted names of the innermost definitions and module variables that differ."""
    before, after = _bodies(old), _bodies(new)
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}


def _callable_name(qualified: str) -> str:
    """Return the last part of a dotted name that callers write: `Point` for `Point.__add__`."""
    return next((part for part in reversed(qualified.split(".")) if not _is_dunder(part)), "")


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _module_name(path: str) -> str:
    pure = PurePosixPath(path)
    return pure.parent.name if pure.stem == "__init__" else pure.stem


def _bodies(text: str) -> dict[str, str]:
    """Return the dump of each definition without nested ones, by dotted name; the module's name is empty."""
    try:
        module = parse_module(text)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    bodies: dict[str, str] = {}

    def visit(node: ast.AST, name: str) -> None:
        own: list[str] = []
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Function | ast.ClassDef):
                visit(child, f"{name}.{child.name}".lstrip("."))
            elif not name and isinstance(child, ast.Assign | ast.AnnAssign | ast.AugAssign):
                for target in child.targets if isinstance(child, ast.Assign) else [child.target]:
                    for leaf in ast.walk(target):
                        if isinstance(leaf, ast.Name):
                            bodies[leaf.id] = ast.dump(child)
            elif not name and isinstance(child, ast.Import | ast.ImportFrom):
                bodies.update(
                    {alias.asname or alias.name.partition(".")[0]: ast.dump(child) for alias in child.names}
                )
            else:
                own.append(ast.dump(child))
        bodies[name] = "\n".join(own)

    visit(module, "")
    return bodies


def _find_users(text: str) -> dict[str, set[str]]:
    """Return for each name that a source uses the dotted names of the functions and classes that use it."""
    try:
        module = parse_module(text)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    users: dict[str, set[str]] = {}

    def visit(node: ast.AST, name: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = f"{name}.{child.name}" if isinstance(child, Function | ast.ClassDef) else name
            match child:
                case ast.Name(id=used) | ast.Attribute(attr=used) if name:
                    users.setdefault(used, set()).add(name.lstrip("."))
            visit(child, inner)

    visit(module, "")
    return users


def words_of(file: Path) -> frozenset[str]:
    return frozenset(_WORD.findall(read_regular_text(file)))
