"""An editor's conversations: coder as the agent of a client of the Agent Client Protocol."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from coder.core.events import Attachment
from coder.core.values import Image
from coder.session.log import read_records
from tests.builders import git, write
from tests.models.fakes import FakeServer, Turn, serve
from tests.models.wires import chat_stream, openai_error
from tests.place import ISSUE, PATCH, Place, call
from tests.portable import coder_command
from tests.walls import flags, walls

pytestmark = [
    pytest.mark.skipif(find_spec("acp") is None, reason="agent-client-protocol is not installed"),
    pytest.mark.loopback,
]
LOGS = Path(__file__).parents[1] / "logs"
RM = Turn(text="First the rest.", calls=(call("run_command", command="rm -rf docs"),))


class Editor:
    """A client that keeps what it is told, and chooses the option with the first of some ids."""

    def __init__(self, *choices: str) -> None:
        self.choices = choices
        """Empty: it does not ask its user anything."""
        self.updates: list[Any] = []
        self.asked: list[Any] = []
        self.on_update: Callable[[Any], Awaitable[None]] | None = None

    async def request_permission(
        self, session_id: str, tool_call: Any, options: Sequence[Any], **_: Any
    ) -> Any:
        import acp

        self.asked.append((tool_call, options))
        if not self.choices:
            raise acp.RequestError.method_not_found("session/request_permission")
        ids = [option.option_id for option in options]
        chosen = next((choice for choice in self.choices if choice in ids), None)
        outcome = {"outcome": "selected", "optionId": chosen} if chosen else {"outcome": "cancelled"}
        return acp.schema.RequestPermissionResponse.model_validate({"outcome": outcome})

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)
        if self.on_update is not None:
            await self.on_update(update)

    def kinds(self) -> set[str]:
        return {update.session_update for update in self.updates}

    def said(self) -> str:
        """Return what the agent has said."""
        chunks = (update for update in self.updates if update.session_update == "agent_message_chunk")
        return "".join(update.content.text for update in chunks)

    def calls(self) -> dict[str, dict[str, Any]]:
        """Return the newest state of each call, by its id."""
        calls: dict[str, dict[str, Any]] = {}
        for update in self.updates:
            if update.session_update.startswith("tool_call"):
                calls.setdefault(update.tool_call_id, {}).update(update.model_dump(exclude_none=True))
        return calls


Work = Callable[[Any, Editor], Awaitable[None]]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with serve(chat_stream, openai_error, []) as fake:
        yield fake


def converse(place: Place, server: FakeServer | None, editor: Editor, work: Work) -> None:
    """Let an editor work with an agent in this process."""
    from coder.cli.editor import open_repository
    from coder.ui.acp import EditorAgent
    from coder.wiring.conversations import make_session_id

    settings = {"base_url": f"{server.url}/v1", "model": "fake"} if server is not None else {}

    async def run() -> None:
        agent = EditorAgent(partial(open_repository, settings, walls() is None), make_session_id)
        agent.on_connect(editor)  # type: ignore[arg-type]
        await work(agent, editor)

    with mock.patch.dict(os.environ, place.environment, clear=True):
        asyncio.run(run())


async def begin(agent: Any, place: Place) -> str:
    return str((await agent.new_session(cwd=str(place.repository))).session_id)


async def prompt(agent: Any, session: str, *texts: str) -> str:
    from acp import schema

    blocks = [schema.TextContentBlock(text=text) for text in texts]
    return str((await agent.prompt(session_id=session, prompt=blocks)).stop_reason)


def test_prompt_is_fixed_shown_and_brought_onto_the_branch(place: Place, server: FakeServer) -> None:
    server.turns = [PATCH]
    editor, loaded = Editor("always", "always for this repository", "apply"), Editor()

    async def work(agent: Any, _: Editor) -> None:
        session = await begin(agent, place)
        assert await prompt(agent, session, ISSUE) == "end_turn"
        listed = (await agent.list_sessions(cwd=str(place.repository))).sessions
        assert [(info.session_id, info.title) for info in listed] == [(session, ISSUE)]
        agent.on_connect(loaded)
        await agent.load_session(cwd=str(place.repository), session_id=session)
        await prompt(agent, session, "/undo")

    converse(place, server, editor, work)
    assert {"agent_message_chunk", "tool_call", "tool_call_update"} <= editor.kinds()
    assert "Minutes are added to the hours." in editor.said()
    patch, verdict = (
        next(call for call in editor.calls().values() if call["title"].startswith(title))
        for title in ("change clock.py", "judge the change")
    )
    (diff,) = patch["content"]
    assert (patch["kind"], patch["status"], diff["path"]) == (
        "edit",
        "completed",
        str(place.repository / "clock.py"),
    )
    assert ("- int(rest)" in diff["old_text"], "+ int(rest)" in diff["new_text"]) == (True, True)
    assert (verdict["title"], verdict["status"]) == ("judge the change: PROVEN", "completed")
    assert "red before, green now: test_clock.py" in verdict["content"][0]["content"]["text"]
    review, options = editor.asked[-1]
    assert editor.calls()[review.tool_call_id]["status"] == "completed"
    assert editor.calls()[review.tool_call_id]["session_update"] == "tool_call_update"
    assert review.title == "Deliver this change? It is PROVEN."
    assert [option.kind for option in options] == ["allow_once", "allow_once", "reject_once"]
    assert "main is now at" in editor.said()
    assert "user_message_chunk" not in editor.kinds()
    assert [u.content.text for u in loaded.updates if u.session_update == "user_message_chunk"] == [ISSUE]
    assert "judge the change: PROVEN" in {call["title"] for call in loaded.calls().values()}
    assert "Reverted" in loaded.said()


def test_editor_that_refuses_a_command_keeps_it_from_running(place: Place, server: FakeServer) -> None:
    server.turns = [RM, PATCH]
    editor = Editor("refuse", "no, run its tests in the sandbox without AGENTS.md")

    async def work(agent: Any, _: Editor) -> None:
        await prompt(agent, await begin(agent, place), ISSUE)

    with mock.patch.dict(place.environment, {"CODER_APPROVE": "ask"}):
        converse(place, server, editor, work)
    commands = [request for request, options in editor.asked if "allow" in {o.option_id for o in options}]
    assert "rm -rf docs" in commands[0].content[0].content.text
    assert editor.calls()[commands[0].tool_call_id]["status"] == "failed"
    assert git(place.repository, "branch", "--list", "coder/*") == ""


def test_editor_that_cannot_ask_gets_what_an_unattended_session_gives(
    place: Place, server: FakeServer
) -> None:
    server.turns = [PATCH]
    editor = Editor()

    async def work(agent: Any, _: Editor) -> None:
        assert await prompt(agent, await begin(agent, place), ISSUE) == "end_turn"

    converse(place, server, editor, work)
    assert git(place.repository, "branch", "--list", "coder/*") != ""


def test_cancel_stops_the_session(place: Place, server: FakeServer) -> None:
    server.turns = [Turn(text="Let me think", stalls=True)]
    editor = Editor("once")

    async def work(agent: Any, _: Editor) -> None:
        session = await begin(agent, place)

        async def stop(update: Any) -> None:
            if "Let me" in editor.said():
                await agent.cancel(session_id=session)

        editor.on_update = stop
        assert await prompt(agent, session, ISSUE) == "cancelled"

    converse(place, server, editor, work)
    assert place.traces() == ("", "")


def test_wrong_prompts_are_errors_and_end_nothing(place: Place, server: FakeServer) -> None:
    from acp import RequestError

    async def work(agent: Any, editor: Editor) -> None:
        for directory in ("/", "/nowhere"):
            with pytest.raises(RequestError, match=r"repository|directory"):
                await agent.new_session(cwd=directory)
        session = await begin(agent, place)
        for text, message in [
            ("/aply", "Do you mean /apply?"),
            ("/ask", "/ask TEXT"),
            ("/apply", "No session"),
        ]:
            with pytest.raises(RequestError, match=message.replace("?", "[?]")):
                await prompt(agent, session, text)
        with pytest.raises(RequestError):
            await prompt(agent, "another", ISSUE)
        with pytest.raises(RequestError, match="No session"):
            await agent.load_session(cwd=str(place.repository), session_id="another")

    converse(place, server, Editor("once"), work)


@pytest.mark.parametrize(
    "log", sorted(path.parent for path in LOGS.rglob("events.jsonl")), ids=lambda p: p.name
)
def test_every_recorded_session_can_be_shown(log: Path) -> None:
    from acp.schema import SessionNotification

    from coder.ui.acp import UpdateTranslator

    translator = UpdateTranslator(Path("/r"), is_replay=True)
    updates = [update for record in read_records(log) for update in translator.translate(record)]
    assert [SessionNotification(session_id="s", update=update) for update in updates]
    open_calls: dict[str, str] = {}
    for update in updates:
        if update.session_update.startswith("tool_call"):
            assert (update.session_update == "tool_call") == (update.tool_call_id not in open_calls)
            open_calls[update.tool_call_id] = update.status or open_calls[update.tool_call_id]
    assert {*open_calls.values()} <= {"completed", "failed"}


def test_prompt_takes_links_texts_and_images() -> None:
    from acp import schema

    from coder.ui.acp import read_prompt

    link = schema.ResourceContentBlock(name="a", uri="file:///r/my%20notes.md")
    resource = schema.TextResourceContents(uri="file:///r/a.py", text="x = 1")
    image = schema.ImageContentBlock(data="aGk=", mime_type="image/png")
    blocks = [
        schema.TextContentBlock(text="See "),
        link,
        schema.EmbeddedResourceContentBlock(resource=resource),
        image,
    ]
    text, attachments = read_prompt(blocks, Path("/r"))
    assert text == 'See @"my notes.md"'
    picture = Image(name="image 2", media_type="image/png", base64="aGk=")
    assert attachments == (
        Attachment(name="/r/a.py", text="x = 1"),
        Attachment(name="image 2", text="", image=picture),
    )


def test_real_command_speaks_the_protocol(place: Place, server: FakeServer) -> None:
    """One turn of the SDK's own client with a process, by a command that the user keeps as a file."""
    import acp
    from acp import schema

    server.turns = [Turn(text="Clock times are parsed in `minutes` (`clock.py:2`).")]
    text = "---\ndescription: Say where\nmode: ask\n---\nWhere are $1 parsed?\n"
    write(Path(place.environment["XDG_CONFIG_HOME"]) / "coder" / "commands", {"where.md": text})
    command = coder_command("acp", "--base-url", f"{server.url}/v1", "--model", "fake", *flags())
    editor = Editor("once")

    async def work() -> str:
        async with acp.spawn_agent_process(
            editor,  # type: ignore[arg-type]
            *command,
            env=place.environment,
            cwd=place.repository,
        ) as (agent, process):
            opened = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
            assert opened.agent_capabilities and opened.agent_capabilities.load_session
            gone = schema.McpServerStdio(name="gone", command="/nowhere", args=[], env=[])
            session = await agent.new_session(cwd=str(place.repository), mcp_servers=[gone])
            answer = await agent.prompt(
                session_id=session.session_id,
                prompt=[schema.TextContentBlock(text="/where times")],
            )
            assert process.stdin
            process.stdin.close()
            assert await process.wait() == 0
            return answer.stop_reason

    assert asyncio.run(work()) == "end_turn"
    assert "clock.py:2" in editor.said()
    assert "The MCP server gone does not answer" in editor.said()
    assert "Where are times parsed?" in str(server.requests[0]["messages"])
    (introduced,) = (u for u in editor.updates if u.session_update == "available_commands_update")
    assert {"apply", "where"} <= {command.name for command in introduced.available_commands}


def test_without_the_package_says_what_to_install(place: Place) -> None:
    with (
        mock.patch.dict(sys.modules, {"acp": None}),
        mock.patch("importlib.util.find_spec", return_value=None),
    ):
        result = place.coder("acp")
    assert (result.returncode, "pip install 'agent-client-protocol" in result.stderr) == (2, True)


def test_question_before_the_end_of_the_input_is_answered(place: Place) -> None:
    hello = '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}\n'
    ended = place.process("acp", stdin=hello)
    assert (ended.returncode, ended.stdout[:33]) == (0, '{"jsonrpc":"2.0","id":1,"result":'), ended.stderr
