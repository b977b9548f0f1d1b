"""Requests that continue a session: its conversation, its branch, and the way back."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import git
from tests.models.fakes import FakeServer, Turn, serve
from tests.models.wires import chat_stream, openai_error
from tests.test_command_line import FIX, ISSUE, PATCH, Place, call, start_session

NAMED = (
    "--- a/clock.py\n+++ b/clock.py\n@@ -1,2 +1,3 @@\n def minutes(text):\n"
    '+    """Return the minutes since midnight."""\n     hours, rest = text.split(":")\n'
)
SHIFTED = Turn(text="Added.", calls=(call("apply_patch", diff=FIX.replace("-3 +3", "-4 +4")),))


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with serve(chat_stream, openai_error, []) as fake:
        yield fake


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


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
        Turn(text="It counts them (`clock.py:1`)."),
    ]
    request(place, server, "fix", ISSUE, "--no-offline-first")
    branch = git(place.repository, "for-each-ref", "--format=%(refname:short)", "refs/heads/coder")
    fix = git(place.repository, "rev-parse", branch)

    request(place, server, "do", "Document minutes().", "--continue")
    assert git(place.repository, "rev-parse", f"{branch}^") == fix
    assert messages(server, 1)[: len(messages(server, 0))] == messages(server, 0)

    answer = request(place, server, "ask", "What does @minutes do?", "-c")
    assert "It counts them (`clock.py:1`)." in answer
    assert messages(server, 2)[: len(messages(server, 1))] == messages(server, 1)
    assert "# Attached by the user: minutes, clock.py:1" in str(messages(server, 2)[-1]["content"])
    assert git(place.repository, "log", "--format=%s", f"main..{branch}").count("\n") == 1

    assert "which holds the fix." in place.coder("apply", "last").stdout
    assert git(place.repository, "rev-parse", "main") == git(place.repository, "rev-parse", branch)


def test_undo_takes_back_the_newest_request_alone(place: Place, server: FakeServer) -> None:
    server.turns += [
        PATCH,
        Turn(text="minutes() is documented", calls=(call("apply_patch", diff=NAMED),)),
    ]
    request(place, server, "fix", ISSUE, "--no-offline-first")
    branch = git(place.repository, "for-each-ref", "--format=%(refname:short)", "refs/heads/coder")
    fix = git(place.repository, "rev-parse", branch)
    request(place, server, "do", "Document minutes().", "--continue")
    refused = place.coder("apply", "last", "--verify")
    assert (refused.returncode, f"builds on {fix[:10]}" in refused.stderr) == (2, True)
    assert f"back to {fix[:10]}" in place.coder("undo", "last", "--yes").stdout
    assert git(place.repository, "rev-parse", branch) == fix
    assert "deleted the branch" in place.coder("undo", "last", "--yes").stdout.lower()


def test_question_changes_nothing_and_needs_a_model(place: Place, server: FakeServer) -> None:
    before = place.user_state()
    server.turns += [Turn(calls=(call("apply_patch", diff=NAMED),)), Turn(text="It is in `clock.py:1`.")]
    assert "It is in `clock.py:1`." in request(place, server, "ask", "Where is minutes()?")
    assert place.user_state() == before
    result = place.coder("ask", "Where?", "--trust")
    assert (result.returncode, "A question needs a model" in result.stderr) == (2, True)


def test_unknown_session_cannot_be_continued(place: Place, server: FakeServer) -> None:
    result = place.coder("fix", ISSUE, "--continue", "--trust", "--offline")
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "No session yet" in result.stderr


def test_interrupted_session_goes_on_with_its_change(place: Place, server: FakeServer) -> None:
    documents = Turn(text="minutes() is documented", calls=(call("apply_patch", diff=NAMED),))
    server.turns += [documents, Turn(text="I think", stalls=True)]
    running = start_session(place, server, "--no-offline-first")
    deadline = time.monotonic() + 60
    while len(server.requests) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    running.kill()
    running.communicate()
    server.turns[:] = [Turn(calls=(call("search", pattern="since midnight"),)), SHIFTED]
    assert "PROVEN" in request(place, server, "fix", ISSUE, "--no-offline-first", "--continue")
    branch = git(place.repository, "for-each-ref", "--format=%(refname:short)", "refs/heads/coder")
    source = git(place.repository, "show", f"{branch}:clock.py")
    assert "since midnight" in source
    assert "+ int(rest)" in source


def test_retry_is_shown(place: Place, server: FakeServer) -> None:
    server.turns += [Turn(status=503, error="overloaded"), PATCH]
    assert "Trying again in" in request(place, server, "fix", ISSUE, "--no-offline-first")


def test_undo_without_terminal_names_the_option(place: Place, server: FakeServer) -> None:
    server.turns += [PATCH]
    request(place, server, "fix", ISSUE, "--no-offline-first")
    result = place.coder("undo", "last")
    assert (result.returncode, "add --yes" in result.stderr) == (2, True)
