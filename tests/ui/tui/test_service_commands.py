from contextlib import AbstractAsyncContextManager
from threading import Event
from typing import Any

import pytest

from coder.core.errors import UserError
from coder.ui.tui.services import SessionModel, UserRequest
from tests.ui.tui import story
from tests.ui.tui.fakes import FakeServices, FakeSession, Stage, stage


class World(FakeServices):
    """Services with a shell that asks about some commands."""

    def __init__(self) -> None:
        super().__init__()
        self.objections: dict[str, str] = {}

    def find_objection(self, command: str) -> str:
        if command.startswith("sudo"):
            raise UserError("Not run: becomes another user.")
        return self.objections.get(command, "")

    def run_command(self, command: str, stop: Event) -> str:
        output = super().run_command(command, stop)
        if command == "sleep":
            stop.wait()
            return "[stopped, 0.1 s]"
        return "x\n" * 3000 if command == "cat big" else output

    def stage(self, **options: Any) -> AbstractAsyncContextManager[Stage]:
        model = lambda: SessionModel(self.values.get("model", "acme:large"))  # noqa: E731
        return stage(model=model, services=self, size=(100, 40), **options)


@pytest.fixture
def world() -> World:
    return World()


async def test_shell_command_is_shown_and_goes_with_the_next_request(world: World) -> None:
    async with world.stage() as terminal:
        await terminal.say("!ls src")
        assert "! ls src" in terminal.text and "output of ls src" in terminal.text
        await terminal.say("!cat big")
        assert "too long to go with your next request" in terminal.text
        await terminal.say("a bug")
    assert terminal.requests == [
        UserRequest("a bug", "fix", "", (("ls src", "output of ls src\n[exit code 0, 0.1 s]"),))
    ]


async def test_asks_before_a_command_that_leaves_the_sandbox(world: World) -> None:
    world.objections["pip install x"] = "installs something"
    async with world.stage() as terminal:
        for key, ran in {"escape": [], "y": ["pip install x"]}.items():
            await terminal.say("!pip install x")
            await terminal.wait_for_question("installs something")
            await terminal.press(key)
            assert "Not run." in terminal.text
            assert world.ran == ran


async def test_denied_and_empty_commands_say_why_and_escape_stops_one(world: World) -> None:
    async with world.stage() as terminal:
        await terminal.say("!sleep")
        await terminal.press("escape")
        assert "[stopped, 0.1 s]" in terminal.text
        await terminal.say("!sudo ls")
        assert "becomes another user" in terminal.text
        await terminal.say("!")
        assert "! needs a command" in terminal.text
    assert (terminal.draft, world.ran) == ("!", ["sleep"])


async def test_model_is_listed_and_changed(world: World) -> None:
    async with world.stage() as terminal:
        await terminal.say("/model")
        assert "200k tokens, $3 in" in terminal.text
        await terminal.say("/model nope")
        assert "No provider is known" in terminal.text
        await terminal.say("/model acme:small")
        assert "acme:small" in terminal.text.splitlines()[0]


async def test_key_changes_effort(world: World) -> None:
    async with world.stage() as terminal:
        await terminal.press("ctrl+t")
        assert "From the next request on: effort low" in terminal.text


ANSWERS = {
    "/strategy": "strategy: none",
    "/budget tokens 5": "From the next request on: budget tokens 5",
    "/doctor": "ok  sandbox",
    "/theme": "* textual-dark",
    "/theme drakula": "There is no theme drakula. Did you mean dracula?",
    "/model acme:large /ask why": "/model takes one word, not 'acme:large /ask why'.",
    "/copy": "There is no answer to copy yet.",
    "/cost": "This is the record of a session",
    "/undoo": "There is no command /undoo. Do you mean /undo?",
    "/xyzzy": "There is no command /xyzzy. /help lists all.",
    "/!ls": "There is no command /!ls. Without the slash, !ls runs in the sandbox.",
    "/Undo x": "There is no command /Undo. Do you mean /undo?",
    "/2 fails": "There is no command /2. /help lists all.",
}
"""Commands and text of the answers to them."""


@pytest.mark.thorough
async def test_commands_show_their_answer(world: World) -> None:
    async with world.stage() as terminal:
        for command, shown in ANSWERS.items():
            assert shown not in terminal.text
            await terminal.say(command)
            assert shown in terminal.text


@pytest.mark.parametrize(
    ("before", "command", "used", "remembered"),
    [
        ("nord", "/theme dracula", "dracula", "dracula"),
        pytest.param("gone", "/help", "textual-dark", "", marks=pytest.mark.thorough),
    ],
)
async def test_known_theme_is_taken_and_remembered(
    world: World, before: str, command: str, used: str, remembered: str
) -> None:
    async with world.stage(theme=before) as terminal:
        assert terminal.app.theme == (before if before == "nord" else used)
        await terminal.say(command)
        assert terminal.app.theme == used
    assert world.values["theme"] == remembered


async def test_newest_answer_is_copied(world: World) -> None:
    async with world.stage() as terminal:
        await terminal.fix(*story.LOCATED, *story.SPEAKING, *story.PATCHED)
        await terminal.end(story.FINISHED)
        await terminal.say("/copy")
        assert terminal.app.clipboard == story.SAID


async def test_judging_own_work_is_nothing_to_continue(world: World) -> None:
    sessions = [FakeSession(), FakeSession()]
    judging = sessions[0]

    async def start(_: UserRequest) -> FakeSession:
        return sessions.pop(0)

    async with world.stage(start=start) as terminal:
        await terminal.say("/verify")
        judging.end(*story.LOCATED, story.FINISHED)
        await terminal.settle()
        await terminal.say("a bug")
    assert terminal.requests == [UserRequest("", "verify"), UserRequest("a bug", "fix")]
