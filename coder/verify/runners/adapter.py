"""The port of test runners that report results themselves, and what their adapters share."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from coder.core.values import Value
from coder.core.verdict import Failure, Frame, TestResult

LONGEST_TEXT = 6000
ERROR_LINE = re.compile(r"\b\w*(?:Error|Exception): ")
STACK = re.compile(r"\n(?:\s+at |/\S+:\d+$)", re.M)
"""The first line of a stack trace below a message."""
ASSERTIONS = frozenset(
    {
        *("AssertionError", "AssertionFailedError", "AssertionFailure", "ComparisonFailure"),
        *("ConditionNotSatisfiedError", "ExpectationFailedException", "ExpectationNotMetError"),
        *("MultipleExpectationsNotMetError", "MultipleFailuresError"),
    }
)
"""Exceptions by which assertions of JUnit, AssertJ, Spock, PHPUnit and RSpec fail."""
ESCAPE_SEQUENCE = re.compile(r"\x1b\[[0-9;]*m")


class Run(Value):
    """One run of a test runner."""

    argv: tuple[str, ...]
    """The parsed command, without our options."""
    tree: Path
    """The tested tree, which is the working directory."""
    place: Path
    """A directory for the report, made for this run."""
    files: tuple[str, ...] = ()
    """Existing test files and directories to run, relative to the tree; none means the whole suite."""
    tests: tuple[str, ...] = ()
    """Ids of the tests to run, in `files`; more may be run than these."""
    output: str = ""
    """The runner's output; empty before it has ended, and if a part of it was dropped."""


class Invocation(Value):
    """A command line and the variables that it needs."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = {}


class Adapter(Protocol):
    """A test runner: how it is found, started, and how its results are read.

    Ids are `path::name`, with the path of the file that defines the test, relative to the tree.
    """

    name: str

    def find_commands(self, root: Path) -> Iterator[str]:
        """Yield the commands with which the project in this directory runs its tests."""
        ...

    def recognizes(self, words: Sequence[str]) -> bool:
        """Tell whether a command, without launchers before its program, starts this runner."""
        ...

    def prepare(self, run: Run) -> Invocation:
        """Return what to execute so that a run's results can be read afterwards."""
        ...

    def read_results(self, run: Run) -> Iterator[TestResult]:
        """Yield the results of a finished run.

        A file that cannot be compiled or loaded is one result, red in the stage `collect`, under its path.
        """
        ...


def collection_failure(path: str, text: str, frames: tuple[Frame, ...] = ()) -> TestResult:
    """Return the result of a test file that could not be compiled or loaded, with what was printed about it.

    `frames` are the positions of the errors. Its message is the first line that names an error, else the
    first line that is no heading.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip(" ●")]
    named = (line for line in lines if ERROR_LINE.search(line))
    message = next(
        named, next((line for line in lines if not line.startswith("●")), "it could not be loaded")
    )
    failure = Failure(type="CollectionError", message=message, frames=frames, text=text[-LONGEST_TEXT:])
    return TestResult(id=path, outcome="error", when="collect", failure=failure)


def build_failures(
    run: Run, errors: Iterable[Frame], text: str, *, test_files: Iterable[str]
) -> Iterator[TestResult]:
    """Yield the test files that errors of a compiler or loader name, or else all, if there is an error.

    `test_files` are all that are known. Only those that were asked for are taken, if some were.
    """
    frames = tuple(errors)
    files = dict.fromkeys(run.files or test_files)
    wrong = [frame.path for frame in frames if frame.path in files]
    for path in dict.fromkeys(wrong or files or [frame.path for frame in frames]) if frames else ():
        yield collection_failure(path, text, frames)


def normalize_failure(failure: Failure, frames: Iterable[Frame]) -> Failure:
    """Return a failure with these frames, outermost first, as AssertionError if an assertion failed."""
    type = "AssertionError" if failure.type in ASSERTIONS else failure.type
    message = STACK.split(failure.message, maxsplit=1)[0].strip()
    return failure.model_copy(update={"type": type, "message": message, "frames": tuple(frames)})


def find_program(words: Sequence[str], name: str, *, through: Sequence[str]) -> int | None:
    """Return the position of a program in a command, after words that start it; None if it is another one."""
    for index, word in enumerate(words):
        if word.rpartition("/")[2] == name:
            return index
        may_be_option = index > 0 and (word.startswith("-") or words[index - 1].startswith("-"))
        if word.rpartition("/")[2] not in through and not may_be_option:
            break
    return None


def read_json(file: Path) -> dict[str, Any]:
    """Return a report; empty if it is missing or was cut off."""
    try:
        report = json.loads(file.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError):
        return {}
    return report if isinstance(report, dict) else {}


def plain_text(text: str) -> str:
    """Return terminal output without escape sequences for colours."""
    return ESCAPE_SEQUENCE.sub("", text)
