"""Quick attacks, all in one command; `python benchmarks/sandbox.py --attacks` runs each separately."""

from pathlib import Path

import pytest

from coder.core.ports import Limits
from coder.sandbox.backend import SandboxBackend
from coder.sandbox.process import ProcessSandbox
from tests.builders import by_hand
from tests.sandbox.attacking import DIRECTORY, LIMITS, attacks, command, describe_escape
from tests.sandbox.conftest import walls_or_skip
from tests.sandbox.processes import MARK
from tests.sandbox.stage import open_stage

pytestmark = pytest.mark.loopback
SLOW = ("sleep(", "process_time(", "Then: ", "During: ", ".venv")
QUICK = [
    attack
    for attack in attacks()
    if "bomb" not in attack.name and not any(word in attack.text for word in SLOW)
]


LOOP = """
import ctypes, glob, os, socket, stage, struct, subprocess
nothing = os.open("/dev/null", os.O_RDWR)
for name in sorted(glob.glob("[0-9]*.py")):
    print("==", name, flush=True)
    if child := os.fork():
        os.waitpid(child, 0)
        continue
    os.dup2(nothing, 0)
    os.dup2(nothing, 2)
    try:
        exec(compile(open(name).read(), name, "exec"), {"__name__": "__main__", "__file__": name})
    finally:
        print(end="", flush=True)
        os._exit(0)
"""
"""Runs each attack in a fork: to start an interpreter takes longer than nearly all of them."""


def test_attacks_are_many_and_described() -> None:
    assert len(attacks()) >= 60
    assert len({attack.title for attack in attacks()}) == len(attacks())


def test_contains_quick_attacks(walls: SandboxBackend, tmp_path: Path) -> None:
    kept_in = [attack for attack in QUICK if walls.name != "Landlock" or not attack.labelled_text("Landlock")]
    with open_stage(tmp_path / "stage") as stage, ProcessSandbox(stage.environment, backend=walls) as sandbox:
        (stage.worktree / "stage.py").write_text((DIRECTORY / "stage.py").read_text())
        for attack in kept_in:
            (stage.worktree / f"{attack.name}.py").write_text(attack.program)
        limits = Limits(
            file_bytes=LIMITS.file_bytes, open_files=LIMITS.open_files, memory_bytes=LIMITS.memory_bytes
        )
        result = sandbox.run(
            [*command()[:2], "-c", LOOP], cwd=stage.worktree, limits=limits, environment={MARK: stage.mark}
        )
        outputs = dict(part.partition("\n")[::2] for part in result.output.split("== ")[1:])
        assert [*outputs] == [f"{attack.name}.py" for attack in kept_in]
        assert {
            name: output for name, output in outputs.items() if "ESCAPED" in output or stage.secret in output
        } == {}
        assert stage.damage() == []


@pytest.mark.parametrize("name", ["write_files", *by_hand("read_files", "tcp", "nested_repository")])
def test_attacks_succeed_without_sandbox(name: str, tmp_path: Path) -> None:
    attack = next(attack for attack in attacks() if attack.name.partition("_")[2] == name)
    with open_stage(tmp_path / "stage") as stage:
        assert describe_escape(attack, stage, None)


@pytest.mark.parametrize(
    "name",
    ["nested_repository", *by_hand("links_to_keys", "plant_files_that_run_later", "replace_git_pointer")],
)
def test_nothing_acts_on_residue_of_attacks(name: str, tmp_path: Path) -> None:
    attack = next(attack for attack in attacks() if attack.name.partition("_")[2] == name)
    best = next((walls for walls in ("bubblewrap", "Landlock") if not _is_skipped(walls)), "Landlock")
    with open_stage(tmp_path / "stage") as stage:
        assert describe_escape(attack, stage, walls_or_skip(best)) == ""


def _is_skipped(name: str) -> bool:
    try:
        walls_or_skip(name)
    except pytest.skip.Exception:
        return True
    return False
