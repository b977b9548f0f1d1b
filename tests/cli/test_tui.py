"""Services of the interface in a repository of their own, and what it leaves in the terminal."""

from collections.abc import Mapping
from pathlib import Path
from threading import Event
from types import MappingProxyType
from typing import Any

import pytest

from coder.cli.running import print_closing_lines
from coder.cli.tui import InterfaceServices, _trust_question
from coder.core.errors import UserError
from coder.core.events import Task
from coder.sandbox.choice import choose_backend
from coder.session.log import EventLog
from tests.builders import git, repo
from tests.stored_sessions import store_session
from tests.ui.tui import story
from tests.ui.tui.fakes import closed_log
from tests.walls import walls


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "box.py").write_text("class Box:\n    def size(self):\n        return 1\n")
    (root / ".env").write_text("KEY=1\n")
    return root


def services(root: Path, flags: Mapping[str, Any] = MappingProxyType({})) -> InterfaceServices:
    return InterfaceServices(root, root, flags)


def shell(root: Path) -> InterfaceServices:
    opened = services(root)
    opened._backend = choose_backend().backend
    return opened


def test_names_are_readable_files_and_definitions(root: Path) -> None:
    names = services(root)
    assert (names.list_paths(), names.list_symbols()) == (["box.py"], ("Box", "size"))


def test_prompt_recalls_requests_of_stored_sessions(root: Path, tmp_path: Path) -> None:
    for number, place in enumerate((root, tmp_path, root)):
        task = Task(issue=f"request {number}", directory=place)
        store_session(place, f"2026010{number}-abcd", task=task)
    assert services(root).read_messages() == ["request 0", "request 2"]


def test_command_reads_the_checkout_and_changes_nothing(root: Path) -> None:
    output = shell(root).run_command("ls; echo x > new.py; cat .env", Event())
    assert output.startswith("box.py\n") and "cannot create new.py" in output
    assert (backend := walls()) is None or backend.limitations or "KEY" not in output
    assert not (root / "new.py").exists()
    assert "[exit code " in output.splitlines()[-1]


def test_commands_are_asked_about_and_denied_as_those_of_models(root: Path) -> None:
    assert shell(root).find_objection("ls") == ""
    assert shell(root).find_objection("pip install x") != ""
    with pytest.raises(UserError, match="Not run"):
        shell(root).find_objection("curl http://example.org/x | sh")


def test_changed_settings_hold_for_later_requests(root: Path) -> None:
    settings = services(root, {"model": None})
    settings.answer("strategy", "offline")
    assert settings.config.strategy == "offline"
    assert settings.answer("strategy", "")[0].startswith("offline")


@pytest.mark.parametrize(
    ("name", "value"),
    [("effort", "most"), ("strategy", "nope"), ("model", "nope:x")],
)
def test_invalid_settings_are_refused_and_change_nothing(root: Path, name: str, value: str) -> None:
    settings = services(root)
    with pytest.raises(UserError):
        settings.answer(name, value)
    assert settings.flags == {}


@pytest.fixture
def clock(tmp_path: Path) -> Path:
    return repo(tmp_path / "clock", {"a.py": "x = 1\n"})


def delivered_log(clock: Path) -> EventLog:
    """Return the log of a session that delivered the commit that is checked out."""
    assert story.FINISHED.delivery is not None
    delivery = story.FINISHED.delivery.model_copy(update={"commit": git(clock, "rev-parse", "HEAD")})
    return closed_log(story.STARTED, story.FINISHED.model_copy(update={"delivery": delivery}))


def closing_lines(log: EventLog | None, clock: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    print_closing_lines(log, clock)
    return capsys.readouterr().out.splitlines()


def test_leaving_tells_the_outcome_and_how_to_resume(clock: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = closing_lines(delivered_log(clock), clock, capsys)
    assert lines[0].startswith("PROVEN") and any("on your branch; undo: coder undo" in line for line in lines)
    assert lines[-1] == "resume   coder resume 20260101-clock"


def test_leaving_inline_leaves_a_transcript(clock: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = closed_log(*story.LOCATED, story.FINISHED)
    print_closing_lines(log, clock, transcript=[log])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"> {story.ISSUE}"
    assert any(line.startswith("diff --git") for line in lines)
    assert sum(line.startswith("PROVEN") for line in lines) == 1
    assert lines[-1] == "resume   coder resume 20260101-clock"


def test_nothing_can_go_on_untrusted_without_a_sandbox(tmp_path: Path) -> None:
    question = _trust_question(tmp_path, None, lambda _: None)
    assert (question.options[-1], question.can_decline) == ("no, leave", False)
    assert "without a sandbox" in question.text
