"""What a path inside a repository is for, told from its name alone, and the tests that names mean."""

import re
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath

TEST_DIRECTORIES = frozenset(
    {"test", "tests", "testing", "unit_tests", "unittests", "functional_tests", "integration_tests"}
)
_NODE_ID = re.compile(r"[\w./-]+\.py::[\w.:-]+(?:\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*\])?")
"""Parameters may have spaces, and brackets in pairs; where they do not pair, the whole function is meant."""
_OF_ONE_CHECKOUT = re.compile(r"\[(?:.*[^\w.:/])?/(?:[^/]+/){2}.*")
"""Parameters with an absolute path: in another checkout of the same tree they read otherwise, so that the whole function is meant."""


def is_test_path(path: str) -> bool:
    """Is this a test, or something that only tests use (fixtures, data, conftest.py)?"""
    *folders, name = path.rstrip("/").split("/")
    return (
        not TEST_DIRECTORIES.isdisjoint([folder.lower() for folder in folders])
        or name in ("conftest.py", "tests.py", "testutil.py", "testutils.py", "testhelpers.py")
        or (name == "test.py" and not folders)
        or (name.startswith("test_") and name.endswith(".py"))
        or name.endswith("_test.py")
    )


def node_ids(text: str) -> tuple[str, ...]:
    """pytest node ids that a text mentions, in order, each once."""
    return tuple(
        dict.fromkeys(_OF_ONE_CHECKOUT.sub("", match.rstrip(".:")) for match in _NODE_ID.findall(text))
    )


def meant(names: Iterable[str]) -> Callable[[str], bool]:
    """Does one of the names (node id, function without parameters, class, file, directory) mean a test? As the plugin selects."""
    exact = frozenset(name.rstrip("/") for name in names)
    beginnings = tuple(f"{name}{end}" for name in exact for end in ("[", "::", "/"))
    return lambda test_id: test_id in exact or test_id.startswith(beginnings)


def file_of(test_id: str) -> str:
    return test_id.partition("::")[0]


def is_test_file(path: str) -> bool:
    """Would pytest's defaults collect it? Data, helpers and conftest.py are test paths too, but hold no tests."""
    name = PurePosixPath(path).name
    return (
        name.endswith("_test.py") or name == "tests.py" or (name.startswith("test_") and name.endswith(".py"))
    )
