"""Signatures of the commits that coder makes for the user."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from coder.core.values import Delivery
from coder.repo import delivery
from coder.repo.checkout import (
    apply_commit,
    undo_delivery,
)
from tests.builders import git, repo, write
from tests.repo.opened import open_candidate

LINES = "".join(f"line {number}\n" for number in range(1, 31))
SIGNING_IN_TERMINAL = """
import fcntl, sys, termios
from pathlib import Path
from coder.repo.delivery import make_commit, create_user_commit
from coder.repo.git import find_checkout
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
git = find_checkout(Path(sys.argv[1])).git
print(create_user_commit(
    git, lambda signed: make_commit(git, tree="HEAD^{tree}", parent="HEAD", message="fix", signed=signed)
))
"""

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repo(tmp_path / "r", {"a.py": LINES, "b.py": "b\n"})


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A key without passphrase, which the tests' list of allowed signers holds."""
    key = make_key(tmp_path / "key")
    public = key.with_suffix(".pub").read_text(encoding="utf-8")
    write(tmp_path, {"signers": f"ada@example.org {public}"})
    return key


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def make_key(path: Path, passphrase: str = "") -> Path:
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", str(path))
    return path


def configure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, **settings: str) -> None:
    """Give the user a git configuration of their own, that asks for signatures."""
    file = tmp_path / "user"
    for name, value in {"commit_gpgSign": "true", **settings}.items():
        run("git", "config", "--file", str(file), name.replace("_", "."), value)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(file))


def deliver(root: Path, *, steps: bool = False) -> Delivery:
    with open_candidate(root) as (repository, candidate):
        write(candidate.worktree, {"test_a.py": "t\n"})
        repository.checkpoint(candidate, "add a test")
        write(candidate.worktree, {"a.py": LINES.replace("line 15\n", "line 15, fixed\n")})
        return repository.deliver(
            repository.candidate_patch(candidate),
            message="fix: line 15\n\nCoder-Verdict: PROVEN",
            evidence="seen",
            slug="x",
            steps_of=candidate if steps else None,
        )


def commit(root: Path) -> None:
    write(root, {"b.py": "theirs\n"})
    git(root, "commit", "-qam", "theirs")


def is_signed(root: Path, revision: str) -> bool:
    return "\ngpgsig " in git(root, "cat-file", "commit", revision)


def verify(root: Path, revision: str) -> None:
    git(root, "-c", f"gpg.ssh.allowedSignersFile={root.parent / 'signers'}", "verify-commit", revision)


def test_signs_delivery_and_its_steps_with_ssh(
    root: Path, tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, tmp_path, gpg_format="ssh", user_signingKey=str(key))
    delivery = deliver(root, steps=True)
    assert delivery.remark == ""
    assert git(root, "log", "--format=%s", f"main..{delivery.branch}") == "fix: line 15\nadd a test"
    verify(root, delivery.commit)
    verify(root, f"{delivery.commit}^")


def test_signs_copies_and_reverts(
    root: Path, tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivery = deliver(root)
    commit(root)
    configure(monkeypatch, tmp_path, gpg_format="ssh", user_signingKey=str(key))
    assert "\n" not in apply_commit(root, delivery.commit)
    verify(root, "HEAD")
    undo_delivery(root, branch=delivery.branch, commit=delivery.commit)
    assert git(root, "log", "-1", "--format=%s") == 'Revert "fix: line 15"'
    verify(root, "HEAD")


def test_delivers_unsigned_with_reason_if_key_is_missing(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, tmp_path, gpg_format="ssh", user_signingKey=str(tmp_path / "none"))
    delivery = deliver(root, steps=True)
    assert git(root, "rev-parse", delivery.branch) == delivery.commit
    assert not is_signed(root, delivery.commit)
    assert delivery.remark.startswith(
        f"{delivery.commit[:10]} is not signed, although your git configuration asks for it: "
    )
    assert str(tmp_path / "none") in delivery.remark
    commit(root)
    assert "is not signed" in apply_commit(root, delivery.commit).splitlines()[1]
    report = undo_delivery(root, branch=delivery.branch, commit=delivery.commit)
    assert "is not signed" in report.splitlines()[1]
    assert git(root, "status", "--short") == ""


def test_asks_for_no_passphrase_in_the_terminal(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = make_key(tmp_path / "key", passphrase="wisteria")
    for name in ("SSH_AUTH_SOCK", "DISPLAY", "SSH_ASKPASS"):
        monkeypatch.delenv(name, raising=False)
    configure(monkeypatch, tmp_path, gpg_format="ssh", user_signingKey=str(key))
    controller, terminal = os.openpty()
    # A process with a terminal of its own, which ssh-keygen could open to ask.
    commit = subprocess.run(
        [sys.executable, "-c", SIGNING_IN_TERMINAL, str(root)],
        stdin=terminal,
        capture_output=True,
        text=True,
        start_new_session=True,
        timeout=30,
        check=True,
    )
    assert "is not signed" in commit.stdout
    os.set_blocking(controller, False)
    with pytest.raises(BlockingIOError):
        os.read(controller, 100)
    os.close(terminal)
    os.close(controller)


def test_stops_waiting_for_a_silent_agent(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "gpg.sh"
    program.write_text("#!/bin/sh\nexec sleep 5\n", encoding="utf-8")
    program.chmod(0o755)
    configure(monkeypatch, tmp_path, gpg_program=str(program))
    monkeypatch.setattr(delivery, "SIGNING_SECONDS", 0.2)
    assert "did not end within 0.2 seconds" in deliver(root).remark


def test_repository_chooses_key_but_no_program(
    root: Path, tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark, program = tmp_path / "ran", tmp_path / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n", encoding="utf-8")
    program.chmod(0o755)
    for name in ("gpg.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand", "core.sshCommand"):
        git(root, "config", name, str(program))
    for name, value in {"commit.gpgSign": "true", "gpg.format": "ssh", "user.signingKey": str(key)}.items():
        git(root, "config", name, value)
    delivery = deliver(root)
    git(root, "config", "--unset", "gpg.ssh.program")
    verify(root, delivery.commit)
    assert not mark.exists()


def test_invalid_setting_is_reported(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, tmp_path, commit_gpgSign="perhaps")
    assert "is not signed" in deliver(root).remark
