"""Servers that lack optional parts of a protocol: one table of remedies; whole replies; limits of a reply."""

import asyncio
import json
import re
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx2

from coder.core.errors import ModelError
from coder.core.text import parse_json

Body = dict[str, Any]
Events = Callable[[list[Any]], list[bytes]]
"""Returns the events of a stream that says the same as a whole reply, or as its lines."""
REJECTION_CODES = (400, 404, 405, 406, 415, 422, 500, 501)
"""Codes with which servers reject a field; llama.cpp and some proxies use 500 and 404."""
UNSUPPORTED = (
    r"unrecogni[sz]ed|unsupported|unknown|unexpected|invalid|extra|no such|forbidden|must be|should be"
    r"|cannot be|not (?:be )?(?:enabled|supported|permitted|allowed|implemented|valid)"
    r"|(?:does|do)(?:n't| not) support|only supports?|deprecated|use '"
)

_BLANK = b"\xef\xbb\xbf \t\r\n"
"""Bytes before the first event or brace, a byte order mark among them."""


@dataclass(frozen=True)
class Quirk:
    """A part of the protocol that some servers reject, and a body without it."""

    name: str
    rejection: re.Pattern[str]
    """Matches the error message; servers, models or proxies that send it stand beside the row."""
    remedy: Callable[[Body], Body]
    """Returns the same body if it does not hold the part."""


@dataclass
class ServerQuirks:
    """The quirks of one server that its rejections have shown so far."""

    known: list[Quirk] = field(default_factory=list)
    output_limit: int | None = None
    """The number of output tokens that a rejection allowed."""

    def adapt(self, body: Body) -> Body:
        """Return the body without the parts that the server is known to reject."""
        for quirk in self.known:
            body = quirk.remedy(body)
        return _limit_output(self.output_limit, body)

    def learn(self, message: str, body: Body) -> bool:
        """Remember the quirk that a rejection of this body names; return whether there is a new one."""
        if (limit := _allowed_output(message, body)) is not None:
            self.output_limit = limit
            return True
        named = [
            quirk
            for quirk in QUIRKS
            if quirk not in self.known and quirk.rejection.search(message) and quirk.remedy(body) != body
        ]
        self.known += named[:1]
        return bool(named)


class QuirkClient(httpx2.AsyncClient):
    """HTTP client that repeats a rejected request for a reply without the part that was rejected."""

    def __init__(self, *, quirks: ServerQuirks, **options: Any) -> None:
        super().__init__(**options)
        self._quirks = quirks

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        body, events = _reply_request(request)
        if body is None:
            return await super().send(request, **options)
        while True:
            adapted = self._quirks.adapt(body)
            response = await super().send(_with_body(request, adapted), **options)
            if response.is_success:
                response.stream = _EventStream(response.stream, events)
                return response
            if response.status_code not in REJECTION_CODES:
                return response
            message = (await response.aread()).decode("utf-8", "replace")
            if not self._quirks.learn(message, adapted):
                return response
            await response.aclose()


def _reply_request(request: httpx2.Request) -> tuple[Body | None, Events]:
    """Return the body of a request for a reply, and the events of its protocol; no body for any other."""
    events = next((events for end, events in EVENTS.items() if request.url.path.endswith(end)), None)
    body = parse_json(request.content) if events else None
    return (body if isinstance(body, dict) else None), events or _chat_events


def _with_body(request: httpx2.Request, body: Body) -> httpx2.Request:
    headers = {name: value for name, value in request.headers.items() if name != "content-length"}
    return httpx2.Request(
        request.method,
        request.url,
        headers=headers,
        content=json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"),
        extensions=request.extensions,
    )


_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_INTEGER_ID = re.compile(rb'(?<!\\)"id":\s*(\d+)(?=\s*[,}])')
"""An id that is no text, as some servers give calls; the SDKs refuse it."""


_FINISHED = re.compile(rb'"finish_reason":\s*"')


class _EventStream(httpx2.AsyncByteStream):
    """Body of a reply as server-sent events, also if the server sent one JSON object instead."""

    def __init__(self, stream: Any, events: Events) -> None:
        self._stream = stream
        self._events = events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = aiter(self._stream)
        head = b""
        while not head.lstrip(_BLANK) and (chunk := await anext(chunks, None)) is not None:
            head += chunk
        if not head.lstrip(_BLANK).startswith((b"{", b"[")):
            async for event in _plain_events(head.lstrip(_BLANK), chunks):
                yield event
            return
        for event in _whole_reply(b"".join([head, *[chunk async for chunk in chunks]]), self._events):
            yield event

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _plain_events(head: bytes, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the events that carry data, each without comments, `id:` and `retry:`.

    The SDKs take an event of those alone, or of empty data, for one with a body. What follows the last blank
    line is yielded as it is. Chat completions that end with `[DONE]` alone get the reason of their end, which
    some servers never send: a reply without both was cut.
    """
    rest, has_begun, has_ended = head, False, False
    while True:
        *events, rest = _EVENT_END.split(rest)
        for event in events:
            lines = [line for line in _LINE_END.split(event) if line.startswith((b"event", b"data"))]
            if any(line[len(b"data:") :].strip() for line in lines if line.startswith(b"data:")):
                if b'"choices"' in event:
                    has_begun, has_ended = True, has_ended or bool(_FINISHED.search(event))
                elif b"[DONE]" in event and has_begun and not has_ended:
                    yield _event(_as_chunk({"choices": [{}]}))
                yield _INTEGER_ID.sub(rb'"id":"\1"', b"\n".join(lines)) + b"\n\n"
        if (chunk := await anext(chunks, None)) is None:
            break
        rest += chunk
    if rest:
        yield rest


def _whole_reply(data: bytes, events: Events) -> list[bytes]:
    """Return the events of a stream that says the same as a whole reply.

    Lines of JSON, as some servers stream, become one event each. What is cut stays as it is.
    """
    text = data.decode("utf-8-sig", "replace")
    try:
        values = [parse_json(text)]
    except (ValueError, RecursionError):
        try:
            values = [parse_json(line) for line in text.split("\n") if line.strip()]
        except (ValueError, RecursionError):
            return [data]
    if len(values) == 1 and isinstance(values[0], list):  # Gemini without `alt=sse`
        values = values[0]
    return events(values)


def _event(value: Any) -> bytes:
    name = f"event: {value['type']}\n" if isinstance(value, dict) and "type" in value else ""
    return f"{name}data: {json.dumps(value)}\n\n".encode()


def _chat_events(values: list[Any]) -> list[bytes]:
    return [*(_event(_as_chunk(value)) for value in values), b"data: [DONE]\n\n"]


def _plain_json_events(values: list[Any]) -> list[bytes]:
    return [_event(value) for value in values]


EVENTS: dict[str, Events] = {
    "/chat/completions": _chat_events,
    "/messages": _plain_json_events,
    "/responses": _plain_json_events,
    ":streamGenerateContent": _plain_json_events,
}
"""Ends of the paths at which a reply is requested."""


def _as_chunk(value: Any) -> Any:
    """Return a chat completion as the chunk of a stream; anything else, such as an error, unchanged."""
    if not isinstance(value, dict) or not isinstance(choices := value.get("choices"), list) or not choices:
        return value
    choice = choices[0] if isinstance(choices[0], dict) else {}
    if "delta" in choice:
        return value
    message = choice.get("message")
    delta = dict(message) if isinstance(message, dict) else {"content": choice.get("text")}
    delta["content"] = _joined_text(delta.get("content"))
    if legacy := delta.pop("function_call", None):
        delta.setdefault("tool_calls", [{"type": "function", "function": legacy}])
    calls = [
        _indexed_call(index, call)
        for index, call in enumerate(delta.get("tool_calls") or ())
        if isinstance(call, dict)
    ]
    delta.pop("tool_calls", None)
    if calls:
        delta["tool_calls"] = calls
    finish = choice.get("finish_reason") or ("tool_calls" if calls else "stop")
    head = {"id": "whole", "created": 0, "model": ""}
    return {
        **head,
        **value,
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def _indexed_call(index: int, call: Body) -> Body:
    function = dict(call.get("function") or {})
    if not isinstance(function.get("arguments"), str):
        function["arguments"] = json.dumps(function.get("arguments") or {})
    return {
        **call,
        "index": index,
        "id": str(call.get("id") or f"call_{index}"),
        "type": "function",
        "function": function,
    }


def _joined_text(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return "\n\n".join(
        str(part.get("text", "")) if isinstance(part, dict) else str(part)
        for part in content
        if not isinstance(part, dict) or part.get("type", "text") in ("text", "input_text")
    )


DATA_KEYS = frozenset({"input_schema", "parameters", "parameters_json_schema", "args", "properties"})
"""Fields whose values are not the protocol's, as is `input` if it holds an object."""


def _drop(names: frozenset[str], body: Body) -> Body:
    """Return the body without these fields, wherever they are."""

    def prune(value: Any) -> Any:
        if isinstance(value, list):
            return [prune(inner) for inner in value]
        if not isinstance(value, dict):
            return value
        return {
            key: inner if key in DATA_KEYS or (key == "input" and isinstance(inner, dict)) else prune(inner)
            for key, inner in value.items()
            if key not in names
        }

    return dict(prune(body))


LIMIT_FIELDS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")
BEYOND_LIMIT = re.compile(
    r"max_?(?:completion_?|output_?)?tokens.{0,80}"
    r"(?:too large|at most|less than|exceed|range|maximum)|\d > \d+.{0,40}maximum",
    re.I | re.S,
)
"""A limit beyond what the model can write, as OpenAI, Anthropic, Google, Bedrock and DeepSeek reject it."""


def _allowed_output(message: str, body: Body) -> int | None:
    """Return the largest number below the body's limit in a message that rejects it; 0 if there is none."""
    sent = _sent_limit(body)
    match = BEYOND_LIMIT.search(message)
    if sent is None or match is None:
        return None
    text = message[match.start() : match.start() + 200]
    numbers = [int(number) for number in re.findall(r"(?<![\d.-])\d{2,7}(?![\d-])", text)]
    exclusive = 1 if re.search("exclusive|less than", text, re.I) else 0
    return max((number - exclusive for number in numbers if number < sent), default=0)


def _sent_limit(body: Body) -> int | None:
    inner = body.get("generationConfig")
    fields = {**body, **(inner if isinstance(inner, dict) else {})}
    return next((fields[name] for name in LIMIT_FIELDS if isinstance(fields.get(name), int)), None)


def _limit_output(limit: int | None, body: Body) -> Body:
    """Return the body with at most this many output tokens; for 0, with the server's own limit."""
    if limit is None:
        return body
    if not limit:
        return _drop(frozenset(LIMIT_FIELDS), body)
    limited = {
        key: min(value, limit) if key in LIMIT_FIELDS and isinstance(value, int) else value
        for key, value in body.items()
    }
    inner = limited.get("generationConfig")
    return (
        {**limited, "generationConfig": _limit_output(limit, inner)} if isinstance(inner, dict) else limited
    )


def _rename(old: str, new: str, body: Body) -> Body:
    return {new if key == old else key: value for key, value in body.items() if key != new or old not in body}


def _map_messages(change: Callable[[Body], Body], body: Body) -> Body:
    key = _messages_key(body)
    return {**body, key: [change(message) for message in body[key]]} if key else body


def _messages_key(body: Body) -> str | None:
    """Return the name of the field with the messages, of OpenAI or Anthropic."""
    return next((key for key in ("messages", "input") if isinstance(body.get(key), list)), None)


def _plain_content(message: Body) -> Body:
    content = message.get("content")
    if content is None and "content" in message:
        return {**message, "content": ""}
    is_text = isinstance(content, list) and all(
        isinstance(part, dict) and part.get("type") == "text" for part in content
    )
    return {**message, "content": _joined_text(content)} if is_text else message


def _with_reasoning(message: Body) -> Body:
    return {"reasoning_content": "", **message} if message.get("tool_calls") else message


def _system_role(message: Body) -> Body:
    return {**message, "role": "system"} if message.get("role") == "developer" else message


def _system_in_user(body: Body) -> Body:
    """Move the instructions to the beginning of the first message of the user."""
    if isinstance(instruction := body.get("systemInstruction"), dict):  # Gemini
        first, *others = body.get("contents") or [{"role": "user", "parts": []}]
        merged = {**first, "parts": [*(instruction.get("parts") or ()), *(first.get("parts") or ())]}
        return {**_drop(frozenset({"systemInstruction"}), body), "contents": [merged, *others]}
    key = _messages_key(body) or "messages"
    system = [message for message in body.get(key, ()) if message.get("role") in ("system", "developer")]
    others = [message for message in body.get(key, ()) if message not in system]
    texts = [body.get("system"), *(message.get("content") for message in system)]
    text = "\n\n".join(str(_joined_text(content)) for content in texts if content)
    if not text:
        return body
    rest = {name: value for name, value in body.items() if name != "system"}
    return _merge_roles({**rest, key: [{"role": "user", "content": text}, *others]})


def _merge_roles(body: Body) -> Body:
    """Join neighboring messages of the user, or of the assistant if they hold no calls."""
    key = _messages_key(body) or "messages"
    merged: list[Body] = []
    for message in body.get(key, ()):
        last = merged[-1] if merged else {}
        can_join = message.get("role") == last.get("role") and message.get("role") in ("user", "assistant")
        if can_join and not message.get("tool_calls") and not last.get("tool_calls"):
            merged[-1] = {**last, "content": _join_contents(last.get("content"), message.get("content"))}
        else:
            merged.append(message)
    return {**body, key: merged}


def _join_contents(first: Any, second: Any) -> Any:
    if isinstance(first, list) or isinstance(second, list):
        parts = [
            content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
            for content in (first, second)
        ]
        return [*parts[0], *parts[1]]
    return "\n\n".join(text for text in (first, second) if text)


def _loose_schemas(body: Body) -> Body:
    """Remove `strict` and `additionalProperties` from the definitions of tools."""

    def loosen(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {
                key: loosen(inner)
                for key, inner in value.items()
                if not (key == "strict" and isinstance(inner, bool))
                and not (key == "additionalProperties" and isinstance(inner, bool))
            }
        return [loosen(inner) for inner in value] if isinstance(value, list) else value

    return {**body, "tools": loosen(body["tools"])} if "tools" in body else body


def _short_call_ids(body: Body) -> Body:
    """Return calls with ids of nine characters, as Mistral wants them."""
    numbers: dict[str, str] = {}

    def number(call_id: str) -> str:
        return numbers.setdefault(call_id, f"call{len(numbers):05d}")

    def change(message: Body) -> Body:
        if calls := message.get("tool_calls"):
            message = {**message, "tool_calls": [{**call, "id": number(call["id"])} for call in calls]}
        if "tool_call_id" in message:
            message = {**message, "tool_call_id": number(message["tool_call_id"])}
        return message

    return _map_messages(change, body)


def _rejects(*names: str) -> re.Pattern[str]:
    """Match a message that names one of these fields as one that is not supported."""
    alternatives = "|".join(names)
    return re.compile(
        rf"(?:{UNSUPPORTED})(?s:.){{0,200}}\b(?:{alternatives})\b"
        rf"|\b(?:{alternatives})\b(?s:.){{0,200}}(?:{UNSUPPORTED})",
        re.I,
    )


def _unknown(*fields: str, rejected: tuple[str, ...] = ()) -> Quirk:
    """Return the quirk of servers that do not know some fields; `rejected` are their names in messages."""
    return Quirk(fields[0], _rejects(*(rejected or fields)), partial(_drop, frozenset(fields)))


QUIRKS = (
    # vLLM and LiteLLM before 2024, Azure, many gateways; must stand before `stream`, which its name contains.
    _unknown("stream_options"),
    # Ollama, llama.cpp, LM Studio and Mistral know the old name only; OpenAI's reasoning models the new one.
    Quirk(
        "max_completion_tokens",
        _rejects("max_completion_tokens"),
        partial(_rename, "max_completion_tokens", "max_tokens"),
    ),
    Quirk("max_tokens", _rejects("max_tokens"), partial(_rename, "max_tokens", "max_completion_tokens")),
    # LM Studio, Groq and Bedrock behind LiteLLM.
    _unknown("parallel_tool_calls"),
    # vLLM without --enable-auto-tool-choice rejects "auto" as a whole, which turns tools off (text protocol).
    _unknown("tool_choice", "toolConfig", rejected=("tool_choice", "tool_?config")),
    _unknown("seed"),
    # Servers and proxies with Anthropic's messages, for older models behind OpenRouter and Vertex AI as well.
    _unknown("cache_control"),
    # Servers with OpenAI's responses: models that do not reason, vLLM, LiteLLM, LM Studio.
    _unknown("include", rejected=("include", "encrypted.content")),
    _unknown(
        *("prompt_cache_options", "prompt_cache_breakpoint", "prompt_cache_retention"),
        rejected=(r"prompt_cache_\w+",),
    ),
    # DeepSeek and Moonshot want it back with each call, of another model, too; Groq does not know it.
    Quirk(
        "missing reasoning",
        re.compile(
            r"missing\W+reasoning_content|reasoning_content.{0,80}(?:passed back|is missing)", re.I | re.S
        ),
        partial(_map_messages, _with_reasoning),
    ),
    _unknown("reasoning_content"),
    _unknown("reasoning_effort"),
    _unknown("store"),
    _unknown("reasoning", rejected=(r"reasoning(?:\.\w+)?",)),
    # Proxies of models without it; the whole reply is read as a stream.
    _unknown("stream", "stream_options", rejected=("stream", "streaming")),
    # LM Studio, DeepSeek and most gateways do not know OpenAI's new name of the role.
    Quirk("developer", _rejects("developer"), partial(_map_messages, _system_role)),
    # Templates of Gemma and of early Mistral models (vLLM, llama.cpp, Ollama).
    Quirk(
        "system",
        _rejects(
            "system roles?",
            r"role\W{1,4}system",
            r"(?<=['\"])system",
            "(?:system|developer) (?:messages?|prompts?|instructions?)",
        ),
        _system_in_user,
    ),
    Quirk("alternation", re.compile(r"roles? must alternate|alternating roles", re.I), _merge_roles),
    # vLLM, llama.cpp, Groq, DeepSeek: text only.
    Quirk(
        "content",
        re.compile(
            r"content\W{1,40}.{0,80}(?:string|str\b|null|none)|(?:string|str).{0,60}\bcontent\b"
            r"|list content|content parts?",
            re.I | re.S,
        ),
        partial(_map_messages, _plain_content),
    ),
    # Gemini behind OpenRouter or LiteLLM, Cerebras, Fireworks.
    Quirk("strict", _rejects("strict", "additionalProperties"), _loose_schemas),
    Quirk("call ids", re.compile(r"tool.?call.?id.{0,80}length of 9", re.I | re.S), _short_call_ids),
)
"""Parts that servers are known to reject. The first row that fits the message and the request applies."""


@dataclass(frozen=True, kw_only=True)
class ReplyLimits:
    """Limits of one reply; the defaults are several times what the longest real replies need."""

    body_bytes: int = 64 << 20
    line_bytes: int = 8 << 20
    seconds: float = 3600.0
    """From the headers to the last byte; a server on a CPU generates only a few tokens a second."""


NESTING_DEPTH = 100
"""Limit for JSON that a model writes: our tool schemas nest two levels, parsers fail at about a thousand."""
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[{]|[\]}]', re.DOTALL)


def limit_hooks(limits: ReplyLimits) -> dict[str, list[Callable[..., Any]]]:
    """Return httpx event hooks that enforce the limits on each reply, and refuse web pages.

    Compression is not requested; gzip and deflate, which some gateways use nevertheless, are undone before
    the bytes are counted, others are refused. Hooks are used because a client with its own transport ignores
    the proxies of the environment.
    """
    return {"request": [_request_identity_encoding], "response": [partial(_limit_response, limits)]}


def nesting_depth(text: str) -> int:
    """Return the nesting depth of the brackets of a JSON text, without parsing it."""
    depth = deepest = 0
    for match in _BRACKETS.finditer(text):
        depth += 1 if match[0] in "[{" else -1 if match[0] in "]}" else 0
        deepest = max(deepest, depth)
    return deepest


async def _request_identity_encoding(request: httpx2.Request) -> None:
    request.headers["Accept-Encoding"] = "identity"


async def _limit_response(limits: ReplyLimits, response: httpx2.Response) -> None:
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("", "identity", *COMPRESSIONS):
        raise ModelError(
            f"{response.url.host} compressed its reply ({encoding[:40]}) although it was asked not to; "
            "nothing of it was read."
        )
    if response.is_success and response.headers.get("Content-Type", "").lower().startswith("text/html"):
        raise ModelError(
            f"{response.url.host} sent a web page instead of a reply of an API: check the base URL, and "
            "whether a proxy or the network asks you to sign in first."
        )
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    if encoding in COMPRESSIONS:
        del response.headers["Content-Encoding"]
        response.stream = _InflatedStream(response.stream, zlib.MAX_WBITS | COMPRESSIONS[encoding])
    response.stream = _LimitedStream(response.stream, limits, host=response.url.host)


COMPRESSIONS = {"gzip": 16, "x-gzip": 16, "deflate": 0}
"""Compressions that are undone, each with zlib's flag of its header."""
INFLATED_BYTES = 1 << 16


class _InflatedStream(httpx2.AsyncByteStream):
    """Undoes compression piece by piece, so that limits see each piece before the next is made."""

    def __init__(self, stream: httpx2.AsyncByteStream, window: int) -> None:
        self._stream = stream
        self._inflater = zlib.decompressobj(window)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            while chunk:
                try:
                    piece = self._inflater.decompress(chunk, INFLATED_BYTES)
                except zlib.error as error:
                    raise httpx2.DecodingError(str(error)) from error
                chunk = self._inflater.unconsumed_tail
                if piece:
                    yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


class _LimitedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, limits: ReplyLimits, *, host: str) -> None:
        self._stream = stream
        self._limits = limits
        self._host = host

    async def __aiter__(self) -> AsyncIterator[bytes]:
        limits, received, line = self._limits, 0, 0
        deadline = asyncio.get_running_loop().time() + limits.seconds
        chunks = aiter(self._stream)
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    # A fast server would otherwise never let the loop handle a deadline or a cancellation.
                    await asyncio.sleep(0)
                    chunk = await anext(chunks, None)
            except TimeoutError:
                raise ModelError(
                    f"The reply of {self._host} was not complete after {limits.seconds:g} s."
                ) from None
            if chunk is None:
                return
            received += len(chunk)
            first, *rest = chunk.split(b"\n")
            longest = max(line + len(first), *map(len, rest)) if rest else line + len(first)
            line = len(rest[-1]) if rest else longest
            if received > limits.body_bytes:
                raise ModelError(
                    f"The reply of {self._host} is longer than {limits.body_bytes:,} bytes; the rest was "
                    "not read."
                )
            if longest > limits.line_bytes:
                raise ModelError(
                    f"A line in the reply of {self._host} is longer than {limits.line_bytes:,} bytes; "
                    "the rest was not read."
                )
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
