"""Streams and errors of OpenAI (chat and responses), Anthropic and Google, as in their API references."""

import json
import struct
import zlib
from typing import Any

from tests.models.fakes import Turn


def split_text(text: str) -> list[str]:
    """Return pieces of five characters; larger ones of a long text, since clients read each piece slowly."""
    size = max(5, len(text) // 50)
    return [text[start : start + size] for start in range(0, len(text), size)]


def is_complete(turn: Turn) -> bool:
    """Return whether the stream comes to its end."""
    return not (turn.cut or turn.dropped or turn.garbage or turn.stalls)


def data_event(value: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


def named_event(value: dict[str, Any]) -> bytes:
    return f"event: {value['type']}\n".encode() + data_event(value)


# https://platform.openai.com/docs/api-reference/chat-streaming


def chat_stream(turn: Turn) -> list[bytes]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        return data_event(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "m",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
            }
        )

    events = [chunk({"role": "assistant", "content": ""})]
    events += [chunk({"reasoning_content": piece}) for piece in split_text(turn.reasoning)]
    kind = "refusal" if turn.finish == "refusal" else "content"
    events += [chunk({kind: piece}) for piece in split_text(turn.text)]
    for index, (name, arguments) in enumerate(turn.calls):
        head = {
            "index": index,
            "id": f"call_{index}",
            "type": "function",
            "function": {"name": name, "arguments": ""},
        }
        events.append(chunk({"tool_calls": [head]}))
        events += [
            chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
            for piece in split_text(arguments)
        ]
    if turn.garbage:
        events.append(turn.garbage)
    if not is_complete(turn):
        return events
    finish = {"length": "length", "odd": "moonlight", "refusal": "stop"}.get(
        turn.finish, turn.finish or ("tool_calls" if turn.calls else "stop")
    )
    usage = {
        "prompt_tokens": turn.input_tokens,
        "completion_tokens": turn.output_tokens,
        "total_tokens": turn.input_tokens + turn.output_tokens,
        "prompt_tokens_details": {"cached_tokens": turn.cached_tokens},
    }
    last = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [],
        "usage": usage,
    }
    return [*events, chunk({}, finish), data_event(last), b"data: [DONE]\n\n"]


def openai_error(turn: Turn) -> dict[str, Any]:
    def error(message: str, kind: str, code: str | None, param: str | None = None) -> dict[str, Any]:
        return {"error": {"message": message, "type": kind, "param": param, "code": code}}

    match turn.error:
        case "overflow":
            message = (
                "This model's maximum context length is 8192 tokens. However, your messages resulted in "
                "9000 tokens."
            )
            return error(message, "invalid_request_error", "context_length_exceeded", "messages")
        case "no_tools":
            return error("registry.ollama.ai/library/m does not support tools", "api_error", None)
    code = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}.get(turn.status)
    return error(turn.error or f"status {turn.status}", "error", code)


# https://platform.openai.com/docs/api-reference/responses-streaming


PARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "reasoning_summary_text": ("reasoning_summary_part", {"type": "summary_text", "text": ""}),
    "output_text": ("content_part", {"type": "output_text", "text": "", "annotations": []}),
}
"""Parts of an item that are announced before their text, by the kind of the text."""


def responses_stream(turn: Turn) -> list[bytes]:
    number = iter(range(10_000))
    output: list[dict[str, Any]] = []

    def event(kind: str, **fields: Any) -> bytes:
        return named_event({"type": kind, "sequence_number": next(number), **fields})

    def state(status: str) -> dict[str, Any]:
        usage = {
            "input_tokens": turn.input_tokens,
            "input_tokens_details": {"cached_tokens": turn.cached_tokens},
            "output_tokens": turn.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": turn.input_tokens + turn.output_tokens,
        }
        reason = {"length": "max_output_tokens", "refusal": "content_filter"}.get(turn.finish, turn.finish)
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "status": status,
            "model": "m",
            "output": output,
            "error": None,
            "incomplete_details": {"reason": reason} if reason and status == "incomplete" else None,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": usage if status != "in_progress" else None,
        }

    def add(
        item: dict[str, Any], kind: str, pieces: list[str], done: dict[str, Any], **places: Any
    ) -> list[bytes]:
        """Return the events of one item: it is added, its text comes in pieces, and it is done."""
        where = {"item_id": item["id"], "output_index": len(output), **places}
        added = [event("response.output_item.added", output_index=len(output), item=item)]
        if kind in PARTS:
            name, part = PARTS[kind]
            added.append(event(f"response.{name}.added", part=part, **where))
        added += [event(f"response.{kind}.delta", delta=piece, **where) for piece in pieces]
        if is_complete(turn) or kind != "output_text":
            added.append(event("response.output_item.done", output_index=len(output), item={**item, **done}))
        output.append({**item, **done})
        return added

    events = [event("response.created", response=state("in_progress"))]
    if turn.reasoning:
        summary = [{"type": "summary_text", "text": turn.reasoning}]
        events += add(
            {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": ""},
            "reasoning_summary_text",
            split_text(turn.reasoning),
            {"summary": summary, "encrypted_content": "seal"},
            summary_index=0,
        )
    if turn.text:
        content = [{"type": "output_text", "text": turn.text, "annotations": [], "logprobs": []}]
        events += add(
            {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []},
            "output_text",
            split_text(turn.text),
            {"status": "completed", "content": content},
            content_index=0,
            logprobs=[],
        )
    for name, arguments in turn.calls:
        number_of_call = len(output)
        call = {"type": "function_call", "name": name, "arguments": "", "status": "in_progress"}
        events += add(
            {"id": f"fc_{number_of_call}", "call_id": f"call_{number_of_call}", **call},
            "function_call_arguments",
            split_text(arguments),
            {"arguments": arguments, "status": "incomplete" if turn.finish == "length" else "completed"},
        )
    events += [turn.garbage] if turn.garbage else []
    if not is_complete(turn):
        return events
    status = "incomplete" if turn.finish not in ("", "odd") else "completed"
    return [*events, event(f"response.{status}", response=state(status))]


# https://platform.claude.com/docs/en/build-with-claude/streaming


def anthropic_stream(turn: Turn) -> list[bytes]:
    usage = {
        "input_tokens": turn.input_tokens - turn.cached_tokens,
        "cache_read_input_tokens": turn.cached_tokens,
        "cache_creation_input_tokens": 0,
        "output_tokens": 1,
    }
    start: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    events = [named_event({"type": "message_start", "message": start}), named_event({"type": "ping"})]
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if turn.reasoning:
        deltas: list[dict[str, Any]] = [
            {"type": "thinking_delta", "thinking": piece} for piece in split_text(turn.reasoning)
        ]
        blocks.append(
            (
                {"type": "thinking", "thinking": "", "signature": ""},
                [*deltas, {"type": "signature_delta", "signature": "seal"}],
            )
        )
    if turn.text:
        blocks.append(
            (
                {"type": "text", "text": ""},
                [{"type": "text_delta", "text": piece} for piece in split_text(turn.text)],
            )
        )
    for index, (name, arguments) in enumerate(turn.calls):
        use = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}}
        blocks.append(
            (use, [{"type": "input_json_delta", "partial_json": piece} for piece in split_text(arguments)])
        )
    for index, (block, deltas) in enumerate(blocks):
        events.append(named_event({"type": "content_block_start", "index": index, "content_block": block}))
        events += [
            named_event({"type": "content_block_delta", "index": index, "delta": delta}) for delta in deltas
        ]
        if is_complete(turn):
            events.append(named_event({"type": "content_block_stop", "index": index}))
    if turn.garbage:
        events.append(turn.garbage)
    if not is_complete(turn):
        return events
    reason = {"length": "max_tokens", "refusal": "refusal", "odd": "moonlight"}.get(
        turn.finish, turn.finish or ("tool_use" if turn.calls else "end_turn")
    )
    end = {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None},
        "usage": {"output_tokens": turn.output_tokens},
    }
    return [*events, named_event(end), named_event({"type": "message_stop"})]


def anthropic_error(turn: Turn) -> dict[str, Any]:
    message = {"overflow": "prompt is too long: 250000 tokens > 200000 maximum"}.get(
        turn.error, turn.error or f"status {turn.status}"
    )
    kinds = {
        400: "invalid_request_error",
        401: "authentication_error",
        404: "not_found_error",
        429: "rate_limit_error",
    }
    return {"type": "error", "error": {"type": kinds.get(turn.status, "api_error"), "message": message}}


# https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent


def google_stream(turn: Turn) -> list[bytes]:
    def chunk(
        parts: list[dict[str, Any]], finish: str | None = None, usage: dict[str, Any] | None = None
    ) -> bytes:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
        if finish:
            candidate["finishReason"] = finish
        value: dict[str, Any] = {"candidates": [candidate], "modelVersion": "m", "responseId": "r1"}
        return f"data: {json.dumps(value | ({'usageMetadata': usage} if usage else {}))}\r\n\r\n".encode()

    events = [chunk([{"text": piece, "thought": True}]) for piece in split_text(turn.reasoning)]
    events += [chunk([{"text": piece}]) for piece in split_text(turn.text)]
    seal = {"thoughtSignature": "c2VhbA=="} if turn.reasoning else {}
    events += [
        chunk([{"functionCall": {"name": name, "args": json.loads(arguments)}, **seal}])
        for name, arguments in turn.calls
    ]
    if turn.garbage:
        events.append(turn.garbage)
    if not is_complete(turn):
        return events
    finish = {"length": "MAX_TOKENS", "refusal": "SAFETY", "odd": "MOONLIGHT"}.get(
        turn.finish, turn.finish or "STOP"
    )
    usage = {
        "promptTokenCount": turn.input_tokens,
        "cachedContentTokenCount": turn.cached_tokens,
        "candidatesTokenCount": turn.output_tokens,
        "totalTokenCount": turn.input_tokens + turn.output_tokens,
    }
    return [*events, chunk([{"text": ""}], finish, usage)]


def google_error(turn: Turn) -> dict[str, Any]:
    message = {
        "overflow": "The input token count (9000) exceeds the maximum number of tokens allowed (8192)."
    }.get(turn.error, turn.error or f"status {turn.status}")
    names = {
        400: "INVALID_ARGUMENT",
        401: "UNAUTHENTICATED",
        404: "NOT_FOUND",
        429: "RESOURCE_EXHAUSTED",
        500: "INTERNAL",
    }
    return {"error": {"code": turn.status, "message": message, "status": names.get(turn.status, "UNKNOWN")}}


# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html


def bedrock_stream(turn: Turn) -> list[bytes]:
    events = [aws_event("messageStart", {"role": "assistant"})]
    index = 0
    if turn.reasoning:
        pieces = [{"text": piece} for piece in split_text(turn.reasoning)]
        deltas = [{"reasoningContent": piece} for piece in [*pieces, {"signature": "seal"}]]
        events += block_events(index, deltas)
        index += 1
    if turn.text:
        deltas_of_text = [{"text": piece} for piece in split_text(turn.text)]
        events += block_events(index, deltas_of_text, closed=is_complete(turn))
        index += 1
    for number, (name, arguments) in enumerate(turn.calls):
        start = {"toolUse": {"toolUseId": f"call_{number}", "name": name}}
        events.append(aws_event("contentBlockStart", {"contentBlockIndex": index, "start": start}))
        events += block_events(index, [{"toolUse": {"input": piece}} for piece in split_text(arguments)])
        index += 1
    if turn.garbage:
        events.append(turn.garbage)
    if not is_complete(turn):
        return events
    finish = {"length": "max_tokens", "refusal": "guardrail_intervened", "odd": "moonlight"}.get(
        turn.finish, turn.finish or ("tool_use" if turn.calls else "end_turn")
    )
    usage = {
        "inputTokens": turn.input_tokens - turn.cached_tokens,
        "cacheReadInputTokens": turn.cached_tokens,
        "outputTokens": turn.output_tokens,
        "totalTokens": turn.input_tokens + turn.output_tokens,
    }
    return [
        *events,
        aws_event("messageStop", {"stopReason": finish}),
        aws_event("metadata", {"usage": usage, "metrics": {"latencyMs": 1}}),
    ]


def block_events(index: int, deltas: list[dict[str, Any]], *, closed: bool = True) -> list[bytes]:
    events = [
        aws_event("contentBlockDelta", {"contentBlockIndex": index, "delta": delta}) for delta in deltas
    ]
    return [*events, aws_event("contentBlockStop", {"contentBlockIndex": index})] if closed else events


def aws_event(kind: str, payload: dict[str, Any]) -> bytes:
    """Return a message of AWS's binary event stream: lengths, headers, payload, checksums."""
    names = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", 7, len(value)) + value.encode()
        for name, value in names.items()
    )
    body = json.dumps(payload).encode()
    prelude = struct.pack("!II", len(headers) + len(body) + 16, len(headers))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + headers + body
    return message + struct.pack("!I", zlib.crc32(message))


def bedrock_error(turn: Turn) -> dict[str, Any]:
    message = {
        "overflow": "The model returned the following errors: Input is too long: prompt is too long"
    }.get(turn.error, turn.error or f"status {turn.status}")
    return {"message": message}
