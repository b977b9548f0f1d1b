"""Runs of the project's own test runner, and their results."""

import json
from collections.abc import Sequence
from pathlib import Path

from coder.core.paths import match_test_ids, test_file_of
from coder.core.ports import Execution
from coder.core.verdict import RunProblem, TestResult
from coder.verify.results.reports import with_unique_ids
from coder.verify.runners.adapter import Adapter, Invocation, Run, plain_text
from coder.verify.runners.node.builds import (
    add_builds,
    read_failed_build,
    selects_compiled_tests,
    with_source_ids,
)

TAIL_LINES = 20
"""Lines of output shown where nothing else says what went wrong."""


def prepare_run(adapter: Adapter, run: Run, builds: Sequence[str]) -> Invocation:
    """Return what to execute so that a run's results can be read afterwards, after the builds."""
    whole = run.model_copy(update={"files": (), "tests": ()})
    selected = whole if selects_compiled_tests(run, builds) else run
    return add_builds(adapter.prepare(selected), builds, run.place)


def read_results(
    adapter: Adapter, run: Run, tests: Sequence[str], builds: Sequence[str] = ()
) -> tuple[TestResult, ...]:
    """Return the results of those tests that were asked for; of all if there are none.

    A file that could not be loaded is reported whichever of its tests were asked for. `builds` are the
    commands that ran before.
    """
    is_asked = match_test_ids(tests)
    files = frozenset(map(test_file_of, tests))
    results = with_unique_ids([*adapter.read_results(run)])
    if builds:
        results = (*with_source_ids(results, run.tree),) or (*read_failed_build(run),)
    return tuple(
        _without_tree(result, run.tree)
        for result in results
        if not tests or is_asked(result.id) or result.id in files
    )


def _without_tree(result: TestResult, tree: Path) -> TestResult:
    """Return a result whose texts do not name the worktree, of which each run has another."""
    if result.failure is None:
        return result
    texts = {
        name: text.replace(f"{tree}/", "")
        for name, text in (("message", result.failure.message), ("text", result.failure.text))
    }
    return result.model_copy(update={"failure": result.failure.model_copy(update=texts)})


def missing_results_problem(command: str, execution: Execution) -> RunProblem:
    """Return the problem of a run that reported no test."""
    if execution.exit_code == 0:
        text = f"`{command}` found no test. Name a test command with --test, or add a test."
        return RunProblem(kind="no_tests", text=text)
    text = f"`{command}` ended with exit code {execution.exit_code} before any test ran"
    return RunProblem(kind="no_report", text=f"{text}: {output_tail(execution.output)}")


def output_tail(output: str) -> str:
    """Return the last lines that a command printed, without blank ones; JSON messages as their text."""
    lines = [
        line.rstrip()
        for printed in plain_text(output).splitlines()
        for line in _readable(printed).splitlines()
        if line.strip()
    ]
    return "\n".join(lines[-TAIL_LINES:]) or "it printed nothing"


def _readable(line: str) -> str:
    """Return a line; of a JSON object, as Cargo prints them, the text that it has for people."""
    if not line.startswith('{"'):
        return line
    try:
        message = json.loads(line).get("message")
    except ValueError:
        return line
    return str(message.get("rendered") or "") if isinstance(message, dict) else ""
