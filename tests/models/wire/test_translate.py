from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.usage import RequestUsage

from coder.core.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from coder.models.provider import to_assistant_message, to_model_messages

CALL = ToolCall(id="1", name="read", arguments='{"path": "a.py"}')
PLAIN: list[ModelResponsePart] = [
    TextPart(content="I look."),
    ToolCallPart(tool_name="read", args='{"path": "a.py"}', tool_call_id="1"),
]
SIGNED: list[ModelResponsePart] = [
    ThinkingPart(content="Hm.", signature="seal", provider_name="anthropic"),
    *PLAIN,
]


def test_keeps_plain_reply_plain() -> None:
    assert to_assistant_message(ModelResponse(parts=PLAIN)) == AssistantMessage(text="I look.", calls=(CALL,))


def test_signed_reasoning_round_trips() -> None:
    message = to_assistant_message(
        ModelResponse(parts=SIGNED, provider_name="anthropic", usage=RequestUsage(input_tokens=5))
    )
    assert (message.text, message.calls) == ("I look.", (CALL,))
    (response,) = to_model_messages([message])
    assert isinstance(response, ModelResponse)
    assert (list(response.parts), response.provider_name) == (SIGNED, "anthropic")


def test_serializes_message_deterministically() -> None:
    message = to_assistant_message(ModelResponse(parts=SIGNED))
    conversation: list[Message] = [
        UserMessage(text="Fix it."),
        message,
        ToolMessage(call_id="1", name="read", text="def f()"),
    ]
    once, again = (ModelMessagesTypeAdapter.dump_json(to_model_messages(conversation)) for _ in range(2))
    assert once == again
    longer = ModelMessagesTypeAdapter.dump_json(to_model_messages([*conversation, message]))
    assert longer.startswith(once[:-1])


def test_ignores_data_of_other_adapters() -> None:
    for opaque in ('{"raw": "I look."}', "not JSON", "[]", '[{"kind": "response"}]'):
        (response,) = to_model_messages([AssistantMessage(text="I look.", calls=(CALL,), opaque=opaque)])
        assert list(response.parts) == PLAIN


def test_joins_results_and_remarks_into_one_request() -> None:
    first, reply, second = to_model_messages(
        [
            UserMessage(text="Fix it."),
            AssistantMessage(calls=(CALL,)),
            ToolMessage(call_id="1", name="read", text="def f()"),
            UserMessage(text="Hurry."),
        ]
    )
    assert [part.part_kind for part in first.parts] == ["user-prompt"]
    assert [part.part_kind for part in reply.parts] == ["tool-call"]
    assert [part.part_kind for part in second.parts] == ["tool-return", "user-prompt"]
