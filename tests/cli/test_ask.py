"""Questions, and commands of the user's own."""

import json
from pathlib import Path

import pytest

from tests.builders import write
from tests.models.fakes import FakeServer, Turn
from tests.place import Place, call

pytestmark = pytest.mark.loopback
QUESTION = "How are minutes counted?"
CLAIM = {"text": "`minutes` splits the text", "places": ["clock.py:2"]}
PLAN = Turn(
    calls=(
        call(
            "hand_over",
            kind="research_plan",
            summary="In two parts.",
            subtopics=[{"title": name, "question": f"Look at {name}."} for name in ("code", "tests")],
        ),
    )
)
RESEARCH = Turn(calls=(call("hand_over", kind="research", summary="It splits.", claims=[CLAIM]),))
ENOUGH = Turn(calls=(call("hand_over", kind="evaluation", summary="Enough.", decision="synthesize"),))
REPORT = Turn(
    calls=(
        call(
            "hand_over",
            kind="report",
            answer="`minutes` splits the text (`clock.py:2`).",
            findings=[CLAIM],
            details="See `minutes` (`clock.py:99`).",
        ),
    )
)


def model_options(server: FakeServer) -> tuple[str, ...]:
    return ("--base-url", f"{server.url}/v1", "--model", "fake", "--trust")


def test_research_ends_in_a_checked_report(place: Place, server: FakeServer, tmp_path: Path) -> None:
    before = place.user_state()
    server.turns += [PLAN, RESEARCH, RESEARCH, ENOUGH, REPORT]
    page = tmp_path / "report.md"
    result = place.coder("ask", QUESTION, "--deep", "--output", str(page), *model_options(server))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "research-1/1 looks into: code" in result.stdout
    assert "1 claim, 0 unconfirmed, 0 dropped: It splits." in result.stdout
    assert "## Key findings\n1. `minutes` splits the text (`clock.py:2`)" in page.read_text()
    assert "See `minutes` ([citation dropped: no such place])." in page.read_text()
    assert place.user_state() == before
    shown = place.coder("log", "show", "last").stdout
    assert "research-1/2 looks into: tests" in shown

    server.turns += [Turn(text="Sixty an hour (`clock.py:3`).\n\nIncomplete: seconds were not looked at.")]
    follow_up = place.coder("ask", "And hours?", "--continue", *model_options(server))
    assert "It splits." in json.dumps(server.requests[-1]["messages"])
    assert "The answer is incomplete: coder ask --deep looks further." in follow_up.stdout


def test_limit_keeps_what_was_found(place: Place, server: FakeServer) -> None:
    server.turns += [PLAN, RESEARCH, RESEARCH]
    result = place.coder("ask", QUESTION, "--deep", "--max-requests", "3", *model_options(server))
    assert result.returncode == 5, result.stdout + result.stderr
    assert "- `minutes` splits the text (`clock.py:2`)" in result.stdout


def test_answers_without_a_model(place: Place, tmp_path: Path) -> None:
    before = place.user_state()
    page = tmp_path / "answer.md"
    result = place.coder("ask", "Who calls `minutes`?", "--offline", "--output", str(page))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "- `clock.py:1` to 3: function" in page.read_text()
    assert place.user_state() == before
    records = place.coder("ask", "Who calls `minutes`?", "--offline", "--json").stdout
    finished = json.loads(records.splitlines()[-1])
    assert (finished["exit_code"], "`clock.py:1`" in finished["report"]) == (0, True)
    assert finished["requests"] == 0


def test_document_is_cited_like_a_file(place: Place, tmp_path: Path) -> None:
    (tmp_path / "spec.md").write_text("A minute has `sixty_seconds`.\n")
    result = place.coder(
        "ask", "Who says `sixty_seconds`?", "--offline", "--document", str(tmp_path / "spec.md"), "--trust"
    )
    assert "`coder-sources/spec.md:1`" in result.stdout, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--offline", "--deep"), "--offline works without a model"),
        (("--max-iterations", "2"), "--max-iterations limits the rounds of --deep"),
        (("--offline", "--url", "http://127.0.0.1:9/"), "url_hosts"),
        (("--deep",), "--deep needs a model: add --model"),
    ],
)
def test_wrong_use_gets_one_line(place: Place, options: tuple[str, ...], message: str) -> None:
    result = place.coder("ask", QUESTION, *options, "--trust")
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert message in result.stderr


COMMAND = "---\ndescription: Explain a name\nargument-hint: NAME\nmode: ask\n---\nWhat does $1 do?\n"


def test_runs_a_command_of_a_trusted_repository(place: Place, server: FakeServer, tmp_path: Path) -> None:
    place.environment["HOME"] = str(tmp_path / "home")
    write(place.repository / ".claude/commands", {"explain.md": COMMAND})
    model = ("--base-url", f"{server.url}/v1", "--model", "fake")
    assert "coder trust" in place.coder("run", "explain", "minutes", *model).stderr
    assert place.coder("run").stdout.strip() == ""
    assert place.coder("run", "--trust").stdout == "explain          NAME Explain a name\n"
    server.turns += [Turn(text="It splits the text (`clock.py:2`).")]
    result = place.coder("run", "explain", "minutes", "--trust", *model)
    assert result.returncode == 0, result.stderr
    assert "It splits the text" in result.stdout
    assert "What does minutes do?" in str(server.requests[-1])
