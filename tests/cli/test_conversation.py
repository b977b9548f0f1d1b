"""Requests that continue a session: its conversation, its branch, and the way back."""

import os
import re
from pathlib import Path

import pytest

from coder.repo.git import session_lock
from tests.builders import git
from tests.models.fakes import FakeServer, Turn
from tests.place import FILES, ISSUE, PATCH, Place, call

pytestmark = pytest.mark.loopback
FIXED_CLOCK = FILES["clock.py"].replace("* 60 - int", "* 60 + int")
NAMED = (
    "--- a/clock.py\n+++ b/clock.py\n@@ -1,2 +1,3 @@\n def minutes(text):\n"
    '+    """Return the minutes since midnight."""\n     hours, rest = text.split(":")\n'
)


def request(place: Place, server: FakeServer, command: str, text: str, *options: str) -> str:
    model = ("--base-url", f"{server.url}/v1", "--model", "fake", "--trust")
    result = place.coder(command, text, *model, *options)
    assert result.returncode in (0, 3), result.stdout + result.stderr
    return result.stdout


def messages(server: FakeServer, number: int) -> list[dict[str, object]]:
    sent: list[dict[str, object]] = server.requests[number]["messages"]
    return sent


def test_follow_up_extends_conversation_and_branch(place: Place, server: FakeServer) -> None:
    server.turns += [
        PATCH,
        Turn(text="minutes() is documented", calls=(call("apply_patch", diff=NAMED),)),
        Turn(text="`minutes` counts them (`clock.py:1`)."),
    ]
    request(place, server, "fix", ISSUE)
    branch = git(place.repository, "for-each-ref", "--format=%(refname:short)", "refs/heads/coder")
    fix = git(place.repository, "rev-parse", branch)

    followed = request(place, server, "do", "Document minutes().", "--continue")
    assert "PROVEN" in followed and "red before, green now" in followed  # judged together with the fix
    assert git(place.repository, "rev-parse", f"{branch}^") == fix
    assert messages(server, 1)[: len(messages(server, 0))] == messages(server, 0)

    answer = request(place, server, "ask", "What does @minutes do?", "-c")
    assert "`minutes` counts them (`clock.py:1`)." in answer
    assert messages(server, 2)[: len(messages(server, 1))] == messages(server, 1)
    assert "# Attached by the user: minutes, clock.py:1" in str(messages(server, 2)[-1]["content"])
    assert git(place.repository, "log", "--format=%s", f"main..{branch}").count("\n") == 1

    refused = place.coder("apply", "last")  # a question: `last` is the same session to each command
    assert (refused.returncode, "has no fix to apply or undo. The newest" in refused.stderr) == (2, True)
    assert "which holds the fix." in place.coder("apply", refused.stderr.split()[-1]).stdout
    assert git(place.repository, "rev-parse", "main") == git(place.repository, "rev-parse", branch)
    assert "coder undo" in place.coder("log", "rewind", "last@2").stdout


def test_prose_that_follows_a_fix_has_fixed_nothing(place: Place, server: FakeServer) -> None:
    added = "--- /dev/null\n+++ b/CHANGELOG.md\n@@ -0,0 +1 @@\n+Minutes are added.\n"
    server.turns += [PATCH, Turn(text="Add a line", calls=(call("apply_patch", diff=added),))]
    request(place, server, "fix", ISSUE)
    followed = request(place, server, "do", "Add a line to the changelog.", "--continue")
    assert "PASSING" in followed and "Nothing that tests can see has changed" in followed
    assert "red before" not in followed and "PROVEN" not in followed


def test_question_changes_nothing_and_is_answered_without_a_model(place: Place, server: FakeServer) -> None:
    before = place.user_state()
    server.turns += [
        Turn(calls=(call("apply_patch", diff=NAMED),)),
        Turn(text="`minutes` is in `clock.py:1`."),
    ]
    assert "`minutes` is in `clock.py:1`." in request(place, server, "ask", "Where is minutes()?")
    assert place.user_state() == before
    result = place.coder("ask", "Where is minutes()?")
    assert (result.returncode, "`clock.py:1`" in result.stdout) == (0, True)


def test_unknown_session_cannot_be_continued(place: Place, server: FakeServer) -> None:
    result = place.coder("fix", ISSUE, "--continue", "--trust", "--offline")
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "No session yet" in result.stderr


@pytest.mark.thorough
def test_finished_session_answers_commands_that_change_nothing(place: Place, server: FakeServer) -> None:
    server.turns += [Turn(status=503, error="overloaded"), PATCH]
    assert "Trying again in" in request(place, server, "fix", ISSUE)
    before = place.user_state()
    (session,) = (Path(place.environment["XDG_STATE_HOME"]) / "coder" / "sessions").iterdir()
    with session_lock(session):
        options = ("--continue", "--trust", "--model", "fake", "--base-url", server.url)
        refused = place.coder("do", "Document it.", *options)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert f"in use by process {os.getpid()}" in refused.stderr
    undo = place.coder("undo", "last")
    assert (undo.returncode, "add --yes" in undo.stderr) == (2, True)
    outputs = [place.coder("log", command) for command in ("diff", "show", "evidence", "context")]
    assert [output.returncode for output in outputs] == [0] * 4, [output.stderr for output in outputs]
    assert outputs[0].stdout.startswith("diff --git a/clock.py")
    assert place.user_state() == before


def make_two_requests(place: Place, server: FakeServer) -> tuple[str, str]:
    """Fix, then document: return the branch and the commit of the fix."""
    server.turns += [PATCH, Turn(text="minutes() is documented", calls=(call("apply_patch", diff=NAMED),))]
    request(place, server, "fix", ISSUE)
    branch = git(place.repository, "for-each-ref", "--format=%(refname:short)", "refs/heads/coder")
    fix = git(place.repository, "rev-parse", branch)
    request(place, server, "do", "Document minutes().", "--continue")
    return branch, fix


@pytest.mark.thorough
def test_undo_takes_back_the_newest_request_alone(place: Place, server: FakeServer) -> None:
    branch, fix = make_two_requests(place, server)
    for name in ("last@3", "last@0", "last@two"):
        result = place.coder("log", "rewind", name)
        assert (result.returncode, result.stderr.count("\n")) == (2, 1)
        assert "the conversation has 2" in result.stderr
    assert f"back to {fix[:10]}" in place.coder("undo", "last", "--yes").stdout
    assert git(place.repository, "rev-parse", branch) == fix
    again = place.coder("undo", "last", "--yes")
    assert again.returncode == 2
    assert "has no fix to apply or undo. The newest one that has: " in again.stderr
    name = again.stderr.split()[-1]
    assert "deleted the branch" in place.coder("undo", name, "--yes").stdout.lower()


COMMENTED = Turn(
    text="minutes() has a comment",
    calls=(call("apply_patch", diff=NAMED.replace('"""Return the minutes since midnight."""', "# minutes")),),
)


@pytest.mark.thorough
def test_rewound_conversation_goes_on_before_the_request(place: Place, server: FakeServer) -> None:
    branch, fix = make_two_requests(place, server)
    tip = git(place.repository, "rev-parse", branch)
    before = place.user_state()
    rewound = place.coder("log", "rewind", "last@2")
    assert rewound.returncode == 0, rewound.stderr
    assert "before request 2" in rewound.stdout
    assert place.user_state() == before

    server.turns += [COMMENTED]
    request(place, server, "do", "Comment minutes().", "--continue")
    assert messages(server, 2)[: len(messages(server, 0))] == messages(server, 0)
    assert "Document minutes()." not in str(messages(server, 2))
    assert git(place.repository, "rev-parse", branch) == tip
    branches = git(place.repository, "for-each-ref", "--format=%(refname:short)", "refs/heads/coder").split()
    (other,) = [name for name in branches if name != branch]
    assert git(place.repository, "rev-parse", f"{other}^") == fix
    listing = place.coder("log").stdout.splitlines()
    assert [line.split()[1] for line in listing] == ["requests", "2", "2", "2", "1"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("restored", "has_conversation", "has_code"), [("code", True, False), ("conversation", False, True)]
)
def test_conversation_and_code_are_rewound_separately(
    place: Place, server: FakeServer, restored: str, has_conversation: bool, has_code: bool
) -> None:
    make_two_requests(place, server)
    assert place.coder("log", "rewind", "last@2", "--restore", restored).returncode == 0
    server.turns += [Turn(text="`minutes` counts them (`clock.py:1`).")]
    request(place, server, "ask", "What does minutes() in clock.py do?", "-c")
    assert ("Document minutes()." in str(messages(server, 2))) is has_conversation
    assert ("since midnight" in str(messages(server, 2)[-1])) is has_code
    assert "The user has gone back to an earlier point" in str(messages(server, 2)[-1])


@pytest.mark.thorough
def test_only_an_applied_diff_is_taken_out(place: Place, server: FakeServer) -> None:
    server.turns += [PATCH, Turn(text="Nothing to do.")]
    request(place, server, "fix", ISSUE, "--dry-run")
    (place.repository / "clock.py").write_text(FIXED_CLOCK, encoding="utf-8")
    refused = place.coder("apply", "--reverse", "last")
    assert refused.returncode == 2
    assert "delivered a change of clock.py that `coder apply` has not applied" in refused.stderr
    assert place.coder("undo", "last", "--yes").stderr == refused.stderr
    assert (place.repository / "clock.py").read_text(encoding="utf-8") == FIXED_CLOCK

    git(place.repository, "checkout", "-q", "clock.py")
    assert "uncommitted" in place.coder("apply", "last").stdout
    taken = place.coder("apply", "--reverse", "last").stdout
    assert re.fullmatch(r"Session \S+, clock\.py: the change was taken out of the working tree\.\n", taken)
    assert git(place.repository, "status", "--short") == ""
    assert place.coder("apply", "--reverse", "last").returncode == 2


def test_refuses_only_that_matches_nothing(place: Place) -> None:
    result = place.coder("fix", ISSUE, "--offline", "--trust", "--only", "nosuch.py")
    assert (result.returncode, "PROVEN" in result.stdout) == (2, False)
    assert "--only nosuch.py matches no file" in result.stderr
