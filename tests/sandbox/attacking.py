"""Runner of one attack, inside a sandbox or without, that reports whether it escaped.

An attack is a script in attacks/ that starts in the worktree, after imports of the modules that it names and
of the module `stage`, which describes its targets. It prints ESCAPED when it has reached its goal; damage to
the stage is detected from outside. Lines of its docstring, after the first:

Then: git | read NAME | write NAME | run COMMAND   action on the user's side in the worktree afterwards
During: write NAME                                 action repeated while the attack runs
Root only: REASON                                  the attack needs root
Here not: REASON                                   reason why it may fail without any sandbox
Landlock: REASON                                   reason why the reduced sandbox cannot contain it
Landlock before 6: REASON                          the same for the reduced sandbox of an older kernel
"""

import os
import re
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from coder.core.errors import CoderError, PatchError, ToolError
from coder.core.ports import Limits
from coder.patching.plan import ConfinedTree
from coder.sandbox.backend import SandboxBackend
from coder.sandbox.process import ProcessSandbox, ResidueSandbox
from tests.sandbox.processes import MARK
from tests.sandbox.stage import Stage

DIRECTORY = Path(__file__).parent / "attacks"
LIMITS = Limits(
    wall_seconds=8,
    processes=40,
    resident_bytes=200 << 20,
    disk_bytes=80 << 20,
    file_bytes=60 << 20,
    output_bytes=100_000,
    open_files=200,
    memory_bytes=1 << 30,
    cpu_seconds=2,
)
UNCUT = 5_000_000
OUTER_SECONDS = 20
OUTER_BYTES = 2 << 30


@dataclass(frozen=True)
class Attack:
    """One script."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @cached_property
    def text(self) -> str:
        return self.path.read_text()

    @property
    def program(self) -> str:
        """Return the script as it is run."""
        modules = sorted({*re.findall(r"\b(\w+)\.\w", self.text)} & sys.stdlib_module_names)
        return "\n".join(["from stage import *", *(f"import {name}" for name in modules), self.text])

    def labelled_texts(self, label: str) -> list[str]:
        """Return the texts that the docstring gives under a label."""
        return re.findall(rf"^{label}: (.+)$", self.text, re.MULTILINE)

    def labelled_text(self, label: str) -> str:
        """Return the first of these texts; empty without any."""
        return next(iter(self.labelled_texts(label)), "")

    @property
    def title(self) -> str:
        return self.text.split('"""')[1].splitlines()[0]


def attacks() -> list[Attack]:
    return [Attack(path) for path in sorted(DIRECTORY.glob("[0-9]*.py"))]


def describe_escape(attack: Attack, stage: Stage, walls: SandboxBackend | None) -> str:
    """Return a description of the escape; empty if there was none."""
    (stage.worktree / "stage.py").write_text((DIRECTORY / "stage.py").read_text())
    (stage.worktree / "attack.py").write_text(attack.program)
    telling: list[str] = []
    with _write_during(attack, stage, is_isolated=walls is not None):
        output = _run_inside(stage, walls, telling) if walls else _run_outside(attack, stage)
    for action in attack.labelled_texts("Then"):
        output += _run_user_side(action, stage, telling, is_isolated=walls is not None)
    signs = ["it says so"] if "ESCAPED" in output.splitlines() else []
    signs += ["nobody cut its output"] if len(output) > UNCUT else []
    signs += ["the secret came out"] if stage.secret in output else []
    signs += ["somebody acted on what it had planted"] if (stage.root / "PWNED").exists() else []
    return "; ".join([*signs, *stage.damage()])


def _run_inside(stage: Stage, walls: SandboxBackend, named_files: list[str]) -> str:
    with ProcessSandbox(stage.environment, backend=walls) as sandbox:
        looked_after = ResidueSandbox(sandbox, stage.worktree, named_files.append)
        return looked_after.run(
            command(), cwd=stage.worktree, limits=LIMITS, environment={MARK: stage.mark}
        ).output


def command() -> list[str]:
    return [os.path.realpath(sys.executable), "-S", "attack.py"]


def _run_outside(attack: Attack, stage: Stage) -> str:
    """Run the attack as the user would, with limits that only keep this machine alive."""

    def set_limits() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (OUTER_BYTES, OUTER_BYTES))
        resource.setrlimit(resource.RLIMIT_FSIZE, (OUTER_BYTES, OUTER_BYTES))

    process = subprocess.Popen(
        command(),
        cwd=stage.worktree,
        env={**stage.environment, MARK: stage.mark},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=set_limits,
    )
    try:
        return process.communicate(timeout=OUTER_SECONDS)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
    try:
        return process.communicate(timeout=1)[0]
    except subprocess.TimeoutExpired:  # a process that has left its group keeps the output open
        return ""


def _run_user_side(action: str, stage: Stage, named_files: list[str], *, is_isolated: bool) -> str:
    """Do what follows on the user's side: with coder's precautions, or without any."""
    match action.split(maxsplit=1):
        case ["git"]:
            (_run_guarded_git if is_isolated else _run_plain_git)(stage)
        case ["read", name]:
            return _read_guarded(stage, name) if is_isolated else (stage.worktree / name).read_text()
        case ["write", name]:
            _write(stage, name, is_isolated=is_isolated)
        case ["run", shell] if not is_isolated or not any(
            name in " ".join(named_files) for name in _named_files(shell)
        ):
            subprocess.run(
                ["sh", "-c", shell],
                cwd=stage.worktree,
                env=stage.environment,
                capture_output=True,
                check=False,
            )
    return ""


def _named_files(shell: str) -> list[str]:
    """Return the files that a command names; the user has been warned about them before."""
    return [word.removeprefix("./") for word in shell.split() if "." in word]


def _run_plain_git(stage: Stage) -> None:
    for words in (
        ["status"],
        ["add", "-A"],
        ["commit", "-q", "-m", "x"],
        ["diff", "HEAD"],
        ["log", "-p", "-1"],
    ):
        subprocess.run(
            ["git", *words], cwd=stage.worktree, env=stage.environment, capture_output=True, check=False
        )


def _run_guarded_git(stage: Stage) -> None:
    """Run git on a candidate as coder does."""
    patch = stage.repository.candidate_patch(stage.candidate)
    stage.repository.checkpoint(stage.candidate, "x")
    stage.repository.rollback(stage.candidate, patch.tree)
    stage.before |= {
        path: value
        for path, value in stage.state().items()
        if path.startswith(str(stage.repository_directory))
    }


def _read_guarded(stage: Stage, name: str) -> str:
    try:
        content = ConfinedTree(stage.worktree).read(name)
    except (PatchError, ToolError, CoderError, OSError):
        return ""
    return content[0].decode() if content else ""


def _write(stage: Stage, name: str, *, is_isolated: bool) -> None:
    try:
        if is_isolated:
            ConfinedTree(stage.worktree).write(name, b"PWNED", 0o644)
        else:
            (stage.worktree / name).write_bytes(b"PWNED")
    except (PatchError, ToolError, CoderError, OSError):
        return


@contextmanager
def _write_during(attack: Attack, stage: Stage, *, is_isolated: bool) -> Iterator[None]:
    name = attack.labelled_text("During").removeprefix("write ")
    is_over = threading.Event()

    def write_repeatedly() -> None:
        while not is_over.is_set():
            _write(stage, name, is_isolated=is_isolated)

    thread = threading.Thread(target=write_repeatedly)
    if name:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        if name:
            thread.join()
