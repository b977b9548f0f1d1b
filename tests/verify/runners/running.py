"""Runs of adapters in tests, without a sandbox."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from coder.core.paths import test_file_of
from coder.core.verdict import TestResult
from coder.verify.project import parse_command
from coder.verify.runners.adapter import Adapter, Run
from coder.verify.runners.registry import find_commands
from coder.verify.runners.workspaces import prepare_run, read_results
from tests.builders import write


def run_adapter(
    adapter: Adapter, root: Path, files: Mapping[str, str], *, tests: Sequence[str] = ()
) -> tuple[TestResult, ...]:
    """Run the tests of a project with the command that its adapter finds, and return the results."""
    tree, place = root / "tree", root / "place"
    place.mkdir(parents=True)
    write(tree, files)
    text, _ = next(find_commands(tree))
    command = parse_command(text, Path("/venv/bin/python"), root=tree)
    assert command.runner == adapter.name
    paths = tuple(dict.fromkeys(map(test_file_of, tests)))
    run = Run(argv=command.argv, tree=tree, place=place, files=paths, tests=tuple(tests))
    invocation = prepare_run(adapter, run, command.builds)
    execution = subprocess.run(
        invocation.argv,
        cwd=tree,
        env={**os.environ, **invocation.environment, **command.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    finished = run.model_copy(update={"output": execution.stdout})
    return read_results(adapter, finished, tests, command.builds)
