import asyncio
from pathlib import Path

import pytest

from coder.core.errors import ModelError, UserError
from coder.core.messages import Message, Reply, Request, ToolMessage, UserMessage
from coder.models.cassette import Cassette, ModelRecorder, load_cassette
from coder.models.scripted import ScriptedCall, ScriptedError, ScriptedModel, ScriptStep
from tests.models.contract import ASKED

LOOK = ScriptStep(text="I look.", calls=(ScriptedCall(name="read", arguments={"path": "a.py"}),))


def ask(model: Cassette | ModelRecorder, request: Request) -> Reply:
    return asyncio.run(model.complete(request, lambda _delta: None))


def follow_up(reply: Reply, *, text: str, ok: bool = True) -> Request:
    (call,) = reply.message.calls
    messages: tuple[Message, ...] = (
        *ASKED.messages,
        reply.message,
        ToolMessage(call_id=call.id, name=call.name, text=text, ok=ok),
    )
    return ASKED.model_copy(update={"messages": messages})


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    """Return a recording of a look, an answer, and an error."""
    path = tmp_path / "takes.jsonl"
    recorder = ModelRecorder(
        ScriptedModel(
            [
                LOOK,
                ScriptStep(text="Line 7."),
                ScriptStep(error=ScriptedError(message="Too long.", context_overflow=True)),
            ]
        ),
        path,
    )
    request = follow_up(ask(recorder, ASKED), text="7: return 1  # 0.12 s")
    ask(recorder, request)
    with pytest.raises(ModelError):
        ask(recorder, request)
    return path


def test_replays_recording_despite_different_results(tape: Path) -> None:
    model = load_cassette(tape)
    request = follow_up(ask(model, ASKED), text="7: return 1  # 0.34 s")
    assert model.name == "scripted:test"
    assert ask(model, request).message.text == "Line 7."
    with pytest.raises(ModelError, match=r"^Too long\.$") as error:
        ask(model, request)
    assert error.value.context_overflow
    with pytest.raises(ModelError, match="The cassette holds 3 replies and was asked for one more"):
        ask(model, request)


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ({"system": "You write poems."}, "the system prompt differs"),
        ({"tools": ()}, r"the tools differ \(read\)"),
        ({"messages": (UserMessage(text="Other."),)}, r"message 1 differs \(recorded: user, asked: user\)"),
        (
            {"messages": (*ASKED.messages, UserMessage(text="More."))},
            r"message 2 differs \(recorded: nothing, asked: user\)",
        ),
    ],
)
def test_refuses_different_request_and_names_difference(
    tape: Path, update: dict[str, object], message: str
) -> None:
    with pytest.raises(ModelError, match=f"Request 1 is not the recorded one: {message}"):
        ask(load_cassette(tape), ASKED.model_copy(update=update))


def test_newly_failed_tool_is_difference(tape: Path) -> None:
    model = load_cassette(tape)
    with pytest.raises(ModelError, match="message 3 differs"):
        ask(model, follow_up(ask(model, ASKED), text="no such file", ok=False))


def test_refuses_file_without_recording(tmp_path: Path) -> None:
    (tmp_path / "no.jsonl").write_text('{"text": "a script"}\n', encoding="utf-8")
    for name in ("no.jsonl", "missing.jsonl"):
        with pytest.raises(UserError, match="is no recorded exchange"):
            load_cassette(tmp_path / name)
