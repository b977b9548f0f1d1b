"""Deliveries that are killed or fail between any two steps, and concurrent deliveries."""

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from coder.cli.apply import find_delivered
from coder.core.events import FilesChanged, SessionFinished, Verified
from coder.core.verdict import Verdict, VerdictKind
from coder.repo.checkout import apply_commit, undo_delivery
from coder.repo.delivery import INTENT_FILE
from coder.session.log import append_finish
from coder.wiring.conversations import recover_sessions
from tests.builders import ISOLATED, git, repo
from tests.stored_sessions import store_session

ROOT = Path(__file__).parent.parent.parent
AT = datetime(2026, 1, 1, tzinfo=UTC)
STEPS = ("nothing", "commit-tree", "record", "notes", "update-ref", "diff-tree")
DELIVERY = """
import os, signal, sys
from pathlib import Path
from coder.repo.git import Git
from coder.repo.git import session_lock
from coder.repo.delivery import PendingDelivery
from coder.repo.repository import open_repository

root, state, last = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]

def dying(name, function):
    def call(self, *arguments, **options):
        done = function(self, *arguments, **options)
        if last in (name, *arguments[:1]):
            os.kill(os.getpid(), signal.SIGKILL)
        return done
    return call

with session_lock(state):
    repository = open_repository(root, session=state.name, state=state, base=None)
    candidate = repository.create_candidate("c1")
    (candidate.worktree / "a.py").write_text("fixed\\n")
    patch = repository.candidate_patch(candidate)
    print("ready", flush=True)
    sys.stdin.readline()
    Git.call = dying("", Git.call)
    PendingDelivery.record = dying("record", PendingDelivery.record)
    repository.deliver(patch, message="fix: a\\n\\nCoder-Verdict: PROVEN", evidence="seen", slug="a")
    if last == "nothing":
        os.kill(os.getpid(), signal.SIGKILL)
    repository.close()
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in ISOLATED.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return repo(tmp_path / "r", {"a.py": "a\n"})


def write_session_log(root: Path, session: str) -> Path:
    """Write the log of a session that reached a verdict."""
    head = git(root, "rev-parse", "HEAD")
    verdict = Verdict(kind=VerdictKind.PROVEN, reason="Red, then green.", tree="", targets=("t",))
    changed = FilesChanged(candidate="c1", paths=("a.py",), diff="")
    judged = Verified(candidate="c1", attempt=1, verdict=verdict)
    return store_session(root, session, changed, judged, head=head, base=head)


def start_delivery(root: Path, directory: Path, last: str) -> "subprocess.Popen[str]":
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "GIT_AUTHOR_DATE": "@1 +0000",
        "GIT_COMMITTER_DATE": "@1 +0000",
    }
    return subprocess.Popen(
        [sys.executable, "-c", DELIVERY, str(root), str(directory), last],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    )


def resume(process: "subprocess.Popen[str]") -> int:
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.communicate("\n")
    return process.returncode


def names(root: Path) -> str:
    return git(root, "for-each-ref", "--format=%(refname)")


@pytest.mark.parametrize(
    ("last", "torn"),
    [
        *((step, False) for step in ("nothing", "commit-tree", "record")),
        ("notes", True),
        *(pytest.param(step, False, marks=pytest.mark.thorough) for step in STEPS[3:]),
    ],
)
def test_completes_a_delivery_killed_after_any_step(root: Path, last: str, torn: bool) -> None:
    directory = write_session_log(root, "20260101-000000-abcd")
    assert resume(start_delivery(root, directory, last)) == -signal.SIGKILL
    if torn:
        with (directory / "events.jsonl").open("a") as file:
            file.write('{"number": 4, "at"')
    if last == "commit-tree":
        recover_sessions()
        assert names(root) == "refs/heads/main"
        return
    delivery = find_delivered(root, "last").delivery
    assert git(root, "rev-parse", delivery.branch) == delivery.commit
    assert git(root, "notes", "--ref=coder", "show", delivery.commit) == "seen"
    assert "+fixed" in delivery.diff
    assert sorted(path.name for path in directory.iterdir()) == ["events.jsonl", "lock"]
    assert names(root).splitlines() == [
        f"refs/heads/{delivery.branch}",
        "refs/heads/main",
        "refs/notes/coder",
    ]
    assert find_delivered(root, "last").delivery == delivery
    apply_commit(root, delivery.commit)
    undo_delivery(root, branch=delivery.branch, commit=delivery.commit)
    assert (root / "a.py").read_text() == "a\n"
    assert recover_sessions() == ()
    assert names(root) == "refs/heads/main"


@pytest.mark.parametrize(
    "last",
    ["update-ref", *(pytest.param(step, marks=pytest.mark.thorough) for step in ("record", "notes"))],
)
def test_undoes_delivery_missing_from_log(root: Path, last: str) -> None:
    directory = write_session_log(root, "20260101-000000-abcd")
    resume(start_delivery(root, directory, last))
    append_finish(directory, SessionFinished(kind=None, summary="coder failed", exit_code=1), at=AT)
    recover_sessions()
    assert names(root) == "refs/heads/main"
    assert not (directory / INTENT_FILE).exists()


def test_ignores_foreign_record(root: Path) -> None:
    directory = write_session_log(root, "20260101-000000-abcd")
    for text in ("", "[]", "{}", json.dumps({"common": str(root)})):
        (directory / INTENT_FILE).write_text(text)
        assert recover_sessions() == ()
