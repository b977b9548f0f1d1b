"""Runs of adapters in tests, without a sandbox."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from coder.core.values.verdict import TestResult
from coder.verify.project.command import parse_command
from coder.verify.runners.adapter import Adapter
from coder.verify.runners.execution import make_run, read_results


def run_adapter(
    adapter: Adapter, root: Path, files: Mapping[str, str], *, tests: Sequence[str] = ()
) -> tuple[TestResult, ...]:
    """Run the tests of a project with the command that its adapter finds, and return the results."""
    tree, place = root / "tree", root / "place"
    place.mkdir(parents=True)
    for path, text in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    text = next(iter(adapter.find_commands(tree)))
    command = parse_command(text, Path("/venv/bin/python"), root=tree)
    assert command.runner == adapter.name
    run = make_run(command, tests, tree, place)
    invocation = adapter.prepare(run)
    execution = subprocess.run(
        invocation.argv,
        cwd=tree,
        env={**os.environ, **invocation.environment},
        capture_output=True,
        text=True,
        check=False,
    )
    finished = run.model_copy(update={"output": execution.stdout + execution.stderr})
    return read_results(adapter, finished, tree, tests)
