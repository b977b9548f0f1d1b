"""Our messages as pydantic_ai's, and back; the same message always becomes the same bytes, or prompt caches would miss."""

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from coder.core.errors import ModelError
from coder.core.messages import AssistantMessage, Message, ToolCall, ToolMessage, ToolSpec, UserMessage
from coder.models.wire.limits import NESTING_DEPTH, nesting_depth

_SURROGATE = re.compile("[\ud800-\udfff]")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""pydantic_ai stamps messages with the time unless told one; none of it goes over the wire."""


def history(messages: Iterable[Message]) -> list[ModelMessage]:
    """The conversation as pydantic_ai wants it: what follows a reply, answers to its calls first, is one request."""
    whole: list[ModelMessage] = []
    parts: list[ModelRequestPart] = []
    for message in messages:
        match message:
            case AssistantMessage():
                if parts:
                    whole.append(ModelRequest(parts=parts, timestamp=EPOCH))
                    parts = []
                whole.append(_response(message))
            case UserMessage(text=text):
                parts.append(UserPromptPart(content=text, timestamp=EPOCH))
            case ToolMessage(call_id=call, name=name, text=text):
                # The outcome stays "success" even where ok is False: other outcomes are sent as escaped JSON by some wires.
                parts.append(ToolReturnPart(tool_name=name, content=text, tool_call_id=call, timestamp=EPOCH))
    if parts:
        whole.append(ModelRequest(parts=parts, timestamp=EPOCH))
    return whole


def definition(tool: ToolSpec) -> ToolDefinition:
    """A tool as pydantic_ai describes it; never strict, which would rewrite the schema."""
    return ToolDefinition(
        name=tool.name,
        description=tool.description,
        parameters_json_schema=dict(tool.parameters),
        strict=False,
    )


def message_of(response: ModelResponse) -> AssistantMessage:
    """One reply; whatever text and calls alone do not say (signed reasoning, ids) is kept in `opaque`.

    Raises:
        ModelError: arguments nest too deep, or a text holds half of a surrogate pair, which nothing can store.
    """
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    calls = tuple(
        ToolCall(
            id=part.tool_call_id,
            name=part.tool_name,
            arguments=part.args if isinstance(part.args, str) else part.args_as_json_str(),
        )
        for part in response.parts
        if isinstance(part, ToolCallPart)
    )
    if deep := next((call for call in calls if nesting_depth(call.arguments) > NESTING_DEPTH), None):
        raise ModelError(
            f"The arguments of a call of {deep.name[:80]!r} nest deeper than {NESTING_DEPTH} levels.",
            retryable=True,
        )
    if _SURROGATE.search("".join([text, *(f"{call.id}{call.name}{call.arguments}" for call in calls)])):
        raise ModelError("The reply holds half of a surrogate pair, which is no text.", retryable=True)
    plain = list(response.parts) == _plain_parts(text, calls)
    return AssistantMessage(text=text, calls=calls, opaque="" if plain else _kept(response))


def _plain_parts(text: str, calls: tuple[ToolCall, ...]) -> list[ModelResponsePart]:
    said: list[ModelResponsePart] = [TextPart(content=text)] if text else []
    return [
        *said,
        *(ToolCallPart(tool_name=call.name, args=call.arguments, tool_call_id=call.id) for call in calls),
    ]


def _kept(response: ModelResponse) -> str:
    return ModelMessagesTypeAdapter.dump_json(
        [replace(response, usage=RequestUsage())], exclude_none=True
    ).decode()


def _response(message: AssistantMessage) -> ModelResponse:
    if message.opaque:
        try:
            kept = ModelMessagesTypeAdapter.validate_json(message.opaque)
        except ValidationError:
            kept = []  # another adapter's, such as the text protocol's: text and calls say the rest
        if len(kept) == 1 and isinstance(kept[0], ModelResponse):
            return kept[0]
    return ModelResponse(parts=_plain_parts(message.text, message.calls), timestamp=EPOCH)
