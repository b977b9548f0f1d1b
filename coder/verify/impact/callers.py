"""Callers of changed definitions, found by their names in the sources."""

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from coder.files.regular_files import read_regular_text
from coder.python.parsing import parse_module

LEVELS = 2
"""Levels of callers between a test and a changed definition."""
MOST_FILES_OF_A_NAME = 40
"""A name in more source files than this is too common to identify users of the definition, and is not
followed further.
"""
MOST_DEFINERS = 5
"""A function or class name that more source files define does not identify one of them."""
_DEFINITION = re.compile(r"^[ \t]*(?:async def|def|class) (\w+)", re.MULTILINE)
_WORD = re.compile(r"[^\W\d]\w*")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def caller_levels(
    old: Path, new: Path, sources: Sequence[str], words: Mapping[str, Collection[str]]
) -> Iterator[set[str]]:
    """Yield the names of changed definitions, then of their users, one level of callers after another."""
    level: set[str] = set()
    for path in sources:
        level |= _changed_names(read_regular_text(old / path), read_regular_text(new / path)) or {
            PurePosixPath(path).stem
        }
    known = set(level)
    definers: Counter[str] = Counter()
    yield level
    for _ in range(LEVELS):
        rare = {
            name
            for name in level
            if sum(name in words_in_file for words_in_file in words.values()) <= MOST_FILES_OF_A_NAME
        }
        level = set()
        for path, words_in_file in words.items():
            if rare & set(words_in_file):
                definers = definers or _count_definers(new, words)
                users = _using_definitions(read_regular_text(new / path), rare)
                level |= {_distinctive_name(name, path, definers) for name in users}
        level -= known
        known |= level
        if not level:
            return
        yield level


def _changed_names(old: str, new: str) -> set[str]:
    """Return the names of the innermost definitions and module variables that differ.

    A definition that callers do not name, such as a dunder method, counts as its enclosing one.
    """
    before, after = _bodies(old), _bodies(new)
    different = {
        qualified for qualified in {*before, *after} if before.get(qualified) != after.get(qualified)
    }
    return {name for qualified in different if (name := _callable_name(qualified))}


def _callable_name(qualified: str) -> str:
    """Return the last part of a qualified name that callers write: `Point` for `Point.__add__`."""
    parts = [part for part in qualified.split(".") if not (part.startswith("__") and part.endswith("__"))]
    return parts[-1] if parts else ""


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


def _count_definers(tree: Path, sources: Collection[str]) -> Counter[str]:
    """Return in how many of the source files each function or class name is defined."""
    return Counter(
        name for path in sources for name in set(_DEFINITION.findall(read_regular_text(tree / path)))
    )


def _distinctive_name(qualified: str, path: str, definers: Mapping[str, int]) -> str:
    """Return the name by which tests most likely refer to a definition in a file.

    It is the definition's own or that of an enclosing one, unless many files define the same; else the
    module's: `collectstatic` for its `Command.handle`.
    """
    parts = [part for part in qualified.split(".") if not (part.startswith("__") and part.endswith("__"))]
    own = next((part for part in reversed(parts) if definers.get(part, 0) <= MOST_DEFINERS), "")
    pure = PurePosixPath(path)
    return own or (pure.parent.name if pure.stem == "__init__" else pure.stem)


def _using_definitions(text: str, names: set[str]) -> set[str]:
    """Return the qualified names of the functions and classes of a source that use one of `names`."""
    try:
        module = parse_module(text)
    except (SyntaxError, ValueError, RecursionError):
        return set()
    users: set[str] = set()

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
                users.add(name.lstrip("."))
            visit(child, inner)

    visit(module, "")
    return users


def words_of(file: Path) -> frozenset[str]:
    return frozenset(_WORD.findall(read_regular_text(file)))
