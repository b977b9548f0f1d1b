"""Command line with a real repository and a model server on the loopback interface."""

import json
import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import git, repo
from tests.models.fakes import FakeServer, Turn, serve
from tests.models.wires import chat_stream, openai_error
from tests.place import FILES, FIX, ISSUE, LOOK, PATCH, WORSE, Place, call, fix_arguments

pytestmark = pytest.mark.loopback
STILL_PROVEN = "The evidence still holds: PROVEN.\n"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with serve(chat_stream, openai_error, []) as fake:
        yield fake


def test_proves_applies_and_undoes_fix(tmp_path: Path, server: FakeServer) -> None:
    """The fix in a process of its own, with pytest; the last fix is that of its repository."""
    place = Place(tmp_path, runner="pytest")
    server.turns += [PATCH]
    before = place.user_state()
    result = place.process(*fix_arguments(server))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "PROVEN" in result.stdout
    assert "\x1b" not in result.stdout
    branch = git(place.repository, "for-each-ref", "--format=%(refname:short)", "refs/heads/coder").strip()
    assert (
        git(place.repository, "log", "-1", "--format=%(trailers:key=Coder-Verdict,valueonly)", branch)
        .strip()
        .startswith("PROVEN")
    )
    assert "test_half_past_nine" in git(place.repository, "notes", "--ref=coder", "show", branch)
    assert {**place.user_state(), "branches": ""} == {**before, "branches": ""}
    assert place.coder("log", "diff", branch).stdout == place.coder("log", "diff", "last").stdout
    other = repo(tmp_path / "other", FILES)
    refused = place.coder("apply", "last", "--repo", str(other))
    assert (refused.returncode, f"to apply or undo in {other}" in refused.stderr) == (2, True)
    name = place.coder("log").stdout.splitlines()[1].split()[0]
    refused = place.coder("undo", name, "--yes", "--repo", str(other))
    assert (refused.returncode, f"belongs to {place.repository}" in refused.stderr) == (2, True)
    worktree = tmp_path / "worktree"
    git(place.repository, "worktree", "add", "--quiet", "--detach", str(worktree))
    assert place.coder("apply", name, "--check", "--repo", str(worktree)).returncode == 0
    git(place.repository, "worktree", "remove", str(worktree))
    (place.repository / "clock.py").write_text("mine\n")
    refused = place.coder("apply", "last")
    assert (refused.returncode, "clock.py" in refused.stderr) == (2, True)
    assert (place.repository / "clock.py").read_text() == "mine\n"
    git(place.repository, "checkout", "-q", "clock.py")
    assert place.coder("apply", branch).returncode == 0
    assert "+ int(rest)" in (place.repository / "clock.py").read_text()
    git(place.repository, "branch", "-D", branch)
    assert ("PROVEN" in (listed := place.coder("log").stdout), "undone" in listed) == (True, False)
    undone = place.coder("undo", "last", "--yes")
    assert undone.returncode == 0, undone.stderr
    assert "- int(rest)" in (place.repository / "clock.py").read_text()
    assert "PROVEN, undone" in place.coder("log").stdout
    assert place.traces() == ("", "")


def test_json_output_ends_with_verdict_and_fix_is_merged(place: Place, server: FakeServer) -> None:
    server.turns += [LOOK, PATCH]
    result = place.fix(server, "--json", "--merge")
    events = [json.loads(line) for line in result.stdout.splitlines()]
    kinds = [
        event["event"] for event in events if event["event"] != "warning"
    ]  # of a sandbox that is reduced on this machine
    assert kinds[:3] + kinds[-2:] == ["started", "baseline", "phase", "verified", "finished"]
    assert [event["phase"] for event in events if event["event"] == "phase"] == [
        "locate",
        "reproduce",
        "edit",
        "verify",
    ]
    assert [(event["name"], event["ok"]) for event in events if event["event"] == "tool"] == [
        ("search", True),
        ("apply_patch", True),
    ]
    assert (events[-1]["verdict"], events[-1]["exit_code"], events[-1]["requests"]) == ("PROVEN", 0, 2)
    assert "+ int(rest)" in (place.repository / "clock.py").read_text()
    assert git(place.repository, "status", "--porcelain") == ""


def test_dry_run_leaves_nothing_and_writes_diff(place: Place, server: FakeServer, tmp_path: Path) -> None:
    server.turns += [PATCH]
    before = place.user_state()
    refused = place.fix(server, "--max-usd", "0.5")
    assert refused.returncode == 5
    assert "the limit of $0.5 (max_usd) cannot be kept. Add --max-tokens" in " ".join(refused.stdout.split())
    limits = ("--max-usd", "0.5", "--max-requests", "20")
    options = (
        *limits,
        "--dry-run",
        "--output",
        str(tmp_path / "fix.diff"),
        "--not-test",
        "test_old.py::test_odd",
    )
    result = place.fix(server, *options)
    assert result.returncode == 0
    assert "instead it is limited to 20 requests" in " ".join(result.stdout.split())
    logs = [log.read_text() for log in tmp_path.glob("state/coder/sessions/*/events.jsonl")]
    assert ['"unrelated_tests":["test_old.py::test_odd"]' in log for log in logs].count(True) == 1
    assert "+    return int(hours) * 60 + int(rest)" in (tmp_path / "fix.diff").read_text()
    assert place.user_state() == before
    assert (
        git(place.repository, "for-each-ref").splitlines()
        == git(place.repository, "for-each-ref", "refs/heads").splitlines()
    )
    assert "+ int(rest)" in place.coder("log", "diff", "last").stdout


@pytest.mark.thorough
def test_makes_edits_and_runs_plan(place: Place, server: FakeServer, tmp_path: Path) -> None:
    steps = [{"intent": "The sign is right.", "files": ["clock.py"], "check": ISSUE.split()[0]}]
    server.turns += [
        Turn(calls=(call("hand_over", kind="plan", summary="The sign is wrong.", steps=steps),)),
        PATCH,
    ]
    before, plan = place.user_state(), tmp_path / "plan.md"
    planned = place.fix(server, "--plan-only", "--output", str(plan))
    assert (planned.returncode, place.user_state()) == (0, before), planned.stderr
    assert f"The plan is in {plan}" in planned.stderr
    plan.write_text(plan.read_text().replace("The sign is right", "The sign is a plus"))
    result = place.fix(server, "--plan", str(plan))
    assert result.returncode == 0, result.stdout + result.stderr
    assert len(server.requests) == 2
    assert "The sign is a plus." in json.dumps(server.requests[1])


def test_kill_touches_nothing_and_next_run_cleans_up(place: Place, server: FakeServer) -> None:
    (place.repository / "notes.txt").write_text("uncommitted\n")
    before = place.user_state()
    server.turns[:] = [LOOK, Turn(calls=(call("apply_patch", diff=WORSE),)), *[LOOK] * 50]
    running = place.start_fix(server)
    deadline = time.monotonic() + 60
    while not server.requests and time.monotonic() < deadline:
        time.sleep(0.05)
    running.kill()
    running.communicate()
    state = place.user_state()
    state["branches"] = "\n".join(
        line for line in state["branches"].splitlines() if "refs/heads/coder/" not in line
    )
    assert (state, place.traces() == ("", "")) == (before, False)
    server.turns[:] = [PATCH]
    assert place.fix(server, "--dry-run").returncode == 0
    assert place.traces() == ("", "")
    assert place.user_state() == before


def test_proves_fix_without_model(place: Place) -> None:
    with (place.repository / "test_clock.py").open("a") as file:
        file.write(
            '\n\ndef test_writes():\n    open("clock.py", "a").write("#")\n'
            '    open("new.txt", "a").write(str(minutes("01:00")))\n'
        )
    git(place.repository, "commit", "-qam", "test more")
    before = place.user_state()
    result = place.coder("fix", ISSUE, "--trust")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "no model: no key is set" in result.stdout
    assert "+    return int(hours) * 60 + int(rest)" in result.stdout
    assert "changed  clock.py (+1 -1)\n" in result.stdout
    assert {**place.user_state(), "branches": ""} == {**before, "branches": ""}


def test_closed_output_pipe_ends_session_quietly(place: Place, server: FakeServer) -> None:
    server.turns += [LOOK] * 20
    command = shlex.join(
        place.command(
            "fix", ISSUE, "--base-url", f"{server.url}/v1", "--model", "fake", "--trust", "--verbose"
        )
    )
    result = subprocess.run(
        ["bash", "-c", f"{command} | head -2"],
        cwd=place.repository,
        env=place.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.stdout.count("\n") == 2
    assert "Traceback" not in result.stderr
    assert place.traces() == ("", "")


@pytest.mark.thorough
def test_judges_statement_again_without_foreign_command(place: Place, tmp_path: Path) -> None:
    (place.repository / "fix.diff").write_text(FIX)
    file = tmp_path / "evidence.json"
    options = ("--trust", "--against", "HEAD", "--not-test", "t.py::test_old", "--not-test", "t.py::test_odd")
    assert place.coder("verify", "fix.diff", *options, "--evidence", str(file)).returncode == 0
    assert json.loads(file.read_text())["unrelated_tests"] == ["t.py::test_old", "t.py::test_odd"]
    file.write_text(json.dumps({**json.loads(file.read_text()), "test_command": f"touch {tmp_path}/ran"}))
    foreign = place.coder("verify", "--check", "--evidence", str(file), "--trust")
    assert (foreign.returncode, "so it was not run" in foreign.stderr) == (2, True)
    assert not (tmp_path / "ran").exists()

    statement = tmp_path / "statement.json"
    statement.write_text(place.coder("log", "evidence", "last", "--in-toto").stdout)
    second = place.coder("verify", "--check", "--evidence", str(statement), "--trust")
    assert (second.returncode, second.stderr[-len(STILL_PROVEN) :]) == (0, STILL_PROVEN)
    misused = place.coder("verify", "--check", "--evidence", str(statement), "--issue", "x")
    assert (misused.returncode, "leave out --report" in misused.stderr) == (2, True)
