"""The documentation site, and its pictures."""

import asyncio
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer

from coder.cli.app import app
from coder.core.events import SessionStarted, Verified
from coder.session.log import read_records
from coder.settings import SETTING_GROUPS, Config, describe_settings
from coder.ui.tui.app import CoderApp
from coder.ui.tui.commands import SessionModel, UserRequest
from docs.generators.command_tree import read_command_tree
from docs.generators.reference_pages import (
    render_commands,
    render_events,
    render_exit_codes,
    render_settings,
)
from tests.builders import by_hand
from tests.ui.tui.fakes import FakeClock, FakeSession, Stage, services_that, stage
from tests.ui.tui.pictures import check_picture

ROOT = Path(__file__).parents[2]
needs_sphinx = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("sphinx", "furo", "myst_parser")),
    reason="the extra docs is not installed",
)


def build(source: Path, target: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", str(target / "doctrees")]
    return subprocess.run(
        [*command, str(source), str(target)], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.thorough
@needs_sphinx
def test_site_builds_without_warnings(tmp_path: Path) -> None:
    result = build(ROOT / "docs", tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    commands = (tmp_path / "reference" / "commands.html").read_text(encoding="utf-8")
    assert 'id="coder-log-evidence"' in commands
    assert "max_usd_per_day" in (tmp_path / "reference" / "settings.html").read_text(encoding="utf-8")
    assert "NOT TESTED" in (tmp_path / "reference" / "exit-codes.html").read_text(encoding="utf-8")
    assert (tmp_path / "tutorial.html").read_text(encoding="utf-8").count(".svg") == 3
    assert "https://fonts" not in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_commands_page_names_every_option() -> None:
    tree = read_command_tree(typer.main.get_command(app))
    page = render_commands(tree)
    for node in tree.walk():
        assert f"## {' '.join(('coder', *node.path))}\n" in page
        assert [name for option in node.options for name in option.names if name not in page] == []


def test_exit_codes_page_names_every_verdict() -> None:
    assert "| `3` | PASSING |" in render_exit_codes()


def test_events_page_names_every_event_and_its_fields() -> None:
    page = render_events()
    assert "| `started` | session, repository, model, head, base, dirty, version |" in page
    assert page.count("| `") == 14
    assert "cached\\_tokens, output\\_tokens, cost\\_usd, seconds |" in page


def test_every_setting_is_described() -> None:
    assert [name for name in Config.model_fields if not describe_settings().get(name)] == []
    assert {*SETTING_GROUPS.values()} <= {*Config.model_fields}
    page = render_settings().splitlines()
    assert next(line for line in page if "`max_usd`" in line).endswith("| lower it |")
    assert next(line for line in page if "`model`" in line).endswith("| no |")
    assert next(line for line in page if "`test`" in line).endswith("| set it |")
    assert "| `mode` | `shift+tab` | change the mode: fix, change, ask, plan, build |" in page


PICTURES = Path(__file__).parents[2] / "docs" / "tutorial"
EVENTS = [record.event for record in read_records(Path(__file__).parent / "demo_session")]
ISSUE = next(event.task.issue for event in EVENTS if isinstance(event, SessionStarted))
SEARCHED = next(number for number, event in enumerate(EVENTS) if isinstance(event, Verified))


@pytest.mark.parametrize(
    ("name", "count"), [("proven", len(EVENTS)), *by_hand(("start", 0), ("searching", SEARCHED))]
)
def test_picture_is_current(name: str, count: int, tmp_path: Path) -> None:
    session = FakeSession()

    async def start(_: UserRequest) -> FakeSession:
        return session

    async def show(terminal: Stage) -> None:
        if count:
            await terminal.say(ISSUE)
            session.tell(*EVENTS[:count])
        if count == len(EVENTS):
            session.end()
        await terminal.settle()
        check_picture(terminal, name, tmp_path, PICTURES)

    async def scenario() -> None:
        app = CoderApp(
            services_that(start=start, choose_model=lambda: SessionModel("no model")),
            repository="/tmp/coder-demo-k3v9x1/worklog",
            clock=FakeClock(),
        )
        async with stage(app, size=(100, 30)) as terminal:
            app.theme = "textual-dark"
            await show(terminal)

    asyncio.run(scenario())
