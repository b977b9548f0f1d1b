import json

import pytest

from coder.core.values import (
    AssistantMessage,
    Message,
    Reply,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from coder.models.text_protocol import parse_reply, read_calls, strip_tools
from tests.models.contract import ASKED, READ

PATCH = ToolSpec(
    name="apply_patch",
    description="Change files.",
    parameters={"type": "object", "properties": {"diff": {"type": "string"}}},
)
TOOLS = (READ, PATCH)
DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"


def calls(raw: str) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in parse_reply(raw, TOOLS, prefix="c")[1]]


@pytest.mark.parametrize(
    "raw",
    [
        '```json\n{"name": "read", "arguments": {"path": "a.py"}}\n```',
        '```\n{"name": "read", "parameters": {"path": "a.py"}}\n```',
        '```tool_call\n{"tool": "read", "args": {"path": "a.py"}}\n```',
        '```tool\n{"name": "read", "path": "a.py"}\n```',
        '```tool\n{"type": "function", "function": {"name": "read", "arguments": {"path": "a.py"}}}\n```',
        '```tool\n{"name": "read", "arguments": {"path": "a.py",},}\n```',
        '```tool\nHere you are: {"name": "read", "arguments": {"path": "a.py"}}\n```',
        '```tool\n{"name": "read", "arguments": {"path": "a.py"}}',
        '  ```tool\n{"name": "read", "arguments": {"path": "a.py"}}\n  ```',
        '~~~tool\n{"name": "read", "arguments": {"path": "a.py"}}\n~~~',
        '<tool_call>\n{"name": "read", "arguments": {"path": "a.py"}}\n</tool_call>',
        '<tool_call>{"name": "read", "arguments": "{\\"path\\": \\"a.py\\"}"}',
    ],
)
def test_accepts_malformed_calls_of_weak_models(raw: str) -> None:
    ((name, arguments),) = calls(raw)
    assert (name, json.loads(arguments)) == ("read", {"path": "a.py"})


def test_a_diff_block_is_a_patch() -> None:
    ((name, arguments),) = calls(f"So:\n```diff\n{DIFF}```\n")
    assert (name, json.loads(arguments)) == ("apply_patch", {"diff": DIFF})


@pytest.mark.parametrize(
    "raw",
    [
        "```python\nread('a.py')\n```",
        '```json\n{"name": "coder", "version": 1}\n```',
        "```\nplain\n```",
        "",
        "no block at all",
    ],
)
def test_other_blocks_are_prose(raw: str) -> None:
    assert parse_reply(raw, TOOLS, prefix="c") == (raw, ())


def test_lists_tools_in_system_prompt_only() -> None:
    request = strip_tools(ASKED.model_copy(update={"tools": TOOLS}))
    assert request.tools == ()
    for part in (
        "You fix bugs.",
        "## read",
        "Read a window of a file.",
        "- path (string): The file.",
        "```tool",
        "```diff",
    ):
        assert part in request.system
    assert "```diff" not in strip_tools(ASKED).system


def test_sends_reply_unchanged_and_results_as_user_text() -> None:
    raw = 'I look.\n```json\n{"name":"read","arguments":{"path":"a.py"}}\n```\n'
    reply = read_calls(Reply(message=AssistantMessage(text=raw)), ASKED)
    (call,) = reply.message.calls
    result = ToolMessage(call_id=call.id, name="read", text="7: return 1", ok=True)
    error = ToolMessage(call_id="2", name="read", text="no such file", ok=False)
    more: tuple[Message, ...] = (*ASKED.messages, reply.message, result, error, UserMessage(text="Go on."))
    sent = strip_tools(ASKED.model_copy(update={"messages": more}))
    assert sent.messages == (
        UserMessage(text="It is broken."),
        AssistantMessage(text=raw),
        UserMessage(text="Result of read:\n7: return 1\n\nError of read:\nno such file\n\nGo on."),
    )
    assert sent.system == strip_tools(ASKED).system


def test_writes_native_calls_as_blocks() -> None:
    native = AssistantMessage(
        text="I look.", calls=(ToolCall(id="1", name="read", arguments='{"path": "a.py"}'),)
    )
    (message,) = strip_tools(ASKED.model_copy(update={"messages": (native,)})).messages
    assert message == AssistantMessage(
        text='I look.\n\n```tool\n{"name": "read", "arguments": {"path": "a.py"}}\n```'
    )
    assert isinstance(message, AssistantMessage)
    assert parse_reply(message.text, TOOLS, prefix="c")[1] == (
        ToolCall(id="c_0", name="read", arguments='{"path": "a.py"}'),
    )
