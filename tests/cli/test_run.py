"""Custom commands at the command line: listed, sent to a model, refused where they are not trusted."""

from pathlib import Path

import pytest

from tests.builders import write
from tests.models.fakes import FakeServer, Turn
from tests.place import Place

pytestmark = pytest.mark.loopback
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
