"""Adapter of Mocha."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from coder.core.values.verdict import TestResult
from coder.verify.runners.adapter import Invocation, Run
from coder.verify.runners.node_packages import (
    ENVIRONMENT,
    find_binary,
    find_test_commands,
    parse_error,
    relative_path,
    strip_launchers,
    without_paths,
)

PROGRAMS = ("mocha", "_mocha", "mocha.js")
REPORT = "report.json"
BEFORE_VALUES = (
    *("-r", "--require", "--import", "--loader", "--config", "-c", "--ui", "-u", "-R", "--reporter", "-t"),
    *("--timeout", "-s", "--slow", "-g", "--grep", "-f", "--fgrep", "--file", "--extension", "--package"),
)


class Mocha:
    """Adapter of Mocha."""

    name = "mocha"

    def find_commands(self, folder: Path) -> Iterator[str]:
        """Yield the package's test scripts that start Mocha, else its bare command if it is a dependency."""
        return find_test_commands(self, folder)

    def recognize(self, words: Sequence[str]) -> tuple[str, ...] | None:
        """Return the command with Mocha's own program; None if it starts another one."""
        words = strip_launchers(words)
        if not words or words[0].rpartition("/")[2] not in PROGRAMS:
            return None
        return ("mocha", *words[1:])

    def prepare(self, run: Run) -> Invocation:
        """Name the files where the command does; those that a configuration file adds are run as well."""
        words: Sequence[str] = run.argv[1:]
        if run.selection.files:
            words = (*without_paths(words, run.folder, before_values=BEFORE_VALUES), *run.selection.files)
        report = ("--reporter", "json", "--reporter-option", f"output={run.place / REPORT}")
        argv = (find_binary(run.folder, "mocha"), *words, *report, "--exit")
        return Invocation(argv=argv, environment=ENVIRONMENT)

    def read_results(self, run: Run) -> Iterator[TestResult]:
        """Yield the results in the report."""
        try:
            report = json.loads((run.place / REPORT).read_text(encoding="utf-8", errors="replace"))
        except (OSError, ValueError):
            return
        for key, outcome in (("passes", "passed"), ("failures", "failed"), ("pending", "skipped")):
            for test in report.get(key, ()):
                yield _to_result(test, outcome, run.folder)


def _to_result(test: dict[str, Any], outcome: Any, folder: Path) -> TestResult:
    path = relative_path(str(test.get("file") or ""), folder)
    title = str(test.get("title") or "?")
    suite = str(test.get("fullTitle") or title).removesuffix(title).strip()
    error = test.get("err") or {}
    return TestResult(
        id=f"{path}::{' > '.join(filter(None, (suite, title)))}",
        outcome=outcome,
        when="setup" if title.startswith('"before') else "call",
        seconds=(test.get("duration") or 0) / 1000,
        failure=parse_error(str(error.get("stack") or error.get("message") or ""), folder)
        if outcome == "failed"
        else None,
    )
