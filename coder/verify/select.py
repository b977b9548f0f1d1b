"""Static test selection: test files that a change can reach, by names and imports in the sources."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from coder.core.paths import TEST_DIRECTORIES, is_prose, is_test_file, is_test_path
from coder.core.values import Value
from coder.files.regular_files import project_files, read_regular_text
from coder.index.index import absolute_module
from coder.index.parsers import definitions
from coder.python.source import Function, parse_or_empty, refers_to_any
from coder.verify.layout import (
    may_configure,
    pytest_options,
    runs_examples,
    source_roots,
    test_file_predicate,
)

DJANGO = "DJANGO_SETTINGS_MODULE"
LEVELS = 3
"""Levels of names: those that differ, their users, the users of these."""
MOST_FILES_OF_NAMES = 60
"""Names in more source files than this are not followed to their users."""
DISCRIMINATING_SHARE = 0.5
"""A name in more than this share of the test files does not discriminate between them."""
_TEST = re.compile(r"^\s*(?:async )?def (test\w*)", re.MULTILINE)
_LITERAL = re.compile(r"""["']([\w./*?-]+)["']""")


class SuiteSelection(Value):
    """The test files that a change can reach."""

    files: tuple[str, ...] = ()
    """Nearest first: changed test files, files that name a changed definition, files that name its users."""
    touched: frozenset[str] = frozenset()
    """Those that are among them only because the change touches them."""
    counts: Mapping[str, int] = {}
    """Number of tests of each file, as far as its text tells; of parametrized tests one."""

    def weight(self, name: str) -> int:
        """Return about how many tests a test id or file stands for."""
        return self.counts.get(name, 1)

    @property
    def total_tests(self) -> int:
        """About how many tests there are."""
        return sum(map(self.weight, self.files))


def select_test_files(old: Path, new: Path, changed: Sequence[str]) -> SuiteSelection | None:
    """Return the test files that a change can reach, nearest first, with those that it deletes.

    None if it may reach any test.
    """
    is_test = test_file_predicate(new)
    texts = {path: read_regular_text(new / path) for path in project_files(new) if path.endswith(".py")}
    tests = sorted(filter(is_test, texts))
    touched = tuple(filter(is_test, changed))  # deleted ones too
    files: dict[str, None] = {}
    sources: list[str] = []
    helpers: list[str] = []
    for path in changed:
        if path in touched or is_prose(path) or names_packages(path):
            continue
        if PurePosixPath(path).name == "conftest.py":
            files |= dict.fromkeys(
                test for test in tests if PurePosixPath(test).is_relative_to(PurePosixPath(path).parent)
            )
        elif may_configure(path) or not path.endswith(".py"):
            return None
        else:
            (helpers if is_test_path(path) else sources).append(path)
    if sources:
        documents = (path for path in project_files(new) if not path.endswith(".py"))
        files |= dict.fromkeys([*(sources if runs_examples(new) else ()), *filter(is_test, documents)])
    if sources or helpers:
        reached = _order_importers(old, new, texts, (*sources, *helpers), tests)
        if not reached and not touched:
            return None
        files |= dict.fromkeys(reached)
    unreached = frozenset(path for path in touched if path not in files)
    return SuiteSelection(
        files=(*touched, *(path for path in files if path not in touched)),
        touched=unreached,
        counts={test: len(_TEST.findall(texts.get(test, ""))) for test in (*files, *touched)},
    )


def find_paths_in_sources(tree: Path, paths: Sequence[str]) -> frozenset[str]:
    """Return those of some paths that files outside of the tests import, or name in a string.

    They belong to the product whatever their folders are called: a test client that users import, or a schema
    that a module loads.
    """
    telling = telling_names(tree, paths)
    dotted = {path: PurePosixPath(path).with_suffix("").as_posix().replace("/", ".") for path in paths}
    found: set[str] = set()
    for source in project_files(tree):
        if not source.endswith(".py") or is_test_path(source):
            continue
        text = read_regular_text(tree / source)
        names = [
            path
            for path in paths
            if path not in found and PurePosixPath(path).stem in text and path != source
        ]
        if not names:
            continue
        imported = {absolute_module(name, source) for name in imported_names(text)}
        for path in names:
            module = dotted[path].removesuffix(".__init__")
            is_imported = path.endswith(".py") and any(
                name == module or module.endswith(f".{name}") for name in imported if name.count(".")
            )
            name = re.escape("/".join(telling[path]))
            is_named = not path.endswith(".py") and re.search(rf"[\"'/]{name}[\"']", text)
            if is_imported or is_named:
                found.add(path)
    return frozenset(found)


def telling_names(tree: Path, paths: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the end of each path that tells it from others in a tree: its name, or folder and name."""
    counts = Counter(path.rpartition("/")[2] for path in project_files(tree))
    parts = {path: PurePosixPath(path).parts for path in paths}
    return {
        path: words[-2:] if counts[words[-1]] > (tree / path).is_file() else words[-1:]
        for path, words in parts.items()
    }


def is_source_as_data(tree: Path, path: str) -> bool:
    """Tell whether a Python file of the tests is data, as a formatter has: no other file names it."""
    pure = PurePosixPath(path)
    if pure.suffix != ".py" or pure.name in ("__init__.py", "conftest.py") or not is_test_path(path):
        return False
    named = re.compile(rf"\b{re.escape(pure.stem)}\b")
    others = (file for file in project_files(tree) if file.endswith(".py") and file != path)
    return not any(named.search(read_regular_text(tree / file)) for file in others)


class _TestFile(NamedTuple):
    path: str
    text: str
    literals: frozenset[str]
    """Strings of its source, without folders."""


def find_data_tests(tree: Path, paths: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the tests that are made from each file of data, or read it, as names that select them.

    It is a test file itself where a plugin of the project collects its kind. Else test files name it (with
    its folder, if others have its name) or a pattern that it fits; if none does, one of its directories
    (Sphinx's `test-NAME` as `NAME`). Of those that define no test by themselves its own cases alone are
    meant.
    """
    if not paths:
        return {}
    telling = telling_names(tree, paths)
    tests: list[_TestFile] = []
    for test in filter(test_file_predicate(tree), project_files(tree)):
        text = read_regular_text(tree / test) if test.endswith(".py") else ""
        literals = frozenset(literal.rpartition("/")[2] for literal in _LITERAL.findall(text))
        tests.append(_TestFile(test, text, literals))
    return {path: _find_tests_of(tree, path, telling[path], tests) for path in paths}


def _find_tests_of(
    tree: Path, path: str, telling: Sequence[str], tests: Sequence[_TestFile]
) -> tuple[str, ...]:
    pure = PurePosixPath(path)
    plugins = (read_regular_text(tree / folder / "conftest.py") for folder in pure.parents)
    if pure.suffix and any("pytest_collect_file" in text and pure.suffix in text for text in plugins):
        return (path,)
    folders = {folder.name for folder in pure.parents} - TEST_DIRECTORIES - {""}
    words = folders | {name.removeprefix("test-") for name in folders}
    named: list[str] = []
    around: list[str] = []
    for test in tests:
        patterns = (
            literal for literal in test.literals if "*" in literal and literal.strip("*?.") not in ("", "py")
        )
        name = test.path if _TEST.search(test.text) else f"{test.path}::{pure.name}"
        if all(part in test.text for part in telling) or any(
            fnmatchcase(pure.name, pattern) for pattern in patterns
        ):
            named.append(name)
        elif words & test.literals:
            around.append(name)
    return tuple(named or around)


def order_by_nearness(tree: Path, sources: Sequence[str], *, first: Collection[str] = ()) -> SuiteSelection:
    """Return all test files of a tree: some `first`, then those whose paths are most like the sources'."""
    counts = {
        path: max(1, len(_TEST.findall(read_regular_text(tree / path))))
        for path in filter(test_file_predicate(tree), project_files(tree))
        if path.endswith(".py")
    }
    return rank_by_nearness(counts, sources, first=first)


def rank_by_nearness(
    counts: Mapping[str, int], sources: Sequence[str], *, first: Collection[str]
) -> SuiteSelection:
    """Return test files in this order, from the number of tests of each."""
    affinity = _affinities(sources, counts)
    files = sorted(counts, key=lambda path: (path not in first, -affinity[path], path))
    return SuiteSelection(files=tuple(files), counts=counts)


def _order_importers(
    old: Path, new: Path, texts: Mapping[str, str], changed: Sequence[str], tests: Sequence[str]
) -> list[str]:
    """Return the test files that import a changed file through whatever others, or name what it changes.

    The latter come first, then those that name the users of what it changes, and their users. Files are near
    by the names that few others have, by their paths, and by how few imports lie between. All tests of a
    project for Django, which loads most of it by names in settings, may use a change.
    """
    words = {path: find_words(text) for path, text in texts.items()}
    frequency = Counter(name for test in tests for name in words[test])
    most_files = max(3, DISCRIMINATING_SHARE * len(tests))
    sources = {path: texts[path] for path in texts if not is_test_path(path)}
    names: set[str] = set()
    for path in changed:
        before, after = ({path: read_regular_text(tree / path)} for tree in (old, new))
        edited = find_edited_definitions(before, after) | find_edited_definitions(after, before)
        names |= {name for name in edited if not _is_dunder(name)} or {_module_name(path)}
    level_of: dict[str, int] = {}
    for level in range(LEVELS):
        level_of |= {name: level for name in names - level_of.keys() if frequency[name] <= most_files}
        names = _find_users({path: text for path, text in sources.items() if words[path] & names}, names)
    naming = {test: found for test in tests if (found := level_of.keys() & words[test])}
    distances = import_distances(new, texts, words, changed)
    affinity = _affinities(changed, tests)

    def nearness(test: str) -> tuple[float, float]:
        named = naming.get(test, set())
        level = min((level_of[name] for name in named), default=LEVELS)
        rare = sum(1 / frequency[name] for name in named if level_of[name] == level)
        return level, -(rare + affinity[test] + (1 / (1 + distances[test]) if test in distances else 0))

    is_loaded_by_name = DJANGO in read_regular_text(new / "manage.py") or DJANGO in pytest_options(new)[1]
    reached = tests if is_loaded_by_name else naming.keys() | (distances.keys() & {*tests})
    return sorted(reached, key=lambda test: (nearness(test), test))


def _find_users(texts: Mapping[str, str], names: Collection[str]) -> set[str]:
    """Return the names of the definitions that use one of some names, in the texts that contain one.

    None of names that many files contain, which tell of nothing.
    """
    if len(texts) > MOST_FILES_OF_NAMES:
        return set()
    definitions = (
        node
        for text in texts.values()
        for node in ast.walk(parse_or_empty(text))
        if isinstance(node, Function | ast.ClassDef)
    )
    return {node.name for node in definitions if not _is_dunder(node.name) and refers_to_any(node, names)} - {
        *names
    }


def _affinities(sources: Sequence[str], tests: Iterable[str]) -> dict[str, float]:
    """Return how much the path of each test file has in common with those of changed sources.

    Words that few test files have in their paths count most: those of its package, or its own name.
    """
    words = {test: {*_PATH_WORD.findall(test.lower())} for test in tests}
    frequency = Counter(word for words_of_test in words.values() for word in words_of_test)
    wanted = {word for source in sources for word in _PATH_WORD.findall(source.lower())}
    return {
        test: sum(1 / frequency[word] for word in words_of_test & wanted)
        for test, words_of_test in words.items()
    }


def find_tests(tree: Path, paths: Iterable[str] | None = None) -> list[str]:
    """Return approximate ids of tests: functions and methods named like one, without class.

    They are those of a tree, or of the test files at some of its paths.
    """
    return [
        f"{path}::{name}"
        for path in (project_files(tree) if paths is None else paths)
        if path.endswith(".py") and is_test_file(path)
        for name in _TEST.findall(read_regular_text(tree / path))
    ]


def has_test_functions(tree: Path) -> bool:
    """Tell whether any Python file, whatever its name, has a function or method named like a test."""
    return any(
        _TEST.search(read_regular_text(tree / path)) for path in project_files(tree) if path.endswith(".py")
    )


def defines_asserting_tests(text: str) -> bool:
    """Tell whether a Python source has a function named like a test, and an assertion."""
    return _TEST.search(text) is not None and re.search(r"\bassert\w*\b", text) is not None


REQUIREMENTS = re.compile(
    r"requirements[\w.-]*\.(?:txt|in)|Pipfile|[\w.-]+\.lock|package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml"
    r"|go\.sum"
)


def names_packages(path: str) -> bool:
    """Tell whether a file does nothing but name the packages that a project needs."""
    return REQUIREMENTS.fullmatch(PurePosixPath(path).name) is not None


_PATH_WORD = re.compile(r"[^\W_]+")


def find_edited_definitions(old: Mapping[str, str], new: Mapping[str, str]) -> frozenset[str]:
    """Return the names of the definitions that a change adds or edits; texts are by path."""
    names: set[str] = set()
    for path, text in new.items():
        before = _sources(path, old.get(path, ""))
        names |= {
            name.rpartition(".")[2]
            for name, source in _sources(path, text).items()
            if before.get(name) != source
        }
    return frozenset(names)


def _sources(path: str, text: str) -> dict[str, str]:
    lines = text.split("\n")
    return {
        definition.name: "\n".join(lines[definition.start - 1 : definition.end])
        for definition in definitions(path, text)
    }


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _module_name(path: str) -> str:
    pure = PurePosixPath(path)
    return pure.parent.name if pure.stem == "__init__" else pure.stem


DYNAMIC = frozenset(
    {
        *("__import__", "entry_points", "exec_module", "find_loader", "find_spec", "import_module"),
        *("import_string", "load_module", "pytest_plugins"),
    }
)
"""Words of a source that imports files by names that are not known."""
STARTING = frozenset(
    {
        *("create_subprocess_exec", "create_subprocess_shell", "exec", "pexpect", "pytester", "runpy"),
        *("script_runner", "subprocess", "testdir"),
    }
)
"""Words of tests that run programs, which may use any file."""
_STARTS = re.compile(r"\bos\.(?:system|popen|exec\w+|spawn\w+)\b")
_IMPORT = re.compile(
    r"^[ \t>.]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]*(\([^)]*\)|[^\n;(]+)|import[ \t]+([\w., \t]+))",
    re.MULTILINE,
)
_COMMENT = re.compile(r"#[^\n]*")
PARSED_SOURCES_CACHED = 5000
"""Size of the cache of parsed sources, least recently used first out."""


@lru_cache(maxsize=PARSED_SOURCES_CACHED)
def imported_names(text: str) -> frozenset[str]:
    """Return the dotted names that a source imports, anywhere in it; relative imports begin with dots.

    Read by a pattern, in a twentieth of the time that parsing takes: examples in texts count as well.
    """
    names: set[str] = set()
    for start, members, modules in _IMPORT.findall(_COMMENT.sub("", text.replace("\\\n", " "))):
        words = [word.split() for word in (members or modules).strip("() \t\n").split(",")]
        found = [word[0] for word in words if word]
        if start:
            joined = start if start.endswith(".") else f"{start}."
            names |= {start, *(f"{joined}{name}" for name in found)}
        else:
            names.update(found)
    return frozenset(names)


def import_distances(
    tree: Path, texts: Mapping[str, str], words: Mapping[str, frozenset[str]], changed: Iterable[str]
) -> dict[str, int]:
    """Return the files whose import may execute a changed one, with the number of imports between.

    `texts` are those of a tree's Python files, and `words` theirs. Files that import what is not known may
    execute any; they, and what imports them, come last.
    """
    paths: dict[str, set[str]] = defaultdict(set)
    roots = [PurePosixPath(root.relative_to(tree)) for root in source_roots(tree)]
    for path in texts:
        for name in _import_names(path, texts, roots):
            paths[name].add(path)
    importers: dict[str, set[str]] = defaultdict(set)
    for path, text in texts.items():
        for name in imported_names(text):
            parts = absolute_module(name, path).split(".")
            for length in range(1, len(parts) + 1):
                for imported in paths.get(".".join(parts[:length]), ()):
                    importers[imported].add(path)
        for folder in PurePosixPath(path).parents:  # executed before it
            importers[(folder / "__init__.py").as_posix()].add(path)
            importers[(folder / "conftest.py").as_posix()].add(path)
    distances: dict[str, int] = {}

    def spread(level: Iterable[str], distance: int) -> None:
        while level := [path for path in dict.fromkeys(level) if path not in distances]:
            distances.update(dict.fromkeys(level, distance))
            level, distance = [other for path in level for other in importers.get(path, ())], distance + 1

    spread(changed, 0)
    unknown = [path for path in texts if _may_import_any(path, texts[path], words[path])]
    spread(unknown, max(distances.values(), default=0) + 1)
    return distances


def _may_import_any(path: str, text: str, words: frozenset[str]) -> bool:
    runs_programs = STARTING & words or ("os" in words and _STARTS.search(text))
    return bool(DYNAMIC & words or (runs_programs and is_test_path(path)))


def _import_names(path: str, known: Collection[str], roots: Sequence[PurePosixPath]) -> Iterator[str]:
    """Yield every dotted name that a file may be imported under.

    Names are relative to the tree, to each source root, and to the directory above its outermost package.
    """
    pure = PurePosixPath(path)
    top = next(
        folder
        for folder in pure.parents
        if (folder / "__init__.py").as_posix() not in known or folder == PurePosixPath()
    )
    for start in {PurePosixPath(), top, *roots}:
        if pure.is_relative_to(start):
            parts = pure.relative_to(start).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


_NAME = re.compile(r"[^\W\d]\w*")
_DEFINED = re.compile(rf"(?<![\w.]){_NAME.pattern}|(?<=\.){_NAME.pattern}(?=\s*=[^=])")
"""Words of a source other than attributes that it reads."""
_SIGNATURE = re.compile(r"\bdef (\w+)\((.{0,2000}?)\)\s*(?:->|:)", re.DOTALL)


def find_added_names(old: Mapping[str, str], new: Mapping[str, str]) -> frozenset[str]:
    """Return the names that sources define in `new` and not in `old`, both by path.

    Any word counts that a source did not have, or had in fewer places, as a method of another class, other
    than an attribute that is read; `name()` is a function of Python with other parameters.
    """
    names: set[str] = set()
    for path, text in new.items():
        before = old.get(path, "")
        names |= find_words(text) - find_words(before)
        names |= {*(Counter(_DEFINED.findall(text)) - Counter(_DEFINED.findall(before)))}
        signatures = Counter(_SIGNATURE.findall(text)) - Counter(_SIGNATURE.findall(before))
        names |= {f"{name}()" for name, _ in signatures}
        if path not in old:
            names |= {PurePosixPath(path).stem, PurePosixPath(path).parent.name}
    return frozenset(names - {""})


def find_words(text: str) -> frozenset[str]:
    return frozenset(_NAME.findall(text))
