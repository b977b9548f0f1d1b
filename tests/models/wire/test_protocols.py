"""Ends, rejections and whole replies in the protocols of Anthropic, Google and OpenAI's responses."""

import json
from typing import Any

import pytest

from coder.core.errors import ModelError
from coder.core.values import AssistantMessage, Request, ToolCall, ToolMessage, UserMessage
from tests.models.contract import READ, RIGS
from tests.models.fakes import Turn

pytestmark = pytest.mark.loopback

ARGUMENTS = '{"path": "a.py"}'
CALL = ToolCall(id="call_1", name="read", arguments=ARGUMENTS)
CONVERSATION = Request(
    system="You fix bugs.",
    messages=(
        UserMessage(text="It is broken."),
        AssistantMessage(text="", calls=(CALL,)),
        ToolMessage(call_id="call_1", name="read", text="x = 1"),
    ),
    tools=(READ,),
    seed=1,
)


@pytest.mark.parametrize(
    ("rig", "reason", "finish"),
    [
        ("anthropic", "model_context_window_exceeded", "length"),
        ("anthropic", "pause_turn", None),
        ("google", "RECITATION", "refusal"),
        ("google", "PROHIBITED_CONTENT", "refusal"),
        ("google", "MALFORMED_FUNCTION_CALL", None),
        ("google", "TOO_MANY_TOOL_CALLS", None),
        ("google", "OTHER", None),
        ("responses", "content_filter", "refusal"),
        ("responses", "incomplete", "length"),
        ("responses", "steered", "length"),
        ("bedrock", "malformed_tool_use", None),
    ],
)
@pytest.mark.parametrize(
    "calls", [pytest.param((), marks=pytest.mark.thorough), (("read", ARGUMENTS),)], ids=["text", "call"]
)
def test_a_reply_with_such_an_end_is_not_complete(
    rig: str, reason: str, finish: str | None, calls: tuple[tuple[str, str], ...]
) -> None:
    with RIGS[rig]([Turn(text="It is", calls=calls, finish=reason)] * 3) as bench:
        if finish:
            assert bench.ask()[0].finish == finish
        else:
            assert isinstance(bench.fail(), ModelError)


@pytest.mark.parametrize(
    ("rig", "message", "names"),
    [
        ("anthropic", "tools.0.cache_control: Extra inputs are not permitted", ["cache_control"]),
        ("anthropic", "tools.0.custom.strict: Extra inputs are not permitted", ["additionalProperties"]),
        ("anthropic", "tool_choice is not supported", ["tool_choice"]),
        ("google", "Developer instruction is not enabled for models/gemma-3", ["systemInstruction"]),
        ("google", 'Invalid JSON payload received. Unknown name "seed" at generation_config', ["seed"]),
        (
            "google",
            'Unknown name "additionalProperties": Cannot find field.',
            ["additionalProperties"],
        ),
        ("chat", "Unsupported parameter: 'reasoning_effort'", ["reasoning_effort"]),
        ("responses", "Encrypted content is not supported with this model.", ["include"]),
        ("responses", "Unsupported parameter: 'prompt_cache_options'", ["prompt_cache_options"]),
        ("responses", "Unsupported parameter: 'reasoning.context'", ["reasoning"]),
    ],
)
def test_asks_again_without_the_rejected_field(rig: str, message: str, names: list[str]) -> None:
    turns = [Turn(status=400, error=message), Turn(text="Yes."), Turn(text="Yes.")]
    with RIGS[rig](turns) as bench:
        request = CONVERSATION.model_copy(update={"effort": "high"} if rig == "chat" else {})
        texts = [bench.ask(request)[0].message.text for _ in range(2)]
        assert bench.fake
        bodies = [json.dumps(body) for body in bench.fake.requests]
    assert texts == ["Yes.", "Yes."]
    for name in names:
        assert [f'"{name}"' in body for body in bodies] == [True, False, False]
    assert all("You fix bugs." in body and "x = 1" in body for body in bodies)


@pytest.mark.parametrize(
    ("rig", "message", "limit"),
    [
        ("anthropic", "max_tokens: 16384 > 4096, which is the maximum allowed for claude-3-20240307", 4096),
        ("google", "it has a maxOutputTokens value of 16384 but the supported range is from 1 to 8192", 8192),
        ("google", "maxOutputTokens: range is from 1 (inclusive) to 8193 (exclusive)", 8192),
        ("chat", "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192),
        ("chat", "max_tokens is too large", None),
    ],
)
def test_asks_for_no_more_than_the_model_can_write(rig: str, message: str, limit: int | None) -> None:
    with RIGS[rig]([Turn(status=400, error=message), Turn(text="Yes."), Turn(text="Yes.")]) as bench:
        assert [bench.ask()[0].finish for _ in range(2)] == ["stop", "stop"]
        assert bench.fake
        limits = [
            {**body, **body.get("generationConfig", {})}.get(
                "maxOutputTokens" if rig == "google" else "max_tokens"
            )
            for body in bench.fake.requests
        ]
    assert limits == [16_384, limit, limit]


GOOGLE: Any = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"text": "Let me look."},
                    {"functionCall": {"name": "read", "args": {"path": "a.py"}}},
                ],
            },
            "finishReason": "STOP",
            "index": 0,
        }
    ]
}


@pytest.mark.parametrize("body", [GOOGLE, [GOOGLE]], ids=["object", "list"])
def test_reads_a_whole_reply(body: Any) -> None:
    with RIGS["google"]([Turn(headers=(("Content-Type", "application/json"),))]) as bench:
        assert bench.fake
        bench.fake.stream = lambda _turn: [json.dumps(body).encode()]
        reply, _ = bench.ask()
    calls = [(call.name, json.loads(call.arguments)) for call in reply.message.calls]
    assert (reply.message.text, calls, reply.finish) == (
        "Let me look.",
        [("read", {"path": "a.py"})],
        "calls",
    )
