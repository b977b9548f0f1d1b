"""Adapter of the test runner of Node.js itself."""

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from coder.core.paths import is_test_path
from coder.core.verdict import Outcome, TestResult
from coder.verify.runners.adapter import Invocation, Run, collection_failure
from coder.verify.runners.node.packages import (
    ENVIRONMENT,
    NodeAdapter,
    find_binary,
    find_parts,
    find_test_scripts,
    parse_error,
    read_manifest,
    read_scripts,
    relative_path,
    split_launchers,
    without_paths,
)
from coder.verify.runners.sources import read_source, source_files

REPORTER = Path(__file__).parents[2] / "target" / "node" / "reporter.mjs"
"""Our reporter, which runs in Node's process, beside those of the tests."""
REPORT = "report.jsonl"
COMMAND = "node --test"
PROGRAMS = ("node", "tsx")
SUFFIXES = (".js", ".mjs", ".cjs")
IMPORT = re.compile(r"""(?:\bfrom|\brequire\(|\bimport)\s*["']node:test["']""")
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


class NodeTest(NodeAdapter):
    """Adapter of `node --test`, and of `tsx --test`, which passes it on."""

    name = "node"

    def find_commands(self, root: Path) -> Iterator[str]:
        """Yield what runs tests that import `node:test`, if no script starts it on them.

        Other programs may run such tests: wrappers such as borp, or Node on a file that imports them all.
        """
        if read_manifest(root) and not self._has_script(root):
            yield from _entry_commands(root)
            tests = (path for path in source_files(root, SUFFIXES) if is_test_path(path))
            if any(IMPORT.search(read_source(root, path)) for path in tests):
                yield COMMAND

    def _has_script(self, root: Path) -> bool:
        """Tell whether a test script starts the runner."""
        scripts = read_scripts(root)
        return any(
            self.recognizes(split_launchers(part.words)[1])
            for name in find_test_scripts(scripts)
            for part in find_parts(scripts[name], scripts)
        )

    def recognizes(self, words: Sequence[str]) -> bool:
        """Tell whether Node runs tests, itself or started by tsx."""
        return bool(words) and words[0].rpartition("/")[2] in PROGRAMS and "--test" in words

    def prepare(self, run: Run) -> Invocation:
        """Report through our reporter; patterns are expanded, which Node does since 21 only."""
        words: Sequence[str] = [
            word for word in run.argv[1:] if not word.startswith(("--test-reporter", "--watch"))
        ]
        if run.files:
            words = (*without_paths(words, run.tree, before_values=BEFORE_VALUES), *run.files)
        words = [path for word in words for path in _expand(word, run.tree)]
        report = (f"--test-reporter={REPORTER.as_uri()}", f"--test-reporter-destination={run.place / REPORT}")
        program = find_binary(run.tree, run.argv[0])
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
            yield _to_result(record, run.tree)


def _entry_commands(root: Path) -> Iterator[str]:
    """Yield the test scripts that run a file with Node, as commands of its test runner."""
    scripts = read_scripts(root)
    for name in find_test_scripts(scripts):
        for part in find_parts(scripts[name], scripts):
            program, *arguments = split_launchers(part.words)[1] or ("",)
            file = arguments[-1] if arguments else ""
            if program == "node" and is_test_path(file) and (root / file).is_file():
                yield shlex.join((program, "--test", *arguments))


def _expand(word: str, tree: Path) -> Iterator[str]:
    if word.startswith("-") or "*" not in word:
        yield word
        return
    for path in sorted(tree.glob(word.removeprefix("./"))):
        if "node_modules" not in path.parts:
            yield path.relative_to(tree).as_posix()


def _to_result(record: dict[str, Any], tree: Path) -> TestResult:
    path = relative_path(record["file"], tree)
    error = record.get("error") or ""
    if record["is_file"]:  # a file that ends with an error outside of any test
        return collection_failure(path, error)
    outcome: Outcome = "skipped" if record["skipped"] else "passed" if record["passed"] else "failed"
    return TestResult(
        id=f"{path}::{' > '.join(record['names'])}",
        outcome=outcome,
        seconds=record["seconds"],
        failure=parse_error(error, tree) if outcome == "failed" else None,
    )
