"""Adapter of the test runner of Node.js itself."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from coder.core.values.verdict import Outcome, TestResult
from coder.verify.runners.adapter import Invocation, Run, collection_failure
from coder.verify.runners.node_packages import (
    ENVIRONMENT,
    find_binary,
    find_test_commands,
    parse_error,
    relative_path,
    strip_launchers,
    without_paths,
)

REPORTER = Path(__file__).parents[1] / "target" / "node" / "reporter.mjs"
"""Our reporter, which runs in Node's process, beside those of the tests."""
REPORT = "report.jsonl"
PROGRAMS = ("node", "tsx")
BEFORE_VALUES = (
    "-r",
    "--require",
    "--import",
    "--loader",
    "--experimental-loader",
    "-C",
    "--conditions",
    "--env-file",
)


class NodeTest:
    """Adapter of `node --test`, and of `tsx --test`, which passes it on."""

    name = "node"

    def find_commands(self, folder: Path) -> Iterator[str]:
        """Yield the package's test scripts that start the runner."""
        return find_test_commands(self, folder)

    def recognize(self, words: Sequence[str]) -> tuple[str, ...] | None:
        """Return the command without launchers; None if it does not run tests with Node."""
        words = strip_launchers(words)
        is_ours = bool(words) and words[0].rpartition("/")[2] in PROGRAMS and "--test" in words
        return (words[0].rpartition("/")[2], *words[1:]) if is_ours else None

    def prepare(self, run: Run) -> Invocation:
        """Report through our reporter; patterns are expanded, which Node does since 21 only."""
        words: Sequence[str] = [
            word for word in run.argv[1:] if not word.startswith(("--test-reporter", "--watch"))
        ]
        if run.selection.files:
            words = (*without_paths(words, run.folder, before_values=BEFORE_VALUES), *run.selection.files)
        words = [path for word in words for path in _expand(word, run.folder)]
        report = (f"--test-reporter={REPORTER.as_uri()}", f"--test-reporter-destination={run.place / REPORT}")
        program = run.argv[0] if run.argv[0] == "node" else find_binary(run.folder, run.argv[0])
        return Invocation(argv=(program, *report, *words), environment=ENVIRONMENT)

    def read_results(self, run: Run) -> Iterator[TestResult]:
        """Yield the results in our reporter's records: one a line, children before their parents."""
        try:
            text = (run.place / REPORT).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
        for line in text.splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue  # the last line of a run that was cut off
            yield _to_result(record, run.folder)


def _expand(word: str, folder: Path) -> Iterator[str]:
    if word.startswith("-") or "*" not in word:
        yield word
        return
    for path in sorted(folder.glob(word.removeprefix("./"))):
        if "node_modules" not in path.parts:
            yield path.relative_to(folder).as_posix()


def _to_result(record: dict[str, Any], folder: Path) -> TestResult:
    path = relative_path(record["file"], folder)
    error = record.get("error") or ""
    if record["is_file"]:  # a file that ends with an error outside of any test
        return collection_failure(
            path, parse_error(error, folder).message or "the file ended with an error", error
        )
    outcome: Outcome = "skipped" if record["skipped"] else "passed" if record["passed"] else "failed"
    return TestResult(
        id=f"{path}::{' > '.join(record['names'])}",
        outcome=outcome,
        seconds=record["seconds"],
        failure=parse_error(error, folder) if outcome == "failed" else None,
    )
