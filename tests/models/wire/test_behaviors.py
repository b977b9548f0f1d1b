"""Behaviours of OpenAI-compatible servers: one scripted server, one row each."""

import asyncio
import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any

import pytest

from coder.core.errors import ModelError
from coder.core.values import AssistantMessage, Reply, Request, ToolCall, ToolMessage, UserMessage
from coder.models.catalog import ModelChoice
from coder.models.provider import open_model
from tests.builders import by_hand, paragraphs
from tests.models.contract import READ, record_pauses
from tests.models.fakes import running

pytestmark = pytest.mark.loopback

Body = dict[str, Any]
ANSWER = "It is line 7."
CALL = ToolCall(id="call_1", name="read", arguments='{"path": "a.py"}')
ASKED = Request(
    system="You fix bugs.",
    messages=(
        UserMessage(text="It is broken."),
        AssistantMessage(text="", calls=(CALL,)),
        ToolMessage(call_id="call_1", name="read", text="x = 1"),
        UserMessage(text="Go on."),
    ),
    tools=(READ,),
    seed=1,
)


@dataclass(frozen=True)
class Server:
    """Capabilities of a scripted server and the form of its replies."""

    refuses: Callable[[Body], str] = lambda _body: ""
    """Returns the message with which a body is rejected; empty if it is accepted."""
    status: int = 400
    error: Callable[[str], Any] = lambda message: {"error": {"message": message}}
    text: str = ANSWER
    texts: Iterator[str] | None = None
    """The text of each reply, instead of the same for all."""
    finish: str | None = "stop"
    whole: Any = None
    """A whole JSON reply, sent instead of a stream."""
    mime: str = "text/event-stream"
    encoding: str = "identity"


@dataclass
class Exchange:
    reply: Reply
    bodies: list[Body] = field(default_factory=list)


def chunk(delta: Body, finish: str | None = None) -> bytes:
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).encode()


def as_events(*chunks: bytes) -> list[bytes]:
    return [b"data: " + data for data in chunks]


@contextmanager
def serve(server: Server, bodies: list[Body]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            bodies.append(body)
            if message := server.refuses(body):
                self._send(server.status, json.dumps(server.error(message)).encode(), "application/json")
            elif server.whole is not None:
                data = server.whole if isinstance(server.whole, bytes) else json.dumps(server.whole).encode()
                self._send(200, data, server.mime)
            else:
                text = next(server.texts) if server.texts else server.text
                events = as_events(chunk({"content": text}), chunk({}, server.finish))
                self._send(200, b"\n\n".join([*events, b"data: [DONE]", b""]), server.mime)

        def _send(self, status: int, data: bytes, mime: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", mime)
            self.send_header("Content-Encoding", server.encoding)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with running(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        yield f"{url}/v1"


def exchange(
    server: Server, *, provider: str = "compatible", requests: int = 1, request: Request = ASKED
) -> Exchange:
    bodies: list[Body] = []
    replies = ask(server, bodies, provider=provider, requests=requests, request=request)
    return Exchange(replies[-1], bodies)


def ask(
    server: Server,
    bodies: list[Body],
    *,
    provider: str = "compatible",
    requests: int = 1,
    request: Request = ASKED,
) -> list[Reply]:
    with serve(server, bodies) as url:
        choice = ModelChoice(provider=provider, model="m", base_url=url, reason="named by a test")
        model = open_model(choice, environment={}, tool_calling=True, retry_policy=record_pauses([], tries=1))
        return [asyncio.run(model.complete(request, lambda _delta: None)) for _ in range(requests)]


def replies(texts: Sequence[str]) -> list[Reply]:
    """Return the reply that is made of each text, in one conversation."""
    return ask(Server(texts=iter(texts)), [], requests=len(texts))


def has_field(name: str, message: str, body: Body) -> str:
    return message.format(name) if name in body else ""


def field_server(
    name: str, message: str = "Unrecognized request argument supplied: {}", **how: Any
) -> Server:
    return Server(refuses=partial(has_field, name, message), **how)


def role_refusal(role: str, message: str, body: Body) -> str:
    return message if any(item["role"] == role for item in body["messages"]) else ""


def alternation_refusal(body: Body) -> str:
    roles = [item["role"] for item in body["messages"] if item["role"] != "system"]
    if "system" in [item["role"] for item in body["messages"]]:
        return "System role not supported"
    same = any(first == second for first, second in pairwise(roles))
    return "Conversation roles must alternate user/assistant/user/assistant/..." if same else ""


def content_refusal(body: Body) -> str:
    plain = all(isinstance(item.get("content", ""), str) for item in body["messages"])
    return "" if plain else "messages[2].content: Input should be a valid string"


def schema_refusal(name: str, body: Body) -> str:
    return (
        f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
        if (f'"{name}"' in json.dumps(body.get("tools")))
        else ""
    )


def call_id_refusal(body: Body) -> str:
    ids = [item["tool_call_id"] for item in body["messages"] if "tool_call_id" in item]
    return (
        ""
        if all(len(name) == 9 for name in ids)
        else ("Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.")
    )


def details(message: str) -> Any:
    return {
        "detail": [
            {"type": "extra_forbidden", "loc": ["body", message], "msg": "Extra inputs are not permitted"}
        ]
    }


def reasoning_refusal(message: str, body: Body) -> str:
    calls = [item for item in body["messages"] if item.get("tool_calls")]
    return "" if all("reasoning_content" in item for item in calls) else message


REJECTING_SERVERS = {
    "reasoning, DeepSeek": Server(
        refuses=partial(
            reasoning_refusal, "The `reasoning_content` in the thinking mode must be passed back to the API."
        )
    ),
    "reasoning, DeepSeek before": Server(
        refuses=partial(
            reasoning_refusal, "Missing `reasoning_content` field in the assistant message at index 2."
        )
    ),
    "stream_options": field_server("stream_options"),
    "stream_options, FastAPI": field_server("stream_options", "{}", status=422, error=details),
    "stream_options, plain text": field_server(
        "stream_options", "Unknown field: {}", error=lambda text: text
    ),
    "max_completion_tokens": field_server("max_completion_tokens", "{}: Extra inputs are not permitted"),
    "max_tokens, reasoning model": field_server(
        "max_tokens", "Unsupported parameter: '{}' is not supported. Use 'max_completion_tokens' instead."
    ),
    "max_tokens beyond the model": field_server(
        "max_tokens", "{} is too large: 16384. This model supports at most 4096 completion tokens."
    ),
    "tool_choice": field_server("tool_choice", "unknown field `{}`"),
    "parallel_tool_calls": field_server("parallel_tool_calls", "{} is not supported with this model"),
    "seed": field_server("seed", "Unrecognized argument: {}", status=500),
    "streaming": Server(
        refuses=lambda body: "Streaming is not supported by this endpoint" if body.get("stream") else "",
        whole={"choices": [{"message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}]},
        mime="application/json",
    ),
    "system role": Server(refuses=partial(role_refusal, "system", "System role not supported"), status=500),
    "system role, Gemma at Google": Server(
        refuses=partial(role_refusal, "system", "Developer instruction is not enabled for models/gemma-3")
    ),
    "alternation": Server(refuses=alternation_refusal),
    "content null": Server(refuses=content_refusal),
    "additionalProperties": Server(refuses=partial(schema_refusal, "additionalProperties")),
    "call ids": Server(refuses=call_id_refusal),
}


@pytest.mark.parametrize("provider", ["compatible", *by_hand("openai")])
@pytest.mark.parametrize("name", REJECTING_SERVERS)
def test_asks_again_without_the_rejected_part(name: str, provider: str) -> None:
    server = REJECTING_SERVERS[name]
    seen = exchange(server, provider=provider, requests=2)
    rejected = [body for body in seen.bodies if server.refuses(body)]
    assert (seen.reply.message.text, seen.reply.finish) == (ANSWER, "stop")
    assert len(seen.bodies) == len(rejected) + 2
    assert not server.refuses(seen.bodies[-2])
    assert seen.bodies[-1] == seen.bodies[-2]


def whole(message: Any, finish: str | None = "stop", **more: Any) -> Any:
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}], **more}


FUNCTION = {"name": "read", "arguments": '{"path": "a.py"}'}
ANSWERED = (ANSWER, (), "stop")
CALLED = ("", (("read", '{"path": "a.py"}'),), "calls")
CHUNKS = (chunk({"content": "It is "}), chunk({"content": "line 7."}), chunk({}, "stop"))
EVENTS = as_events(*CHUNKS)
HALVES = (rb"\ud83d", rb"\ude42", rb"\ud83d")
"""An emoji as some servers stream it, and one that is cut."""


def streamed(*parts: bytes, between: bytes = b"\n\n", expected: Any = ANSWERED) -> tuple[bytes, str, Any]:
    return between.join(parts), "text/event-stream", expected


DONE = (b"data: [DONE]", b"")
REPLIES = {
    "events, numbered, with comments": streamed(
        *(b"id: %d\n%s\n\n: ping\n\n" % numbered for numbered in enumerate(EVENTS)), between=b""
    ),
    "events after one of `retry` alone": streamed(b"retry: 3000", *EVENTS, *DONE, between=b"\r\n\r\n"),
    "events, byte order mark": streamed(b"\xef\xbb\xbf" + EVENTS[0], *EVENTS[1:], *DONE),
    "events, some of them empty": streamed(b"data:", *EVENTS, *DONE, between=b"\n\nevent: ping\ndata:\n\n"),
    "events, no reason of their end": streamed(*EVENTS[:2], *DONE),
    "events, halves of a character": streamed(
        *(EVENTS[0].replace(b"It is ", half) for half in HALVES),
        *(*EVENTS[1:], b""),
        expected=("\U0001f642\ufffdline 7.", (), "stop"),
    ),
    "events, usage without numbers": streamed(
        *EVENTS, b'data: {"choices": [], "usage": {"prompt_tokens": null}}', b""
    ),
    "reasoning alone": (
        whole({"role": "assistant", "content": None, "reasoning_content": ANSWER}),
        "application/json",
        ANSWERED,
    ),
    "whole": (whole({"role": "assistant", "content": ANSWER}), "application/json", ANSWERED),
    "whole, wrong type": (whole({"content": ANSWER}), "text/event-stream", ANSWERED),
    "whole, byte order mark": (
        b"\xef\xbb\xbf\r\n" + json.dumps(whole({"content": ANSWER})).encode(),
        "text/plain",
        ANSWERED,
    ),
    "whole, parts": (whole({"content": [{"type": "text", "text": ANSWER}]}), "application/json", ANSWERED),
    "whole, no reason": (whole({"content": ANSWER}, None), "application/json", ANSWERED),
    "lines": (b"\n".join(CHUNKS), "application/x-ndjson", ANSWERED),
    "whole, cut": (whole({"content": "It is"}, "length"), "application/json", ("It is", (), "length")),
    "events, a call whose id is a number": streamed(
        *as_events(
            chunk({"tool_calls": [{"index": 0, "id": 7, "type": "function", "function": FUNCTION}]}),
            chunk({}, "tool_calls"),
        ),
        b"",
        expected=CALLED,
    ),
    "whole, a call whose id is a number": (
        whole({"tool_calls": [{"id": 7, "function": FUNCTION}]}, "tool_calls"),
        "application/json",
        CALLED,
    ),
    "whole, call": (
        whole({"content": None, "tool_calls": [{"id": "c", "function": FUNCTION}]}, "tool_calls"),
        "application/json",
        CALLED,
    ),
    "whole, call without id, arguments as object": (
        whole({"tool_calls": [{"function": {"name": "read", "arguments": {"path": "a.py"}}}]}, "stop"),
        "application/json",
        CALLED,
    ),
    "whole, old call": (whole({"function_call": FUNCTION}, "function_call"), "application/json", CALLED),
}


@pytest.mark.parametrize("name", REPLIES)
def test_reads_a_whole_reply(name: str) -> None:
    reply_body, mime, expected = REPLIES[name]
    reply = exchange(Server(whole=reply_body, mime=mime)).reply
    calls = tuple((call.name, call.arguments) for call in reply.message.calls)
    assert (reply.message.text, calls, reply.finish) == expected


def test_reads_a_reply_that_a_gateway_compressed() -> None:
    for encoding, data in (("gzip", gzip.compress), ("deflate", zlib.compress)):
        server = Server(whole=data(b"\n\n".join([*EVENTS, b""])), encoding=encoding)
        assert exchange(server).reply.message.text == ANSWER


def test_error_in_a_success_is_repeated_only_if_it_may_pass() -> None:
    for message, may_pass in (("Insufficient balance", False), ("The model is overloaded", True)):
        with pytest.raises(ModelError, match=message) as failed:
            exchange(Server(whole={"error": {"message": message, "type": "x", "code": "1008"}}))
        assert failed.value.retryable is may_pass


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("length", "length"),
        ("max_tokens", "length"),
        ("MAX_TOKENS", "length"),
        ("model_length", "length"),
        ("content_filter", "refusal"),
        ("SAFETY", "refusal"),
        ("refusal", "refusal"),
        ("eos", "stop"),
    ],
)
def test_tells_how_a_reply_ended(reason: str, finish: str) -> None:
    assert exchange(Server(finish=reason)).reply.finish == finish


UNKNOWN = '{"name": "web_search", "arguments": {"query": "x"}}'
"""A call of a tool that is not offered."""


def test_runs_calls_written_as_text() -> None:
    written = paragraphs("replies/calls.txt")
    for text, reply in zip(written, replies(written), strict=True):
        calls = [(call.name, json.loads(call.arguments)) for call in reply.message.calls]
        assert (calls, reply.finish) == ([("read", {"path": "a.py"})], "calls"), text
        assert "a.py" not in reply.message.text, text


def test_text_that_shows_code_is_no_call() -> None:
    texts = paragraphs("replies/text.txt")
    for text, reply in zip(texts, replies(texts), strict=True):
        assert (reply.message.text, reply.message.calls, reply.finish) == (text, (), "stop")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("<tool_call>\n{broken\n</tool_call>", "tool"),
        ('<tool_call>{"name": "open", "arguments": {}}</tool_call>', "open"),
        ('<tool_call>{"name": "read", "arguments": {"file": 1}}</tool_call>', "read"),
        ('{"name": "read", "arguments": {"file": "a.py"}}', "read"),
        ('```json\n{"name": "read", "arguments": {"file": "a.py"}}\n```', "read"),
        ('<function=read>{"path": "a.py</function>', "read"),
        (f"I look first.\n```tool\n{UNKNOWN}\n```", "web_search"),
    ],
)
def test_a_malformed_call_is_passed_on_to_be_refused(text: str, name: str) -> None:
    reply = exchange(Server(text=text)).reply
    assert ([call.name for call in reply.message.calls], reply.finish) == ([name], "calls")
