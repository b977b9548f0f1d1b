"""Adapter of Mocha."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from coder.core.verdict import Frame, Outcome, TestResult
from coder.verify.runners.adapter import Invocation, Run, build_failures, plain_text, read_json
from coder.verify.runners.node.packages import (
    ENVIRONMENT,
    NodeAdapter,
    find_binary,
    parse_error,
    relative_path,
    without_paths,
)

PROGRAMS = ("mocha", "_mocha", "mocha.js")
REPORTER = Path(__file__).parents[2] / "target" / "node" / "mocha_reporter.cjs"
"""Our reporter: Mocha's own writes no file before version 9.2, and names no files of tests before 8."""
REPORT = "report.json"
BEFORE_VALUES = (
    *("-r", "--require", "--import", "--loader", "--config", "-c", "--ui", "-u", "-R", "--reporter", "-t"),
    *("--timeout", "-s", "--slow", "-g", "--grep", "-f", "--fgrep", "--file", "--extension", "--package"),
)
LOAD_ERROR = "Exception during run: "
"""Start of the message that Mocha prints, instead of a report, if a file cannot be loaded."""
NAMED_FILE = re.compile(r"(?P<path>/[^\s:()\[\]']+\.[cm]?[jt]sx?)\b(?::(?P<line>\d+))?")
OUTCOMES: tuple[tuple[str, Outcome], ...] = (
    ("passes", "passed"),
    ("failures", "failed"),
    ("pending", "skipped"),
)
"""Lists of the report, and the outcome of the tests in them."""


class Mocha(NodeAdapter):
    """Adapter of Mocha."""

    name = "mocha"

    def recognizes(self, words: Sequence[str]) -> bool:
        """Tell whether the program is Mocha."""
        return bool(words) and words[0].rpartition("/")[2] in PROGRAMS

    def prepare(self, run: Run) -> Invocation:
        """Name the files where the command does; those that a configuration file adds are run as well."""
        words: Sequence[str] = run.argv[1:]
        if run.files:
            words = (*without_paths(words, run.tree, before_values=BEFORE_VALUES), *run.files)
        output = f"output={run.place / REPORT}"
        report = ("--reporter", str(REPORTER), "--reporter-options", output)  # plural: in every version
        argv = (find_binary(run.tree, "mocha"), *words, *report, "--exit")
        return Invocation(argv=argv, environment=ENVIRONMENT)

    def read_results(self, run: Run) -> Iterator[TestResult]:
        """Yield the results in the report."""
        report = read_json(run.place / REPORT)
        for key, outcome in OUTCOMES:
            for test in report.get(key, ()):
                yield _to_result(test, outcome, run.tree)
        if not report:
            yield from _load_failures(run)


def _load_failures(run: Run) -> Iterator[TestResult]:
    """Yield the test file that could not be loaded, which is the outermost that the error names."""
    text = plain_text(run.output).partition(LOAD_ERROR)[2]
    frames = [
        Frame(path=path, line=int(match["line"] or 1), function="<unknown>")
        for match in NAMED_FILE.finditer(text)
        if not (path := relative_path(match["path"], run.tree)).startswith("/")
    ]
    yield from build_failures(
        run, dict.fromkeys(frames), text, test_files=[frame.path for frame in frames[-1:]]
    )


def _to_result(test: dict[str, Any], outcome: Outcome, tree: Path) -> TestResult:
    path = relative_path(str(test.get("file") or ""), tree)
    title = str(test.get("title") or "?")
    suite = str(test.get("fullTitle") or title).removesuffix(title).strip()
    error = test.get("err") or {}
    return TestResult(
        id=f"{path}::{' > '.join(filter(None, (suite, title)))}",
        outcome=outcome,
        when="setup" if title.startswith('"before') else "call",
        seconds=(test.get("duration") or 0) / 1000,
        failure=parse_error(str(error.get("stack") or error.get("message") or ""), tree)
        if outcome == "failed"
        else None,
    )
