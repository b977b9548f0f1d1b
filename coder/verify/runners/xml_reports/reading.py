"""Reading of JUnit reports, and what adapters make of their failures."""

from collections.abc import Iterable
from pathlib import Path

from coder.core.verdict import Frame, TestResult
from coder.files.regular_files import read_regular
from coder.verify.results.reports import LARGEST_XML, parse_junit
from coder.verify.runners.adapter import normalize_failure


def read_report(file: Path, tree: Path) -> tuple[TestResult, ...]:
    """Return the results in a JUnit report, with ids `classname::name`; none if there is no such file."""
    return parse_junit(read_file(file, tree))


def read_file(file: Path, tree: Path) -> str:
    """Return the text of a report below a directory; empty if it is missing or too large."""
    return (read_regular(file, within=tree, limit_bytes=LARGEST_XML) or b"").decode("utf-8", "replace")


def with_frames(result: TestResult, id: str, frames: Iterable[Frame]) -> TestResult:
    """Return a result under another id; its failure has these frames and a type that all languages share."""
    failure = result.failure and normalize_failure(result.failure, frames)
    return result.model_copy(update={"id": id, "failure": failure})
