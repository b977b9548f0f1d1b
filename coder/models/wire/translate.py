"""Conversion between our messages and those of pydantic_ai.

The same message always becomes the same bytes, since prompt caches would miss otherwise.
"""

import re
from base64 import b64decode
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from pydantic import ValidationError
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from coder.core.errors import ModelError
from coder.core.messages import AssistantMessage, Image, Message, ToolCall, ToolMessage, ToolSpec, UserMessage
from coder.models.wire.limits import NESTING_DEPTH, nesting_depth

_SURROGATE = re.compile("[\ud800-\udfff]")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""Fixed time stamp, instead of the current time that pydantic_ai would set; it is never sent."""


def to_model_messages(messages: Iterable[Message]) -> list[ModelMessage]:
    """Return the conversation as pydantic_ai messages.

    All messages between two replies form one request, results of calls first.
    """
    conversation: list[ModelMessage] = []
    parts: list[ModelRequestPart] = []
    for message in messages:
        match message:
            case AssistantMessage():
                if parts:
                    conversation.append(ModelRequest(parts=parts, timestamp=EPOCH))
                    parts = []
                conversation.append(_to_response(message))
            case UserMessage(text=text, images=images):
                content: list[UserContent] = [text, *map(_to_binary_content, images)]
                parts.append(UserPromptPart(content=content if images else text, timestamp=EPOCH))
            case ToolMessage(call_id=call, name=name, text=text):
                # The outcome is always "success": some providers get other outcomes as escaped JSON.
                parts.append(ToolReturnPart(tool_name=name, content=text, tool_call_id=call, timestamp=EPOCH))
    if parts:
        conversation.append(ModelRequest(parts=parts, timestamp=EPOCH))
    return conversation


def _to_binary_content(image: Image) -> BinaryContent:
    return BinaryContent(b64decode(image.base64), media_type=image.media_type)


def to_tool_definition(tool: ToolSpec) -> ToolDefinition:
    """Return a tool as a pydantic_ai definition; never strict, which would rewrite the schema."""
    return ToolDefinition(
        name=tool.name,
        description=tool.description,
        parameters_json_schema=dict(tool.parameters),
        strict=False,
    )


def to_assistant_message(response: ModelResponse) -> AssistantMessage:
    """Return the message of a response.

    What text and calls do not express (signed reasoning, ids) is kept in `opaque`.

    Raises:
        ModelError: arguments nest too deep, or a text contains a lone surrogate, which cannot be stored.
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
    if too_deep := next((call for call in calls if nesting_depth(call.arguments) > NESTING_DEPTH), None):
        raise ModelError(
            f"The arguments of a call of {too_deep.name[:80]!r} nest deeper than {NESTING_DEPTH} levels.",
            retryable=True,
        )
    if _SURROGATE.search("".join([text, *(f"{call.id}{call.name}{call.arguments}" for call in calls)])):
        raise ModelError("The reply holds half of a surrogate pair, which is no text.", retryable=True)
    is_plain = list(response.parts) == _plain_parts(text, calls)
    return AssistantMessage(text=text, calls=calls, opaque="" if is_plain else _serialize_response(response))


def _plain_parts(text: str, calls: tuple[ToolCall, ...]) -> list[ModelResponsePart]:
    text_parts: list[ModelResponsePart] = [TextPart(content=text)] if text else []
    return [
        *text_parts,
        *(ToolCallPart(tool_name=call.name, args=call.arguments, tool_call_id=call.id) for call in calls),
    ]


def _serialize_response(response: ModelResponse) -> str:
    return ModelMessagesTypeAdapter.dump_json(
        [replace(response, usage=RequestUsage())], exclude_none=True
    ).decode()


def _to_response(message: AssistantMessage) -> ModelResponse:
    if message.opaque:
        try:
            responses = ModelMessagesTypeAdapter.validate_json(message.opaque)
        except ValidationError:
            responses = []  # written by another adapter, such as the text protocol: use text and calls
        if len(responses) == 1 and isinstance(responses[0], ModelResponse):
            return responses[0]
    return ModelResponse(parts=_plain_parts(message.text, message.calls), timestamp=EPOCH)
