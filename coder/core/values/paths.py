"""Classification of paths inside a repository, and matching of test ids."""

import re
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath

TEST_DIRECTORIES = frozenset(
    {"test", "tests", "testing", "unit_tests", "unittests", "functional_tests", "integration_tests"}
)
_NODE_ID = re.compile(r"[\w./-]+\.py::[\w.:-]+(?:\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*\])?")
"""Parameters may have spaces, and brackets in pairs; where brackets do not pair, the match is the whole
function."""
_ABSOLUTE_PATH_PARAMETERS = re.compile(r"\[(?:.*[^\w.:/])?/(?:[^/]+/){2}.*")
"""Parameters with an absolute path: another checkout of the same tree has other ids, so the whole function is
used."""


def is_test_path(path: str) -> bool:
    """Tell whether a path is a test, or something that only tests use (fixtures, data, conftest.py)."""
    *folders, name = path.rstrip("/").split("/")
    return (
        not TEST_DIRECTORIES.isdisjoint([folder.lower() for folder in folders])
        or name in ("conftest.py", "tests.py", "testutil.py", "testutils.py", "testhelpers.py")
        or (name == "test.py" and not folders)
        or (name.startswith("test_") and name.endswith(".py"))
        or name.endswith("_test.py")
    )


def extract_node_ids(text: str) -> tuple[str, ...]:
    """Return the pytest node ids that a text mentions, in order, without duplicates."""
    return tuple(
        dict.fromkeys(
            _ABSOLUTE_PATH_PARAMETERS.sub("", match.rstrip(".:")) for match in _NODE_ID.findall(text)
        )
    )


def match_test_ids(names: Iterable[str]) -> Callable[[str], bool]:
    """Return a predicate that tells whether one of the names selects a test id, as the pytest plugin selects.

    A name is a node id, a function without parameters, a class, a file or a directory.
    """
    exact = frozenset(name.rstrip("/") for name in names)
    prefixes = tuple(f"{name}{end}" for name in exact for end in ("[", "::", "/"))
    return lambda test_id: test_id in exact or test_id.startswith(prefixes)


def test_file_of(test_id: str) -> str:
    """Return the file of a test id."""
    return test_id.partition("::")[0]


def is_test_file(path: str) -> bool:
    """Tell whether pytest's defaults would collect a path.

    Data, helpers and conftest.py are test paths too, but hold no tests.
    """
    name = PurePosixPath(path).name
    return (
        name.endswith("_test.py") or name == "tests.py" or (name.startswith("test_") and name.endswith(".py"))
    )
