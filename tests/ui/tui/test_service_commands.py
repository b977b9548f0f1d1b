import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from threading import Event

import pytest

from coder.core.errors import UserError
from coder.ui.tui.app import CoderApp
from coder.ui.tui.prompt import Prompt
from coder.ui.tui.services import Services, SessionModel, UserRequest
from tests.ui.tui import story
from tests.ui.tui.fakes import FakeSession, Stage, stage


@dataclass
class Shell:
    objections: dict[str, str] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)

    def objection(self, command: str) -> str:
        if command.startswith("sudo"):
            raise UserError("Not run: becomes another user.")
        return self.objections.get(command, "")

    def run(self, command: str, stop: Event) -> str:
        self.ran.append(command)
        if command == "sleep":
            stop.wait()
            return "[stopped, 0.1 s]"
        return "x\n" * 3000 if command == "cat big" else f"output of {command}\n[exit code 0, 0.1 s]"


@dataclass
class Settings:
    values: dict[str, str] = field(default_factory=dict)
    theme: str = ""

    def models(self) -> Sequence[str]:
        return ["* acme:large   200k tokens, $3 in and $15 out per million"]

    def show(self, name: str) -> Sequence[str]:
        return [f"{name}: {self.values.get(name, 'none')}"]

    def choices(self, name: str) -> Sequence[str]:
        return {
            "model": ["acme:large"],
            "strategy": ["linear", "tree"],
            "budget": ["usd  no limit", "tokens  5"],
        }.get(name, [])

    def change(self, name: str, value: str) -> str:
        if value == "nope":
            raise UserError("No provider is known for the model 'nope'.")
        self.values[name] = value
        return f"From the next request on: {name} {value}"

    def check(self) -> Sequence[str]:
        return ["ok  sandbox      bubblewrap"]

    def remember_theme(self, name: str) -> None:
        self.theme = name


@dataclass
class World:
    shell: Shell = field(default_factory=Shell)
    settings: Settings = field(default_factory=Settings)
    requests: list[UserRequest] = field(default_factory=list)
    session: FakeSession = field(default_factory=FakeSession)

    def play(self, scene: Callable[[Stage], Awaitable[None]], theme: str = "") -> str:
        """Return the text in the prompt after a scene."""

        async def start(request: UserRequest) -> FakeSession:
            self.requests.append(request)
            return self.session

        async def scenario() -> str:
            app = CoderApp(
                start,
                repository="/r",
                model=lambda: SessionModel(self.settings.values.get("model", "acme:large")),
                services=Services(shell=self.shell, settings=self.settings),
                theme=theme,
            )
            async with stage(app, size=(100, 40)) as terminal:
                terminal.session = self.session
                await scene(terminal)
                await terminal.settle()
                return app.screen.query_one(Prompt).text

        return asyncio.run(scenario())


@pytest.fixture
def world() -> World:
    return World()


def test_shell_command_is_shown_and_goes_with_the_next_request(world: World) -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.say("!ls src")
        await terminal.settle()
        assert "! ls src" in terminal.text and "output of ls src" in terminal.text
        await terminal.say("!cat big")
        await terminal.settle()
        assert "too long to go with your next request" in terminal.text
        await terminal.say("a bug")

    world.play(scene)
    assert world.requests == [
        UserRequest("a bug", "fix", "", (("ls src", "output of ls src\n[exit code 0, 0.1 s]"),))
    ]


def test_asks_before_a_command_that_leaves_the_sandbox(world: World) -> None:
    world.shell.objections["pip install x"] = "installs something"

    async def scene(terminal: Stage) -> None:
        for key, ran in {"escape": [], "y": ["pip install x"]}.items():
            await terminal.say("!pip install x")
            await terminal.wait_for_question("installs something")
            await terminal.pilot.press(key)
            await terminal.settle()
            assert "Not run." in terminal.text
            assert world.shell.ran == ran

    world.play(scene)


def test_denied_and_empty_commands_say_why_and_escape_stops_one(world: World) -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.say("!sleep")
        await terminal.pilot.press("escape")
        await terminal.settle()
        assert "[stopped, 0.1 s]" in terminal.text
        await terminal.say("!sudo ls")
        await terminal.settle()
        assert "becomes another user" in terminal.text
        await terminal.say("!")
        assert "! needs a command" in terminal.text

    assert world.play(scene) == "!"
    assert world.shell.ran == ["sleep"]


def test_model_is_listed_and_changed(world: World) -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.say("/model")
        await terminal.settle()
        assert "200k tokens, $3 in" in terminal.text
        await terminal.say("/model nope")
        await terminal.settle()
        assert "No provider is known" in terminal.text
        await terminal.say("/model acme:small")
        await terminal.settle()
        assert "acme:small" in terminal.text.splitlines()[0]

    world.play(scene)


ANSWERS = {
    "/strategy": "strategy: none",
    "/budget tokens 5": "From the next request on: budget tokens 5",
    "/doctor": "ok  sandbox",
    "/theme": "* textual-dark",
    "/theme drakula": "There is no theme drakula. Do you mean dracula?",
    "/strategy tre": "There is no strategy tre. Do you mean tree?",
    "/model acme:large /ask why": "/model takes one word, not 'acme:large /ask why'.",
    "/strategy x": "There is no strategy x. There are: linear, tree.",
    "/budget token 5": "There is no limit token. Do you mean tokens?",
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
def test_commands_show_their_answer(world: World) -> None:
    async def scene(terminal: Stage) -> None:
        for command, shown in ANSWERS.items():
            assert shown not in terminal.text
            await terminal.say(command)
            await terminal.settle()
            assert shown in terminal.text

    world.play(scene)


def test_theme_is_taken_and_remembered(world: World) -> None:
    async def scene(terminal: Stage) -> None:
        assert terminal.app.theme == "nord"
        await terminal.say("/theme dracula")
        await terminal.settle()
        assert terminal.app.theme == "dracula"

    world.play(scene, theme="nord")
    assert world.settings.theme == "dracula"


def test_unknown_remembered_theme_is_passed_over(world: World) -> None:
    async def scene(terminal: Stage) -> None:
        assert terminal.app.theme == "textual-dark"

    world.play(scene, theme="gone")
    assert world.settings.theme == ""


def test_newest_answer_is_copied(world: World) -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.fix(*story.LOCATED, *story.SPEAKING, *story.PATCHED)
        world.session.end(story.FINISHED)
        await terminal.settle()
        await terminal.say("/copy")
        await terminal.settle()
        assert terminal.app.clipboard == story.SAID

    world.play(scene)


def test_judging_own_work_is_nothing_to_continue(world: World) -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.say("/verify")
        world.session.end(*story.LOCATED, story.FINISHED)
        await terminal.settle()
        world.session = FakeSession()
        await terminal.say("a bug")

    world.play(scene)
    assert world.requests == [UserRequest("", "verify"), UserRequest("a bug", "fix")]
