import asyncio
from decimal import Decimal
from pathlib import Path

import pytest

from coder.core.errors import ModelError
from coder.core.values import AssistantMessage, Delta, Reply, Request, ToolCall, Usage, UserMessage
from coder.models.scripted import ScriptedModel, ScriptStep, load_script
from tests.models.contract import ASKED

SCRIPT = """\
# the model looks first
{"reasoning": "Hm.", "text": "I.", "calls": [{"name": "read", "arguments": {"path": "a.py"}}, \
{"name": "read", "arguments": "{broken"}]}

{"text": "It is line 7, the comparison is the wrong way round.", "cut_after": 10}
{"error": {"message": "Too long.", "context_overflow": true}}
{"text": "Done.", "usage": {"input_tokens": 5, "cost_usd": "0.25"}, "finish": "length"}
"""


def ask(model: ScriptedModel) -> tuple[Reply, str]:
    deltas: list[Delta] = []
    reply = asyncio.run(model.complete(ASKED, deltas.append))
    return reply, "".join(f"[{delta.text}]" for delta in deltas)


def test_plays_a_script_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text(SCRIPT, encoding="utf-8")
    model = ScriptedModel(load_script(path))
    calls = (
        ToolCall(id="call_0_0", name="read", arguments='{"path": "a.py"}'),
        ToolCall(id="call_0_1", name="read", arguments="{broken"),
    )
    assert ask(model) == (
        Reply(
            message=AssistantMessage(text="I.", calls=calls), usage=Usage(cost_usd=Decimal(0)), finish="calls"
        ),
        "[Hm.][I.]",
    )
    lines: list[str] = []
    with pytest.raises(ModelError, match="broke off in the middle") as cut:
        asyncio.run(model.complete(ASKED, lambda delta: lines.append(delta.text)))
    assert lines == ["It is line"]
    with pytest.raises(ModelError, match="Too long") as overflow:
        ask(model)
    assert (cut.value.retryable, overflow.value.context_overflow) == (True, True)
    assert ask(model)[0] == Reply(
        message=AssistantMessage(text="Done."),
        usage=Usage(input_tokens=5, cost_usd=Decimal("0.25")),
        finish="length",
    )
    with pytest.raises(ModelError, match="The script has 4 replies and was asked for number 5"):
        ask(model)
    assert model.requests == [ASKED] * 5


def test_scenes_may_be_replies_errors_and_functions() -> None:
    reply = Reply(message=AssistantMessage(text="Yes."))
    model = ScriptedModel(
        [
            reply,
            ModelError("No."),
            lambda request: Reply(message=AssistantMessage(text=request.system)),
            ScriptStep(text="Bye."),
        ]
    )
    assert ask(model) == (reply, "[Yes.]")
    with pytest.raises(ModelError, match="No"):
        ask(model)
    assert ask(model)[0].message.text == ASKED.system
    assert ask(model)[0].message.text == "Bye."


def test_scene_waits_for_matching_request() -> None:
    model = ScriptedModel(
        [ScriptStep(text="for the reviewer", when="You review"), ScriptStep(text="for whoever asks")]
    )
    first = asyncio.run(
        model.complete(Request(system="", messages=(UserMessage(text="Fix it."),)), lambda _: None)
    )
    second = asyncio.run(
        model.complete(Request(system="", messages=(UserMessage(text="You review it."),)), lambda _: None)
    )
    assert [first.message.text, second.message.text] == ["for whoever asks", "for the reviewer"]
