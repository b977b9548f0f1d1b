from pathlib import Path

import pytest

from coder.cli.terminal import print_closing_lines
from coder.cli.tui import _trust_question
from coder.session.log import EventLog
from tests.builders import git, repo
from tests.ui.tui import story
from tests.ui.tui.fakes import closed_log


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repo(tmp_path / "clock", {"a.py": "x = 1\n"})


def delivered_log(root: Path) -> EventLog:
    """Return the log of a session that delivered the commit that is checked out."""
    assert story.FINISHED.delivery is not None
    delivery = story.FINISHED.delivery.model_copy(update={"commit": git(root, "rev-parse", "HEAD")})
    return closed_log(story.STARTED, story.FINISHED.model_copy(update={"delivery": delivery}))


def closing_lines(log: EventLog | None, root: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    print_closing_lines(log, root)
    return capsys.readouterr().out.splitlines()


def test_leaving_tells_the_outcome_and_how_to_resume(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = closing_lines(delivered_log(root), root, capsys)
    assert lines[0].startswith("PROVEN") and any("on your branch; undo: coder undo" in line for line in lines)
    assert lines[-1] == "resume   coder resume 20260101-clock"


def test_leaving_offers_to_apply_what_is_on_another_branch(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(root, "checkout", "-q", "-b", "coder/clock")
    git(root, "commit", "-q", "--allow-empty", "-m", "fix")
    log = delivered_log(root)
    git(root, "checkout", "-q", "-")
    lines = closing_lines(log, root, capsys)
    assert any("apply: coder apply" in line for line in lines)


def test_leaving_inline_leaves_a_transcript(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = closed_log(*story.LOCATED, story.FINISHED)
    print_closing_lines(log, root, transcript=[log])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"> {story.ISSUE}"
    assert any(line.startswith("diff --git") for line in lines)
    assert sum(line.startswith("PROVEN") for line in lines) == 1
    assert lines[-1] == "resume   coder resume 20260101-clock"


def test_nothing_can_go_on_untrusted_without_a_sandbox(tmp_path: Path) -> None:
    question = _trust_question(tmp_path, None, lambda _: None)
    assert (question.options[-1], question.can_decline) == ("no, leave", False)
    assert "without a sandbox" in question.text
