"""`coder hook` in real repositories: what an agent or a push leaves is judged by the real command."""

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from coder.settings import forget_repository, is_trusted, trust_repository
from tests.builders import git
from tests.place import Place, run_coder
from tests.portable import coder_command
from tests.walls import flags

PLAIN_TEST = "\n    def test_nine(self):\n        self.assertEqual(minutes('09:00'), 540)\n"

CLAIM = "I fixed it, and all tests pass."
DOCUMENTED_FIELDS: dict[str, dict[str, Any]] = {
    "claude": {"permission_mode": "default", "last_assistant_message": CLAIM},
    "codex": {"turn_id": "t1", "model": "m", "permission_mode": "default", "last_assistant_message": CLAIM},
    "gemini": {"timestamp": "2026-01-01T00:00:00Z", "prompt": "Fix it.", "prompt_response": CLAIM},
}
"""Fields of each agent's event at the end of a turn, beside those that all have in common."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    with (place.repository / "test_clock.py").open("a", encoding="utf-8") as file:
        file.write(PLAIN_TEST)
    git(place.repository, "commit", "-qam", "a test that passes")
    trust_repository(place.repository, place.environment)
    return place


def send(
    place: Place, event: str, *options: str, agent: str = "claude", is_continued: bool = False
) -> dict[str, Any]:
    """Send an agent's event to the hook and return its answer; empty if it is silent."""
    message = {
        "session_id": "s1",
        "transcript_path": "/nowhere",
        "cwd": str(place.repository),
        "hook_event_name": event,
        "stop_hook_active": is_continued,
        **DOCUMENTED_FIELDS[agent],
    }
    result = run_coder(
        ("hook", "run", agent, *options, *flags()),
        directory=Path("/"),
        environment=place.environment,
        stdin=json.dumps(message),
    )
    answer = dict(json.loads(result.stdout)) if result.stdout else {}
    message = answer.get("systemMessage", "")
    assert (result.returncode, result.stderr) == (0, f"{message}\n" if message else "")
    return answer


def edit(place: Place, old: str, new: str) -> None:
    path = place.repository / "clock.py"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def sessions(place: Place) -> int:
    """Return the number of judgements so far."""
    return len(list(Path(place.environment["XDG_STATE_HOME"]).glob("coder/sessions/*/events.jsonl")))


def test_broken_change_goes_back_until_rounds_are_spent(place: Place) -> None:
    (place.repository / "notes.txt").write_text("the user's own\n")
    assert send(place, "SessionStart") == {}
    assert send(place, "Stop") == {}
    assert sessions(place) == 0
    edit(place, "* 60", "* 61")
    answer = send(place, "Stop")
    assert answer["decision"] == "block"
    assert answer["reason"].startswith("coder verify: BROKEN.")
    assert "test_clock.py::ClockTest::test_nine: AssertionError: 549 != 540" in answer["reason"]
    assert "Changed in this session: clock.py." in answer["reason"]
    assert answer["reason"].count("\n") < 6
    assert "now it is your turn" in send(place, "Stop", is_continued=True)["systemMessage"]
    assert send(place, "Stop") == {}
    assert sessions(place) == 1
    edit(place, "* 61", "* 60")
    assert send(place, "Stop") == {}
    assert sessions(place) == 1


def test_inconclusive_is_said_and_does_not_block(place: Place) -> None:
    (place.repository / "pyproject.toml").write_text("[tool.coder]\ntest = 'no-such-program'\n")
    git(place.repository, "add", "pyproject.toml")
    git(place.repository, "commit", "-qm", "a command that does not start")
    assert send(place, "SessionStart", agent="codex") == {}
    edit(place, "* 60", "* 61")
    message = send(place, "Stop", agent="codex")["systemMessage"]
    assert message.startswith("coder could not judge the change: The test command 'no-such-program' cannot")


def test_installs_removes_and_describes_by_command(place: Place, tmp_path: Path) -> None:
    place.environment["HOME"] = str(tmp_path)
    put_coder_on_path(place, tmp_path)
    forget_repository(place.repository, place.environment)
    for owner, path, team, count in (
        ("claude", ".claude/settings.local.json", ".claude/settings.json", 3),
        ("codex", ".codex/hooks.json", ".codex/hooks.json", 1),
        ("gemini", ".gemini/settings.json", ".gemini/settings.json", 1),
        ("qwen", ".qwen/settings.json", ".qwen/settings.json", 1),
    ):
        for file, options in (
            (tmp_path / team, ("--user",)),
            (place.repository / path, ()),
            (place.repository / team, ("--team", "--trust")),
        )[:count]:
            result = place.coder("hook", "install", owner, *options)
            assert result.returncode == 0, result.stderr
            assert f"; then coder hook run {owner}; fi" in file.read_text()
            assert ("is trusted" in result.stdout, "not trusted" in result.stdout) == {
                "--team": (True, False),
                "--user": (False, False),
            }.get("".join(options[:1]), (is_trusted(place.repository, place.environment), owner == "claude"))
            assert (
                place.coder("hook", "remove", owner, *options[:1] * (options == ("--user",))).returncode == 0
            )
            assert not file.exists()


def put_coder_on_path(place: Place, root: Path) -> None:
    programs = root / "programs"
    programs.mkdir()
    (programs / "coder").write_text(f'#!/bin/sh\nexec {shlex.join(coder_command())} "$@"\n')
    (programs / "coder").chmod(0o755)
    place.environment["PATH"] = f"{programs}{os.pathsep}{place.environment['PATH']}"


class Pushes:
    """A repository with a remote one, and the hook installed."""

    def __init__(self, place: Place, root: Path) -> None:
        self.place = place
        git(root, "init", "-q", "--bare", "remote.git")
        git(place.repository, "remote", "add", "origin", str(root / "remote.git"))
        git(place.repository, "push", "-q", "-u", "origin", "main")
        put_coder_on_path(place, root)

    def push(self, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", "push", "-q", *options],
            cwd=self.place.repository,
            env={**self.place.environment, "GIT_CONFIG_GLOBAL": os.devnull},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )


@pytest.mark.thorough
def test_broken_push_is_refused_after_an_earlier_hook(place: Place, tmp_path: Path) -> None:
    pushes = Pushes(place, tmp_path)
    earlier = place.repository / ".git" / "hooks" / "pre-push"
    earlier.parent.mkdir(exist_ok=True)
    earlier.write_text('#!/bin/sh\necho "$1" >> said; cat >> said\n')
    earlier.chmod(0o755)
    before = earlier.read_bytes()
    for _ in range(2):
        assert place.process("hook", "install", "git", *flags()).returncode == 0
    edit(place, "* 60", "* 61")
    git(place.repository, "commit", "-qam", "break it")
    refused = pushes.push()
    assert refused.returncode == 1
    assert "coder verify main:\nBROKEN" in refused.stderr
    assert "ClockTest::test_nine: AssertionError: 549 != 540" in refused.stderr
    said = (place.repository / "said").read_text()
    assert said.startswith("origin\nrefs/heads/main")
    assert git(tmp_path / "remote.git", "log", "-1", "--format=%s", "main") == "a test that passes"
    assert pushes.push("--no-verify").returncode == 0
    edit(place, "* 61 - ", "* 60 + ")
    git(place.repository, "commit", "-qam", "repair it")
    good = pushes.push("origin", "HEAD:refs/heads/topic")
    assert (good.returncode, "coder verify topic: P" in good.stderr) == (0, True)
    judged = sessions(place)
    assert pushes.push("origin", ":topic").returncode == 0  # a deletion
    assert sessions(place) == judged
    assert place.coder("hook", "remove", "git").returncode == 0
    assert earlier.read_bytes() == before


@pytest.mark.thorough
def test_tags_and_force_pushes(place: Place, tmp_path: Path) -> None:
    pushes = Pushes(place, tmp_path)
    assert place.process("hook", "install", "git", *flags()).returncode == 0
    edit(place, "* 60", "* 61")
    git(place.repository, "commit", "-qam", "break it")
    git(place.repository, "tag", "broken")
    assert pushes.push("origin", "broken").returncode == 0
    assert sessions(place) == 0
    git(place.repository, "commit", "-q", "--amend", "-m", "break it anew")
    edit(place, "* 61 - ", "* 60 + ")
    git(place.repository, "commit", "-qam", "repair it")
    good = pushes.push("origin", "main")
    assert (good.returncode, "coder verify main: P" in good.stderr) == (0, True)
    # The remote has commits that the new history lacks: the change is judged from where they part.
    git(place.repository, "reset", "-q", "--hard", "HEAD~2")
    edit(place, "int(rest)", "int(rest) + 1")
    git(place.repository, "commit", "-qam", "another history")
    refused = pushes.push("--force", "origin", "main")
    assert (refused.returncode, "coder verify main:\nBROKEN" in refused.stderr) == (1, True)
    assert git(tmp_path / "remote.git", "log", "-1", "--format=%s", "main") == "repair it"


@pytest.mark.thorough
def test_push_of_a_new_red_test_with_source_is_refused(place: Place, tmp_path: Path) -> None:
    pushes = Pushes(place, tmp_path)
    assert place.process("hook", "install", "git", *flags()).returncode == 0
    tests = place.repository / "test_clock.py"
    tests.write_text(
        tests.read_text().replace(
            "def test_nine", "def test_zero(self):\n        self.fail()\n\n    def test_nine"
        )
    )
    git(place.repository, "commit", "-qam", "a red test")
    alone = pushes.push("origin", "HEAD:refs/heads/tests")
    assert (alone.returncode, "NOT FIXED" in alone.stderr) == (0, True)
    edit(place, "* 60", "* 30 * 2")
    git(place.repository, "commit", "-qam", "and source")
    refused = pushes.push("origin", "HEAD:refs/heads/topic")
    assert (refused.returncode, "NOT FIXED" in refused.stderr) == (1, True)


def test_push_that_cannot_be_judged_is_named(place: Place, tmp_path: Path) -> None:
    pushes = Pushes(place, tmp_path)
    assert place.process("hook", "install", "git", *flags()).returncode == 0
    git(place.repository, "tag", "pushed")
    assert "coder" not in pushes.push("origin", "pushed").stderr  # the remote has its commit already
    git(tmp_path, "init", "-q", "--bare", "empty.git")
    git(place.repository, "remote", "add", "mirror", str(tmp_path / "empty.git"))
    first = pushes.push("mirror", "main")
    reason = (
        "coder: main is not judged, because no commit that mirror is known to have is a part of its history."
    )
    assert (first.returncode, first.stderr.strip()) == (0, reason)
    edit(place, "* 60", "* 61")
    git(place.repository, "commit", "-qam", "break it")
    git(place.repository, "tag", "broken")
    assert (
        "coder: refs/tags/broken is not judged, because only branches are."
        in pushes.push("origin", "broken").stderr
    )


def test_hooks_elsewhere_are_refused_with_one_line(place: Place, tmp_path: Path) -> None:
    git(place.repository, "config", "core.hooksPath", ".husky")
    put_coder_on_path(place, tmp_path)
    result = place.coder("hook", "install", "git")
    assert (result.returncode, result.stderr.count("\n"), ".husky" in result.stderr) == (2, 1, True)
