import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coder.repo import repository
from coder.repo.delivery import PendingDelivery
from coder.repo.git import session_lock
from coder.repo.repository import SessionPaths, open_repository, recover_abandoned
from tests.builders import git, repo, write
from tests.repo.opened import fingerprint, open_session_repository

SESSION = """
import sys
from pathlib import Path
from coder.repo.git import session_lock
from coder.repo.repository import open_repository

root, state = Path(sys.argv[1]), Path(sys.argv[2])
with session_lock(state):
    print("held", flush=True)
    repository = open_repository(root, session=state.name, state=state, base=None)
    for number in range(1000):
        candidate = repository.create_candidate(f"c{number}")
        (candidate.worktree / "a.py").write_text(f"fixed {number}", encoding="utf-8")
        (candidate.worktree / "new.py").write_text("new", encoding="utf-8")
        checkpoint = repository.checkpoint(candidate, "attempt")
        with repository.checkout(repository.candidate_patch(candidate).tree):
            repository.rollback(candidate, candidate.base)
"""


def dirty_repository(directory: Path) -> Path:
    root = repo(
        directory,
        {f"d{number}/m.py": "x\n" * number for number in range(9)}
        | {"a.py": "a\n", ".gitignore": "_version.py\n"},
    )
    write(root, {"a.py": "stashed\n"})
    git(root, "stash", "-q")
    write(root, {"a.py": "staged\n", "d1/m.py": "dirty\n", "untracked.py": "u\n", "d2/_version.py": "1\n"})
    git(root, "add", "a.py")
    return root


def settle_nothing(state: Path, pending: PendingDelivery) -> None:
    raise AssertionError(f"{state} delivered {pending.commit}")


def private_refs(root: Path) -> str:
    return git(root, "for-each-ref", "refs/coder", "refs/notes", "refs/heads/coder")


def leftovers(root: Path) -> list[Path]:
    return [*root.glob(".git/**/*.lock"), *root.glob(".git/worktrees")]


def run_and_kill(root: Path, state: Path, *, after_seconds: float = 0.0, after_step: bool = False) -> None:
    """Start a session in a process group of its own and kill all of it, including git."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    with subprocess.Popen(
        [sys.executable, "-c", SESSION, str(root), str(state)],
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        time.sleep(after_seconds)
        while after_step and private_refs(root) == "" and process.poll() is None:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)


def test_killed_session_changes_nothing_and_is_cleaned_up(tmp_path: Path) -> None:
    root = dirty_repository(tmp_path / "r")
    before = fingerprint(root)
    chance = random.Random(7)
    for number in range(2):
        run_and_kill(root, tmp_path / "sessions" / f"s{number}", after_seconds=chance.uniform(0.0, 0.6))
        assert fingerprint(root) == before
    run_and_kill(root, tmp_path / "sessions" / "s2", after_step=True)
    assert fingerprint(root) == before
    assert private_refs(root) != ""
    recover_abandoned(tmp_path / "sessions", settle_nothing)
    assert private_refs(root) == ""
    assert git(root, "worktree", "list").count("\n") == 0
    assert leftovers(root) == []
    files_left = [path.name for path in (tmp_path / "sessions").rglob("*") if not path.is_dir()]
    assert files_left.count("lock") == 3
    assert {*files_left} == {"lock"}
    assert fingerprint(root) == before


def test_cleans_up_every_partial_state(tmp_path: Path) -> None:
    root = dirty_repository(tmp_path / "r")
    state = tmp_path / "sessions" / "s-c0ffee"
    repository = open_repository(root, session=state.name, state=state, base=None)
    candidate = repository.create_candidate("c1")
    repository.checkpoint(candidate, "first")
    (candidate.worktree / ".git").unlink()
    write(state / "worktrees", {"s-c0ffee-c2/half": "checked out"})
    write(
        root / ".git",
        {
            "worktrees/s-c0ffee-c3/locked": "initializing",
            "refs/coder/s-c0ffee/c2.lock": "",
            "refs/notes/coder.lock": "",
        },
    )
    write(
        root / ".git",
        {
            "refs/heads/coder/fix-c0ffee.lock": "",
            "refs/heads/coder/fix-other1.lock": "",
            "refs/coder/other/c1.lock": "",
        },
    )
    assert recover_abandoned(tmp_path / "sessions", settle_nothing) == ("s-c0ffee",)
    assert private_refs(root) == ""
    assert sorted(str(path.relative_to(root / ".git")) for path in leftovers(root)) == [
        "refs/coder/other/c1.lock",
        "refs/heads/coder/fix-other1.lock",
    ]
    assert recover_abandoned(tmp_path / "sessions", settle_nothing) == ()


def test_leaves_running_session_alone(tmp_path: Path) -> None:
    root = dirty_repository(tmp_path / "r")
    state = tmp_path / "sessions" / "living"
    with session_lock(state), open_session_repository(root, session="living") as repository:
        candidate = repository.create_candidate("c1")
        assert recover_abandoned(tmp_path / "sessions", settle_nothing) == ()
        assert candidate.worktree.exists()
        write(candidate.worktree, {"new.py": "n\n"})
        assert repository.candidate_patch(candidate).paths == ("new.py",)


def test_recovers_despite_missing_repository(tmp_path: Path) -> None:
    root = dirty_repository(tmp_path / "r")
    state = tmp_path / "sessions" / "s1"
    open_repository(root, session="s1", state=state, base=None).create_candidate("c1")
    shutil.rmtree(root)
    assert recover_abandoned(tmp_path / "sessions", settle_nothing) == ("s1",)
    assert list(state.glob("*")) == [state / "lock"]


def test_worktrees_lie_in_no_hidden_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "VISIBLE_DIRECTORY", tmp_path)
    state = tmp_path / "home" / ".local" / "state" / "s1"

    def worktrees() -> Path:
        return SessionPaths(session="s1", state=state, common=tmp_path).worktrees

    own = worktrees().parent
    assert own.parent == tmp_path and not own.name.startswith(".")
    assert own.stat().st_mode & 0o777 == 0o700
    own.chmod(0o755)  # as another user would make it, to see into the worktrees
    assert worktrees() == state / "worktrees"
