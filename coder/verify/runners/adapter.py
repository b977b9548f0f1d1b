"""The port of test runners that report results themselves, and what their adapters share."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from coder.core.values.base import Value
from coder.core.values.paths import test_file_of
from coder.core.values.verdict import Failure, TestResult

LONGEST_TEXT = 6000
ESCAPE_SEQUENCE = re.compile(r"\x1b\[[0-9;]*m")


class Selection(Value):
    """The tests to run; none means the whole suite."""

    files: tuple[str, ...] = ()
    """Existing files and directories of the tests, relative to the working directory."""
    names: tuple[str, ...] = ()
    """Names of tests within their files, where all that is asked for are single tests."""


class Run(Value):
    """One run of a test runner."""

    argv: tuple[str, ...]
    """The parsed command, without our options."""
    folder: Path
    """Absolute path of the working directory, inside of the tested tree."""
    place: Path
    """A directory for the report, made for this run."""
    selection: Selection = Selection()
    output: str = ""
    """What it printed, once it has ended."""


class Invocation(Value):
    """A command line and the variables that it needs."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = {}


class Adapter(Protocol):
    """A test runner: how it is found, started, and how its results are read.

    Ids are `path::name`, with the path of the file that defines the test, relative to the working directory.
    """

    name: str

    def find_commands(self, folder: Path) -> Iterator[str]:
        """Yield the commands with which the project in this directory runs its tests."""
        ...

    def recognize(self, words: Sequence[str]) -> tuple[str, ...] | None:
        """Return the command line that a command amounts to; None if it does not start this runner."""
        ...

    def prepare(self, run: Run) -> Invocation:
        """Return what to execute so that a run's results can be read afterwards."""
        ...

    def read_results(self, run: Run) -> Iterator[TestResult]:
        """Yield the results of a finished run.

        A file that cannot be compiled or loaded is one result, red in the stage `collect`, under its path.
        """
        ...


def select_tests(tests: Sequence[str], folder: str) -> Selection:
    """Return the selection of test ids, relative to the tree, for a run in its directory `folder`."""
    inside = [test.removeprefix(f"{folder}/") for test in tests] if folder else tests
    names = [name for _, _, name in (test.partition("::") for test in inside)]
    return Selection(
        files=tuple(dict.fromkeys(map(test_file_of, inside))),
        names=tuple(dict.fromkeys(names)) if all(names) else (),
    )


def collection_failure(path: str, message: str, text: str = "") -> TestResult:
    """Return the result of a test file that could not be compiled or loaded."""
    failure = Failure(type="CollectionError", message=message, text=(text or message)[-LONGEST_TEXT:])
    return TestResult(id=path, outcome="error", when="collect", failure=failure)


def plain_text(text: str) -> str:
    """Return terminal output without escape sequences for colours."""
    return ESCAPE_SEQUENCE.sub("", text)
