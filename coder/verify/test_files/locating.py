"""Location of tests: the files that define the tests of a report whose ids are not paths."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path, PurePosixPath

from coder.core.paths import SOURCE_SUFFIXES, is_test_path, test_file_of
from coder.files.regular_files import read_regular_text
from coder.verify.impact.import_graph import project_files
from coder.verify.test_files.inline_tests import SUFFIX, inline_tests

CODE = (*SOURCE_SUFFIXES, ".bats", ".dart", ".ex", ".exs", ".fs", ".groovy", ".hs", ".jl", ".pl", ".t")
MOST_FILES = 5000
MOST_WORDS = 12
_QUOTED = re.compile(r"""(["'`])((?:(?!\1)[^\\\n]|\\.){1,200})\1""")
_FUNCTION = re.compile(r"\b(?:def|fn|fun|func|function|sub|void|Task)\s+`?(\w+)")
_GO_METHOD = re.compile(r"\bfunc\s*\([^)]*\)\s*(\w+)")
_TITLED = re.compile(
    r"""(?:\b(?:it|test|specify|scenario|example|describe|context|suite|subtest|Run)[\w.]*|@test)"""
    r"""\s*\(?\s*(["'`])((?:(?!\1)[^\\\n]|\\.){1,200})\1"""
)
"""The title of a test, as test frameworks take it; `_QUOTED` may be any other text."""
_NUMBERED = re.compile(r" #\d+$")
"""What distinguishes two tests of one name in a report."""
_CASE = re.compile(r"%\w|\\\$\w+")
"""Placeholders for the values of a case in an escaped title."""
_RUST_EXAMPLE = re.compile(r"(?P<path>\S+\.rs) - .*\(line \d+\)")
"""The id of an example in documentation."""


def is_example(test_id: str) -> bool:
    """Tell whether a test is an example in documentation: a doctest of pytest, or of Rust."""
    name = test_id.partition("::")[2].partition("[")[0]
    return _RUST_EXAMPLE.match(test_id) is not None or (
        test_file_of(test_id).endswith((".py", ".md", ".rst", ".txt")) and "." in name
    )


class TestLocator:
    """Finds the files that define tests in one tree."""

    __test__ = False

    def __init__(self, tree: Path) -> None:
        """Read files of the tree only when a test has to be searched for."""
        self._tree = tree

    def find_files(self, test_id: str) -> tuple[str, ...]:
        """Return the files that may define a test, test files if there are any; empty if none is found."""
        path = test_file_of(test_id)
        if example := _RUST_EXAMPLE.match(test_id):
            path = example["path"]
        if path and (self._tree / path).is_file():
            return (path,)
        named = [file for file in self._files_of_class(test_id) if self._mentions(file, test_id)]
        tests = [file for file in named if is_test_path(file)] or self._find_definers(test_id)
        return tuple(tests or named[:1])

    def _find_definers(self, test_id: str) -> list[str]:
        for name in names_of(test_id):
            if files := self._files_by_name.get(name):
                tests = [file for file in files if is_test_path(file)]
                return tests or files
        return []

    def _files_of_class(self, test_id: str) -> Iterator[str]:
        """Yield the files that a dotted id names, such as `src/test/java/org/Shop.java` for `org.Shop`."""
        dotted = _NUMBERED.sub("", test_file_of(test_id)).replace("\\", ".")
        if not re.fullmatch(r"[\w$]+(?:\.[\w$]+)*", dotted):
            return
        parts = dotted.partition("$")[0].split(".")
        for count in range(len(parts), 0, -1):
            stem = "/".join(parts[:count])
            for path in self._files_by_stem.get(parts[count - 1], ()):
                whole = path.removesuffix(PurePosixPath(path).suffix)
                if whole == stem or whole.endswith(f"/{stem}"):
                    yield path

    def _mentions(self, path: str, test_id: str) -> bool:
        text = read_regular_text(self._tree / path)
        return any(name in text for name in names_of(test_id))

    @cached_property
    def _files(self) -> tuple[str, ...]:
        return tuple(islice((path for path in project_files(self._tree) if path.endswith(CODE)), MOST_FILES))

    @cached_property
    def _files_by_stem(self) -> Mapping[str, list[str]]:
        files = defaultdict(list)
        for path in self._files:
            files[PurePosixPath(path).stem].append(path)
        return files

    @cached_property
    def _files_by_name(self) -> Mapping[str, list[str]]:
        files = defaultdict(list)
        for path in self._files:
            for name in defined_names(path, read_regular_text(self._tree / path)):
                files[name].append(path)
        return files


def defined_names(path: str, text: str) -> frozenset[str]:
    """Return the names and titles of the tests that a file may define.

    Any quoted text of a test file may be the title of a test; elsewhere only what is written as one is.
    """
    if path.endswith(SUFFIX) and not is_test_path(path):
        return frozenset(_FUNCTION.findall(inline_tests(text)))
    functions = {*_FUNCTION.findall(text), *_GO_METHOD.findall(text)}
    if is_test_path(path):
        return frozenset(functions | {match[2] for match in _QUOTED.finditer(text)})
    return frozenset(
        {name for name in functions if "test" in name.lower()}
        | {match[2] for match in _TITLED.finditer(text)}
    )


def names_of(test_id: str) -> tuple[str, ...]:
    """Return the names under which a file may define a test, the most specific first.

    Reports join the titles of suites and tests with spaces, `>`, dots or slashes.
    """
    own = _NUMBERED.sub("", test_id.rpartition("::")[2]).strip()
    words = own.split(" ")
    parts = re.split(r" [>\u203a\u00bb] ", own)
    names = [
        own,
        parts[-1],
        own.partition("[")[0],
        own.partition(" with data set ")[0],
        own.partition("(")[0],
        own.partition("/")[0],
        *(own.rpartition(mark)[2] for mark in "./\\:" if re.fullmatch(r"[\w$./\\:]+", own)),
        *(" ".join(words[start:]) for start in range(1, min(len(words) - 1, MOST_WORDS))),
        *parts[-2::-1],
    ]
    return tuple(dict.fromkeys(name for name in names if len(name) > 1))


def has_title(test_id: str, title: str) -> bool:
    """Tell whether a test has a title, which may be a template of cases, after those of its groups."""
    pattern = _CASE.sub(".+", re.escape(title))
    own = test_id.rpartition("::")[2]
    return any(re.fullmatch(pattern, name) for name in names_of(test_id)) or (
        re.fullmatch(rf".* {pattern}", own) is not None
    )
