"""Broker for metadata changes inside the sandbox, and its resistance to hostile commands."""

import os
import sys
import time
from pathlib import Path

import pytest

from coder.core.ports import Limits
from coder.sandbox.backend import SandboxBackend
from coder.sandbox.process import ProcessSandbox
from tests.builders import by_hand
from tests.sandbox.conftest import walls_or_skip
from tests.sandbox.processes import MARK, marked_processes

ROOT = Path(__file__).parents[3]
SCRIPT = Path(__file__).parents[1].joinpath("metadata_calls.py").read_text()
FLOOD = """
import os, threading
def flood():
    while True:
        try:
            os.chmod("/etc/hostname", 0o777)
        except OSError:
            continue
for _ in range(5):
    os.fork()
for _ in range(4):
    threading.Thread(target=flood).start()
"""


@pytest.fixture
def landlock() -> SandboxBackend:
    return walls_or_skip("Landlock")


@pytest.mark.parametrize("place", ["working directory", *by_hand("TMPDIR")])
def test_changes_inside_behave_as_without_sandbox(
    place: str, landlock: SandboxBackend, tmp_path: Path
) -> None:
    outputs = []
    for name, walls in (("bare", None), ("walled", landlock)):
        tree = tmp_path / name
        tree.mkdir()
        with ProcessSandbox(os.environ, backend=walls) as sandbox:
            enter = "import os; os.chdir(os.environ['TMPDIR'])\n" if place == "TMPDIR" else ""
            result = sandbox.run([sys.executable, "-S", "-c", enter + SCRIPT], cwd=tree)
        assert result.exit_code == 0, result.output
        outputs.append(result.output.splitlines())
    assert len(outputs[0]) > 40
    assert outputs[0] == outputs[1]


def test_flood_of_calls_does_not_outlive_time_limit(landlock: SandboxBackend, tree: Path) -> None:
    with ProcessSandbox(os.environ, backend=landlock) as sandbox:
        start = time.monotonic()
        result = sandbox.run(
            [sys.executable, "-S", "-c", FLOOD],
            cwd=tree,
            limits=Limits(wall_seconds=0.5),
            environment={MARK: str(tree)},
        )
        assert (result.exit_code, result.timed_out) == (None, True)
        assert time.monotonic() - start < 10
        assert marked_processes(str(tree)) == []
        assert sandbox.run(["sh", "-c", "touch x && chmod 600 x"], cwd=tree).exit_code == 0


def test_only_one_listener_fits_on_a_process(landlock: SandboxBackend, tree: Path) -> None:
    code = (
        f"import sys; sys.path.append({str(ROOT)!r}); from coder.sandbox.broker import "
        "can_broker; print(can_broker())"
    )
    with ProcessSandbox(os.environ, backend=landlock, exposed=[ROOT]) as sandbox:
        assert sandbox.run([sys.executable, "-c", code], cwd=tree).output == "False\n"
