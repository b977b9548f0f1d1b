"""Paths and test ids inside a repository."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath

SOURCE_SUFFIXES = (
    *(".py", ".pyi", ".pyx", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"),
    *(".go", ".rs", ".java", ".kt", ".scala", ".swift", ".cs", ".rb", ".rake", ".php", ".lua", ".sh"),
    *(".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"),
)
"""File name extensions of the languages that are indexed."""
TEST_DIRECTORIES = frozenset(
    {
        *("test", "tests", "testing", "unit_tests", "unittests", "functional_tests", "integration_tests"),
        *("__tests__", "__test__", "__snapshots__", "__mocks__", "__fixtures__"),
        *("testdata", "test-data", "test_data", "testfixtures", "e2e", "golden", "goldens"),
    }
)
SPEC_DIRECTORIES = frozenset({"spec", "specs"})
"""Tests in some languages; in those of `NO_SPECS` such a folder holds code about a specification."""
NO_SPECS = (".c", ".cc", ".cpp", ".cs", ".go", ".h", ".hpp", ".java", ".kt", ".proto", ".py", ".rs", ".scala")
_TEST_DIRECTORY = re.compile(r"src/(?:[a-z]\w*)?Test/|(?:^|/)[\w.]+\.(?:\w+)?Tests?/")
"""Source sets of Gradle, such as `src/integrationTest`; test projects of .NET, such as `Shop.Tests`."""
_TEST_NAMES = re.compile(
    r"""
      (?:test[-_].+ | .+[-_.](?:test|spec|cy|e2e) | test)\.[cm]?[jt]sx?
    | .+\.snap | .+\.golden | .+\.feature | .+\.bats | .+\.phpt | .+\.t | .+_SUITE\.erl
    | .+_test\.(?:go | exs? | dart | cljc? | lua | sh)
    | (?:tests? | .+_tests? | test_.+)\.rs
    | (?:.+_(?:spec|test) | test_.+ | (?:spec|test|rails)_helper)\.(?:rb | lua | cr)
    | (?:\w+(?:Test|Tests|TestCase|IT|Spec) | Test[A-Z]\w*)\.(?:java | kts? | scala | groovy)
    | \w+(?:Test | Tests | TestCase | Cest | Spec)\.(?:php | cs | fs | swift | hs)
    | (?:.+_(?:test|tests|unittest) | test_.+ | \w+Tests?)\.(?:c | cc | cpp | cxx | h | hh | hpp)
    """,
    re.VERBOSE,
)
"""Test files of languages other than Python, by the conventions of their runners, with snapshots and golden
files."""
_NODE_ID = re.compile(r"[\w./-]+\.py::[\w.:-]+(?:\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*\])?")
"""Parameters may have spaces, and brackets in pairs; where brackets do not pair, the match is the whole
function."""
_ABSOLUTE_PATH_PARAMETERS = re.compile(r"\[(?:.*[^\w.:/])?/(?:[^/]+/){2}.*")
"""Parameters with an absolute path: another checkout of the same tree has other ids, so the whole function is
used."""


LONGEST_NAME = 255
LONGEST_PATH = 2000


def split_path(name: str) -> list[str]:
    """Return the parts of a path that is relative to a repository's root; links are not looked at.

    Raises:
        ValueError: it leads out of the repository, or into git's own files; the message is a sentence.
    """
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts:
        raise ValueError(
            f"{name[:100]!r} leads out of the repository. "
            "Paths are relative to its root and never contain '..'."
        )
    if any(map(is_git_name, parts)):
        raise ValueError(f"{name[:100]!r} belongs to git itself and cannot be read or changed.")
    is_long = any(len(part.encode("utf-8", "replace")) > LONGEST_NAME for part in parts)
    if is_long or len(name) > LONGEST_PATH or "\0" in name:
        raise ValueError(f"{name[:100]!r} is no path: it is too long, or holds a NUL character.")
    return parts


def is_git_name(part: str) -> bool:
    """Tell whether some file system would take a part of a path for .git.

    File systems may ignore case, trailing dots and spaces, and invisible characters.
    """
    visible = "".join(character for character in part if unicodedata.category(character) != "Cf")
    return visible.casefold().split(":")[0].rstrip(" .") in (".git", "git~1")


def is_test_path(path: str) -> bool:
    """Tell whether a path is a test, or something that only tests use (fixtures, data, conftest.py).

    The name alone decides, by the conventions of all languages; `coder.verify.test_files` adds what a
    project's configuration and its test runs tell.
    """
    *folders, name = path.rstrip("/").split("/")
    lower_folders = {folder.lower() for folder in folders}
    return (
        not TEST_DIRECTORIES.isdisjoint(lower_folders)
        or (not SPEC_DIRECTORIES.isdisjoint(lower_folders) and not name.endswith(NO_SPECS))
        or name in ("conftest.py", "tests.py", "testutil.py", "testutils.py", "testhelpers.py")
        or (name == "test.py" and not folders)
        or (name.startswith("test_") and name.endswith(".py"))
        or name.endswith("_test.py")
        or _TEST_NAMES.fullmatch(name) is not None
        or _TEST_DIRECTORY.search(path) is not None
    )


def extract_node_ids(text: str) -> tuple[str, ...]:
    """Return the pytest node ids that a text mentions, in order, without duplicates."""
    return tuple(
        dict.fromkeys(
            _ABSOLUTE_PATH_PARAMETERS.sub("", match.rstrip(".:")) for match in _NODE_ID.findall(text)
        )
    )


STARTER = re.compile(r"(?:^|/)(?:run|manage\b)[^/]*$")
"""Names of scripts that start tests."""


TESTED_SUFFIXES = tuple(suffix for suffix in SOURCE_SUFFIXES if suffix != ".sh")


def names_only_tests(command: str) -> bool:
    """Tell whether a text given as a test command consists of files of tests and test ids.

    A script that starts tests, such as `tests/runtests.py`, is a command.
    """
    return bool(command.split()) and all(
        path.endswith(TESTED_SUFFIXES)
        and (bool(colons) or is_test_file(path) or (is_test_path(path) and not STARTER.search(path)))
        and not path.startswith(("/", "-"))
        for path, colons, _ in (word.partition("::") for word in _split_tests(command))
    )


def find_command_tests(command: str | None) -> tuple[str, ...]:
    """Return the tests that a test command names; all its words where it names only tests."""
    if command is None:
        return ()
    if names_only_tests(command):
        return tuple(word.removeprefix("./") for word in _split_tests(command))
    return extract_node_ids(command)


def _split_tests(text: str) -> list[str]:
    """Split at spaces that are not within the parameters of a test.

    One id of another language than Python is not split, since titles of tests have spaces.
    """
    path, colons, _ = text.strip().partition("::")
    if colons and " " not in path and not path.endswith(".py"):
        return [text.strip()]
    return re.split(r"\s+(?![^\[\]]*\])", text.strip())


def match_test_ids(names: Iterable[str]) -> Callable[[str], bool]:
    """Return a predicate that tells whether one of the names selects a test id, as the pytest plugin selects.

    A name is a node id, a function without parameters, a class, a file or a directory; or a file with a file
    of data that ids in it name, alone or with a case: `test_all.py::a.test::case`.
    """
    exact = frozenset(name.rstrip("/") for name in names)
    prefixes = tuple(f"{name}{end}" for name in exact for end in ("[", "::", "/"))
    data = [
        (file, f"::{rest}::") for file, _, rest in (name.partition("::") for name in exact) if "." in rest
    ]

    def is_match(test_id: str) -> bool:
        return (
            test_id in exact
            or test_id.startswith(prefixes)
            or any(test_id.startswith(f"{file}::") and rest in f"{test_id}::" for file, rest in data)
        )

    return is_match


def most_general_ids(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names, in their order, without those that another one selects for `match_test_ids`."""
    unique = dict.fromkeys(names)
    ends = re.compile(r"\[|::|/")
    return tuple(
        name for name in unique if not any(name[: end.start()] in unique for end in ends.finditer(name))
    )


def test_file_of(test_id: str) -> str:
    return test_id.partition("::")[0]


def test_function_of(test_id: str) -> str:
    """Return a test id without the parameters of its case; directories may have brackets of their own."""
    path, mark, name = test_id.partition("::")
    return f"{path}{mark}{name.partition('[')[0]}"


def test_name_of(test_id: str) -> str:
    """Return the bare name of a test's function, whatever its parameters hold."""
    return test_function_of(test_id).rpartition("::")[2]


def is_test_file(path: str) -> bool:
    """Tell whether the defaults of pytest, unittest or Django would collect a path.

    Data, helpers and conftest.py are test paths too, but hold no tests. A `test.py` counts at the top and in
    a folder of tests, since packages have modules of that name.
    """
    name = PurePosixPath(path).name
    return (
        name.endswith("_test.py")
        or name == "tests.py"
        or (name.startswith("test_") and name.endswith(".py"))
        or (name == "test.py" and is_test_path(path))
    )


PROSE = frozenset({".adoc", ".cff", ".md", ".po", ".pot", ".rst", ".txt"})
PROSE_FOLDERS = frozenset(
    {
        *("doc", "docs", "changes", "changelog", "changelog.d", "newsfragments"),
        *("release-notes", "releasenotes", ".circleci", ".github"),
    }
)
META = frozenset(
    {
        *(".mailmap", ".gitignore", ".gitattributes", ".editorconfig", "CODEOWNERS"),
        *(".gitlab-ci.yml", ".travis.yml", "azure-pipelines.yml", "appveyor.yml", ".appveyor.yml"),
        *(".pre-commit-config.yaml", ".readthedocs.yaml", ".readthedocs.yml", "codecov.yml", ".codecov.yml"),
    }
)
"""Files that git, editors and services read, and tests do not."""
_BUILD_TEXT = re.compile(
    r"(?:.*/)?(?:CMakeLists|meson_options|[\w.-]*(?:requirements|constraints)[\w.-]*)\.txt"
    r"|(?:.*/)?requirements/[^/]+\.txt"
)
"""Matches text files that programs read."""


def is_prose(path: str) -> bool:
    """Tell whether a file is documentation, by its name."""
    pure = PurePosixPath(path)
    if pure.suffix == ".py" or _BUILD_TEXT.fullmatch(path):
        return False
    folders = {part.lower() for part in pure.parts[:-1]}
    is_named_so = pure.name in META or (not pure.suffix and pure.name.isupper())
    return pure.suffix in PROSE or bool(PROSE_FOLDERS & folders) or is_named_so


UNTRACKED = "untracked"
"""Begin of the reason why work that nobody made for the change, such as a dump, was left out of it."""


def is_bystander(exclusion: str) -> bool:
    """Tell whether work that was left out (`path (reason)`) lies beside the change."""
    return f"({UNTRACKED}, " in exclusion
