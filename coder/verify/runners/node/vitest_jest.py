"""Adapters of Vitest and Jest, with reports of the same form."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from coder.core.verdict import Outcome, TestResult
from coder.verify.runners.adapter import Invocation, Run, collection_failure, plain_text, read_json
from coder.verify.runners.arguments import without_options
from coder.verify.runners.node.packages import (
    ENVIRONMENT,
    NodeAdapter,
    find_binary,
    parse_error,
    relative_path,
)

OUTCOMES: Mapping[str, Outcome] = {"passed": "passed", "failed": "failed"}
"""Any other status (pending, skipped, todo, disabled) means that the test did not run."""
REPORT = "report.json"
VITEST_REPORTER = Path(__file__).parents[2] / "target" / "node" / "vitest_reporter.mjs"
"""Our reporter: the report of Vitest's own has no types of errors before version 2."""
VITEST_MODES = ("run", "watch", "dev", "--run", "--ui", "--watch", "-w")
VITEST_REPORTS = ("--reporter", "--outputFile")
"""Options with a value."""


class _JsonReporter(NodeAdapter):
    """Adapter of a runner whose report has the form of Jest's."""

    script: str
    """The file that its command runs, as people name it after `node`."""

    def recognizes(self, words: Sequence[str]) -> bool:
        """Tell whether the program is the runner, or Node with its script."""
        names = [word.rpartition("/")[2] for word in words]
        return names[:1] == [self.name] or (names[:1] == ["node"] and self.script in names)

    def read_results(self, run: Run) -> Iterator[TestResult]:
        """Yield the results in the report."""
        for file in read_json(run.place / REPORT).get("testResults", ()):
            path = relative_path(str(file.get("name")), run.tree)
            results = list(_results_of_file(file, path, run.tree))
            if not results and file.get("status") == "failed":
                yield collection_failure(path, plain_text(str(file.get("message") or "")))
            yield from results


class Vitest(_JsonReporter):
    """Adapter of Vitest."""

    name, script = "vitest", "vitest.mjs"

    def prepare(self, run: Run) -> Invocation:
        """Run once, whatever the command says about watching; files are chosen by parts of paths."""
        words = without_options(run.argv[1:], (*VITEST_MODES, *VITEST_REPORTS), VITEST_REPORTS)
        report = (f"--reporter={VITEST_REPORTER}", f"--outputFile={run.place / REPORT}")
        options = ("--run", *report, "--coverage.enabled=false")
        argv = (find_binary(run.tree, run.argv[0]), *words, *options, *run.files)
        return Invocation(argv=argv, environment=ENVIRONMENT)


class Jest(_JsonReporter):
    """Adapter of Jest."""

    name, script = "jest", "jest.js"

    def prepare(self, run: Run) -> Invocation:
        """Run once without a cache shared between trees; files are chosen by their paths."""
        words = [word for word in run.argv[1:] if not word.startswith(("--watch", "--json", "--output"))]
        options = (
            *("--json", f"--outputFile={run.place / REPORT}", f"--cacheDirectory={run.place / 'cache'}"),
            *("--ci", "--coverage=false", "--watchAll=false", "--forceExit"),
        )
        paths = ("--runTestsByPath", *run.files) if run.files else ()
        argv = (find_binary(run.tree, run.argv[0]), *words, *options, *paths)
        return Invocation(argv=argv, environment=ENVIRONMENT)


def _results_of_file(file: Mapping[str, Any], path: str, tree: Path) -> Iterator[TestResult]:
    for test in file.get("assertionResults", ()):
        outcome = OUTCOMES.get(test.get("status"), "skipped")
        messages = [str(message) for message in test.get("failureMessages") or ()]
        titles = filter(None, (*test.get("ancestorTitles", ()), test.get("title", "?")))
        yield TestResult(
            id=f"{path}::{' > '.join(titles)}",
            outcome=outcome,
            seconds=(test.get("duration") or 0) / 1000,
            failure=parse_error(messages[0] if messages else "", tree) if outcome == "failed" else None,
        )
