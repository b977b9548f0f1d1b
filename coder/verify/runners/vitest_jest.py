"""Adapters of Vitest and Jest, which write the same report."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
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
)

OUTCOMES: Mapping[str, Outcome] = {"passed": "passed", "failed": "failed"}
"""Any other status (pending, skipped, todo, disabled) means that the test did not run."""
REPORT = "report.json"


class _JsonReporter(ABC):
    """Adapter of a runner that writes the report of Jest."""

    name: str
    script: str
    """The file that its command runs, as people name it after `node`."""

    @abstractmethod
    def prepare(self, run: Run) -> Invocation: ...

    def find_commands(self, folder: Path) -> Iterator[str]:
        """Yield the test scripts that start this runner, else its bare command if it is a dependency."""
        return find_test_commands(self, folder)

    def recognize(self, words: Sequence[str]) -> tuple[str, ...] | None:
        """Return the command with the runner's own program; None if it starts another one."""
        words = strip_launchers(words)
        for index, word in enumerate(words):
            name = word.rpartition("/")[2]
            if name == self.name:
                return words if index else (self.name, *words[1:])
            if name == self.script and words[0] == "node":
                return words
            if words[0] != "node":
                return None
        return None

    def read_results(self, run: Run) -> Iterator[TestResult]:
        """Yield the results in the report."""
        try:
            report = json.loads((run.place / REPORT).read_text(encoding="utf-8", errors="replace"))
        except (OSError, ValueError):
            return
        for file in report.get("testResults", ()):
            path = relative_path(str(file.get("name") or file.get("testFilePath")), run.folder)
            results = list(_results_of_file(file, path, run.folder))
            if not results and file.get("status") == "failed":
                message = str(file.get("message") or "the file could not be loaded")
                yield collection_failure(path, message.strip().partition("\n")[0], message)
            yield from results


class Vitest(_JsonReporter):
    """Adapter of Vitest."""

    name, script = "vitest", "vitest.mjs"

    def prepare(self, run: Run) -> Invocation:
        """Run once, whatever the command says about watching; files are chosen by parts of paths."""
        words = [
            word for word in run.argv[1:] if word not in ("run", "watch", "dev", "--watch", "--run", "--ui")
        ]
        words = [word for word in words if not word.startswith(("--reporter", "--outputFile", "--coverage"))]
        if run.argv[0] == "node":
            words = [*words[:1], "run", *words[1:]]
            program: tuple[str, ...] = ("node",)
        else:
            program = (find_binary(run.folder, "vitest"), "run")
        return Invocation(
            argv=(
                *program,
                *words,
                *("--reporter=json", "--coverage.enabled=false", "--watch=false"),
                f"--outputFile={run.place / REPORT}",
                *_name_option(run.selection.names),
                *run.selection.files,
            ),
            environment=ENVIRONMENT,
        )


class Jest(_JsonReporter):
    """Adapter of Jest."""

    name, script = "jest", "jest.js"

    def prepare(self, run: Run) -> Invocation:
        """Run once without a cache shared between trees; files are chosen by their paths."""
        words = [
            word
            for word in run.argv[1:]
            if not word.startswith(("--watch", "--coverage", "--json", "--output"))
        ]
        program = ("node",) if run.argv[0] == "node" else (find_binary(run.folder, "jest"),)
        paths = ("--runTestsByPath", *run.selection.files) if run.selection.files else ()
        return Invocation(
            argv=(
                *program,
                *words,
                *("--json", "--ci", "--coverage=false", "--watchAll=false", "--forceExit"),
                f"--outputFile={run.place / REPORT}",
                f"--cacheDirectory={run.place / 'cache'}",
                *_name_option(run.selection.names),
                *paths,
            ),
            environment=ENVIRONMENT,
        )


def _name_option(names: Sequence[str]) -> tuple[str, ...]:
    """Return the option that chooses tests by name, which both match against `suite test`."""
    if not names:
        return ()
    patterns = [re.sub(r" > ", " ", re.sub(r" #\d+$", "", name)) for name in names]
    return ("-t", "|".join(f"^{re.escape(pattern)}$" for pattern in patterns))


def _results_of_file(file: Mapping[str, Any], path: str, folder: Path) -> Iterator[TestResult]:
    for test in file.get("assertionResults", ()):
        outcome = OUTCOMES.get(test.get("status"), "skipped")
        messages = [str(message) for message in test.get("failureMessages") or ()]
        yield TestResult(
            id=f"{path}::{' > '.join([*test.get('ancestorTitles', ()), test.get('title', '?')])}",
            outcome=outcome,
            seconds=(test.get("duration") or 0) / 1000,
            failure=parse_error(messages[0] if messages else "", folder) if outcome == "failed" else None,
        )
