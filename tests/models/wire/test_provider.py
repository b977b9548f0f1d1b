import json
from typing import Any

import pytest

from coder.core.values import AssistantMessage, Image, ToolMessage, Usage, UserMessage
from tests.models.contract import ASKED, KEY, READ, WIRES, Bench
from tests.models.fakes import Turn

pytestmark = [pytest.mark.loopback, pytest.mark.parametrize("wire", WIRES)]

WHOLE = Turn(text="It is line 7.")


def retry_notices(bench: Bench) -> str:
    """Return the notices beside a reply that came after retries."""
    reply, deltas = bench.ask()
    assert (reply.message.text, reply.finish) == ("It is line 7.", "stop")
    return "".join(delta.text for delta in deltas if delta.kind == "notice")


def follow_up_bodies(bench: Bench) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the bodies of a request and of the one that follows it with the reply and the answers to its
    calls.
    """
    reply, _ = bench.ask()
    results = tuple(
        ToolMessage(call_id=call.id, name=call.name, text=f"line of {call.arguments}", ok=False)
        for call in reply.message.calls
    )
    bench.ask(
        ASKED.model_copy(
            update={
                "messages": (*ASKED.messages, reply.message, *results, UserMessage(text="Go on.")),
                "tools": (READ,),
            }
        )
    )
    assert bench.fake
    first, second = bench.fake.requests
    return first, second


def strip_cache_marks(value: Any) -> Any:
    """Return the body without its cache marks: these move, the content does not."""
    if isinstance(value, dict):
        return {
            key: strip_cache_marks(inner)
            for key, inner in value.items()
            if not key.startswith("cache_control") and key != "prompt_cache_breakpoint"
        }
    return [strip_cache_marks(inner) for inner in value] if isinstance(value, list) else value


def test_sends_seed_where_supported(wire: str) -> None:
    with WIRES[wire]([WHOLE, WHOLE]) as bench:
        bench.ask(ASKED.model_copy(update={"seed": 7}))
        bench.ask()
        assert bench.fake
        sent = [
            body.get("seed", body.get("generationConfig", {}).get("seed")) for body in bench.fake.requests
        ]
    assert sent == [7 if wire in ("chat", "google") else None, None]


EFFORT_FIELDS: dict[str, dict[str, Any]] = {
    "chat": {"reasoning_effort": "high"},
    "responses": {"reasoning": "high"},
    "anthropic": {"thinking": {"type": "enabled", "budget_tokens": 16_384}},
}
"""Field that each wire sends for high effort; other models of the contract have no reasoning."""


def test_sends_effort_to_models_that_think(wire: str) -> None:
    expected = EFFORT_FIELDS.get(wire)
    request = ASKED.model_copy(update={"effort": "high", "max_output_tokens": 32_768})
    with WIRES[wire]([WHOLE, WHOLE]) as bench:
        bench.ask(request)
        bench.ask(ASKED)
        assert bench.fake
        thinking, plain = bench.fake.requests
    assert not {"thinking", "reasoning_effort"} & plain.keys()
    if expected is not None:
        reasoning = thinking.get("reasoning", {}).get("effort")
        assert {
            name: reasoning if name == "reasoning" else thinking.get(name) for name in expected
        } == expected


RETRIED = [
    (Turn(text="It is", cut=True), "broke off in the middle. Trying again in 1 s."),
    (Turn(text="It is", dropped=True), "The connection to "),
    (Turn(status=429, retry_after="7"), "asks for a pause of 7 s"),
    *(
        (Turn(text="It is", garbage=garbage), "Trying again in 1 s.")
        for garbage in (
            b"event: content_block_delta\ndata: {this is not json\n\n",
            b"event: content_block_delta\ndata: []\n\n",
            b'data: {"choices": [null], "candidates": 5, "type": "response.completed"}\n\n',
            b"\xff\xfe\n\n",
            b"<html>502 from a proxy</html>\n\n",
        )
    ),
]


def test_retries_what_may_pass(wire: str) -> None:
    turns = [turn for failure, _ in RETRIED for turn in (failure, WHOLE)]
    with WIRES[wire]([*turns, Turn(status=500), Turn(status=500), WHOLE]) as bench:
        notices = [retry_notices(bench) for _ in RETRIED]
        assert "failed on its side" in retry_notices(bench)
    missing = [words for (_, words), notice in zip(RETRIED, notices, strict=True) if words not in notice]
    assert missing == []
    assert bench.pauses == [1.0, 1.0, 7.0, *[1.0] * 5, 1.0, 2.0]


def test_gives_up(wire: str) -> None:
    turns = [turn for turn in (Turn(text="It is", cut=True), Turn(status=500), Turn()) for _ in range(3)]
    key = Turn(status=401, error=f"Incorrect API key provided: {KEY}.")
    with WIRES[wire]([*turns, key, Turn(status=404), Turn(status=429, retry_after="3600")]) as bench:
        cut, broken, empty = (str(bench.fail()) for _ in range(3))
        bench.pauses.clear()
        refused, unknown, busy = (bench.fail() for _ in range(3))
    assert "broke off in the middle. Tried 3 times." in cut
    assert broken.endswith("HTTP 500, status 500. Tried 3 times.")
    assert "was empty. Tried 3 times." in empty
    assert "API_KEY" in str(refused) and "***" in str(refused)
    assert KEY not in str(refused) + repr(bench.model)
    assert f"{bench.model.name} was not found" in str(unknown)
    assert (busy.retryable, busy.retry_after_seconds, bench.pauses) == (True, 3600.0, [])


def test_retries_empty_reply_and_counts_cost(wire: str) -> None:
    with WIRES[wire]([Turn(), WHOLE]) as bench:
        reply, _ = bench.ask()
    usage = reply.usage.model_copy(update={"cost_usd": None})
    assert usage == Usage(input_tokens=200, cached_tokens=80, output_tokens=14)


FOREIGN = ('{"raw": "I looked."}', "not JSON", "[]", '[{"kind": "response"}]')
MARKED_PARTS = {"anthropic": ("system", "tools"), "responses": ("input",), "chat": (), "google": ()}


def test_sends_prompts_images_and_foreign_replies(wire: str) -> None:
    data = "iVBORw0KGgo="
    image = Image(name="shot.png", media_type="image/png", base64=data)
    conversations = [
        (UserMessage(text="See it.", images=(image,)),),
        *(
            (*ASKED.messages, AssistantMessage(text="I looked.", opaque=opaque), UserMessage(text="And?"))
            for opaque in FOREIGN
        ),
    ]
    with WIRES[wire]([WHOLE] * 6) as bench:
        bench.ask()
        for messages in conversations:
            bench.ask(ASKED.model_copy(update={"messages": messages}))
        assert bench.fake
        body = bench.fake.requests[0]
        plain, pictured, *foreign = map(json.dumps, bench.fake.requests)
    for part in (ASKED.system, READ.description, "The file.", "It is broken.", str(ASKED.max_output_tokens)):
        assert part in plain
    lists = [key for key in body if isinstance(body[key], list)]
    assert (
        tuple(sorted(key for key in lists if strip_cache_marks(body[key]) != body[key])) == MARKED_PARTS[wire]
    )
    assert "See it." in pictured and data in pictured
    assert wire != "chat" or f'{{"url": "data:image/png;base64,{data}"' in pictured
    assert all("I looked." in sent for sent in foreign)


def test_resends_earlier_messages_byte_for_byte(wire: str) -> None:
    turn = Turn(
        reasoning="Where would that be?",
        text="Let me look.",
        calls=(("read", '{"path": "a.py"}'), ("read", '{"path": "b.py"}')),
    )
    with WIRES[wire]([turn, WHOLE]) as bench:
        first, second = (strip_cache_marks(body) for body in follow_up_bodies(bench))
    key = next(key for key in ("messages", "contents", "input") if key in first)
    assert second[key][: len(first[key])] == first[key]
    assert {name: value for name, value in second.items() if name != key} == {
        name: value for name, value in first.items() if name != key
    }


def test_signed_reasoning_and_results_go_back(wire: str) -> None:
    turn = Turn(reasoning="Where would that be?", calls=(("read", '{"path": "a.py"}'),))
    with WIRES[wire]([turn, WHOLE]) as bench:
        _, second = follow_up_bodies(bench)
    sent = json.dumps(second)
    assert wire == "chat" or "seal" in sent or "c2VhbA" in sent
    assert "line of {" in sent and "Go on." in sent
