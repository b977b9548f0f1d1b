"""Static test selection: test files that a change can reach, by the names in the sources."""

import ast
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from coder.core.paths import is_test_file, is_test_path
from coder.core.values import Value
from coder.files.regular_files import read_regular_text
from coder.python.source import parse_module
from coder.verify.impact.callers import CallerIndex, words_of
from coder.verify.impact.import_graph import project_files, transitive_importers
from coder.verify.project.configuration import may_configure, pytest_options

LEVELS = 2
"""Levels of callers that are followed beyond the nearest test."""
DISCRIMINATING_SHARE = 0.5
"""A name in more than this share of the test files does not discriminate between them."""
GENERIC_STEMS = frozenset({"test", "tests"})
"""Names of modules that many packages have."""
PROSE = frozenset({".adoc", ".cff", ".md", ".po", ".pot", ".rst", ".txt"})
PROSE_FOLDERS = frozenset(
    {"doc", "docs", "changes", "changelog", "changelog.d", "newsfragments", "release-notes", "releasenotes"}
)
_TEST = re.compile(r"^\s*(?:async )?def (test\w*)", re.MULTILINE)


class SuiteSelection(Value):
    """The test files that a change can reach."""

    files: tuple[str, ...] = ()
    """Nearest first: changed test files, files that name a changed definition, files that name its users."""
    touched: frozenset[str] = frozenset()
    """Those that are among them only because the change touches them."""
    total: int = 0
    """Number of test files in the suite."""


def select_test_files(old: Path, new: Path, changed: Sequence[str]) -> SuiteSelection | None:
    """Return the test files that a change can reach, nearest first, including files that it deletes.

    None if it may reach any test.

    Args:
        old: the tree before the change.
        new: the tree after it.
        changed: paths that differ, relative to both.
    """
    options = pytest_options(new)[1]
    patterns = _option_words(options.get("python_files"))

    def is_test(path: str) -> bool:
        name = PurePosixPath(path).name
        return is_test_file(path) or any(fnmatchcase(name, pattern) for pattern in patterns)

    python_files = tuple(path for path in project_files(new) if path.endswith(".py"))
    tests = sorted(filter(is_test, python_files))
    touched = tuple(filter(is_test, changed))  # deleted ones too
    files: dict[str, None] = {}
    sources: list[str] = []
    helpers: list[str] = []
    for path in changed:
        if path in touched or _is_prose(path):
            continue
        if PurePosixPath(path).name == "conftest.py":
            files |= dict.fromkeys(
                test for test in tests if PurePosixPath(test).is_relative_to(PurePosixPath(path).parent)
            )
        elif may_configure(path) or not path.endswith(".py"):
            return None
        else:
            (helpers if is_test_path(path) else sources).append(path)
    if "--doctest-modules" in _option_words(options.get("addopts")):
        files |= dict.fromkeys(sources)
    if any(
        _import_effects(read_regular_text(old / path)) != _import_effects(read_regular_text(new / path))
        for path in (*sources, *helpers)
    ):
        return None
    words = {test: words_of(new / test) for test in tests}
    names = {PurePosixPath(path).stem for path in helpers}
    files |= dict.fromkeys(test for test in tests if names & words[test])
    if sources:
        used = frozenset().union(*words.values())
        callers = CallerIndex(
            new,
            [
                path
                for path in python_files
                if not is_test_path(path)
                or (not is_test(path) and PurePosixPath(path).stem in used | {"conftest"})
            ],
            words,
        )
        files |= dict.fromkeys(_select_by_names(old, new, sources, callers, words))
    unreached = frozenset(path for path in touched if path not in files)
    return SuiteSelection(
        files=(*touched, *(path for path in files if path not in touched)),
        touched=unreached,
        total=len(tests),
    )


def _select_by_names(
    old: Path, new: Path, sources: Sequence[str], callers: CallerIndex, words: Mapping[str, Collection[str]]
) -> list[str]:
    """Return the test files that name a changed definition or its callers, nearest first.

    For a source that names lead from to no test, they are the test files that import it.
    """
    frequency = Counter(name for words_in_file in words.values() for name in words_in_file)
    most_files = max(3, DISCRIMINATING_SHARE * len(words))
    distances: dict[str, int] = {}
    unreached: list[str] = []
    for path in sources:
        is_reached, last = False, 0
        texts = (read_regular_text(tree / path) for tree in (old, new))
        for distance, level in enumerate(callers.levels(path, *texts)):
            if is_reached and distance > last:
                break
            distinctive = {name for name in level if frequency[name] <= most_files}
            for test in (test for test, words_in_file in words.items() if distinctive & set(words_in_file)):
                is_reached, last = True, last if is_reached else distance + LEVELS
                distances[test] = min(distance, distances.get(test, distance))
        if not is_reached:
            unreached.append(path)
    importers = transitive_importers(new, unreached) if unreached else frozenset()
    reached = [test for test in words if test in distances]
    return [*sorted(reached, key=distances.__getitem__), *(test for test in words if test in importers)]


def find_test_files_naming(tree: Path, tests: Sequence[str]) -> tuple[str, ...]:
    """Return the existing ones of `tests`, then test files that mention the name of one of these."""
    names = [_distinctive_words(path) for path in tests]
    existing = [path for path in tests if is_test_file(path) and (tree / path).is_file()]
    others = (
        path
        for path in project_files(tree)
        if path.endswith(".py") and is_test_file(path) and path not in existing
    )

    def mentions_any(path: str) -> bool:
        words = words_of(tree / path)
        return any(name <= words for name in names)

    return (*existing, *filter(mentions_any, others))


def _distinctive_words(path: str) -> set[str]:
    """Return the words by which another file names a module: `tests` alone would be any package's."""
    pure = PurePosixPath(path)
    return {pure.stem, pure.parent.name} - {""} if pure.stem in GENERIC_STEMS else {pure.stem}


def find_tests(tree: Path) -> list[str]:
    """Return approximate ids of the tests in a tree: functions and methods named like one, without class."""
    return [
        f"{path}::{name}"
        for path in project_files(tree)
        if path.endswith(".py") and is_test_file(path)
        for name in _TEST.findall(read_regular_text(tree / path))
    ]


def has_test_functions(tree: Path) -> bool:
    """Tell whether any Python file, whatever its name, has a function or method named like a test."""
    return any(
        _TEST.search(read_regular_text(tree / path)) for path in project_files(tree) if path.endswith(".py")
    )


def _import_effects(text: str) -> list[str]:
    """Return dumps of the statements that run at import and do more than bind names.

    Such a statement may affect any other module.
    """
    try:
        module = parse_module(text)
    except (SyntaxError, ValueError, RecursionError):
        return [text]
    return [ast.dump(statement) for statement in module.body if not _is_binding(statement)]


def _is_binding(statement: ast.stmt) -> bool:
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
        case ast.AnnAssign(target=ast.Name()) | ast.AugAssign(target=ast.Name()) | ast.Pass():
            return True
        case ast.If(test=ast.Name("TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
            return not statement.orelse and all(map(_is_binding, statement.body))
        case _:
            return False


def _option_words(value: object) -> list[str]:
    """Return the words of a pytest option, which TOML files may give as a list."""
    return [str(word) for word in value] if isinstance(value, list) else str(value or "").split()


def _is_prose(path: str) -> bool:
    pure = PurePosixPath(path)
    if path.endswith(".py"):
        return False
    folders = {part.lower() for part in pure.parts[:-1]}
    return pure.suffix in PROSE or bool(PROSE_FOLDERS & folders) or (not pure.suffix and pure.name.isupper())
