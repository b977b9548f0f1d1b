from contextlib import AbstractAsyncContextManager
from threading import Event
from typing import Any

import pytest

from coder.core.errors import UserError
from coder.ui.tui.commands import SessionModel, UserRequest
from tests.ui.tui.fakes import FakeServices, Stage, stage


class World(FakeServices):
    """Services with a shell that asks about some commands."""

    def __init__(self) -> None:
        super().__init__()
        self.objections: dict[str, str] = {}
        self.choose_model = lambda: SessionModel(self.values.get("model", "acme:large"))

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
        return stage(services=self, size=(100, 40), **options)


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
