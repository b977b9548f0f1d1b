"""Tool calling for models that have none: tools are told in the system prompt, calls are written as fenced blocks."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from coder.core.errors import ModelError
from coder.core.messages import (
    AssistantMessage,
    Delta,
    Message,
    Reply,
    Request,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from coder.core.ports.model import Model

GUIDE = """\
# Tools

You can use the tools below. To use one, write a block like this, and nothing after it:

```tool
{{"name": "{example}", "arguments": {arguments}}}
```

The block holds one JSON object: newlines inside strings are written as \\n. You may write several blocks. Then stop:
the results come with the next message. Never write a result yourself.{patching}
"""

PATCHING = """

To change files, write a unified diff as it is, without JSON; it is given to apply_patch:

```diff
--- a/path/of/file.py
+++ b/path/of/file.py
@@ -1,3 +1,3 @@
 a line that stays
-a line that goes
+a line that comes
```"""

PATCH_TOOL = "apply_patch"
PATCH_ARGUMENT = "diff"

BLOCK = re.compile(
    r"^[ \t]*(?:```+|~~~+)[ \t]*(?P<tag>[\w-]*)[^\n]*\n(?P<body>.*?)(?:^[ \t]*(?:```+|~~~+)[ \t]*$|\Z)"
    r"|<(?P<mark>tool_call|function_call)>(?P<marked>.*?)(?:</(?:tool_call|function_call)>|\Z)",
    re.DOTALL | re.MULTILINE,
)
"""A fenced block, or one in the tags that many open models were trained on; the last may lack its end."""

CALL_TAGS = {"tool", "tool_call", "tool_code", "tools", "function", "function_call"}
JSON_TAGS = {"json", ""}
"""Blocks with these tags are calls only where the JSON in them names a tool."""
DIFF_TAGS = {"diff", "patch"}


class ToolsUnsupported(ModelError):
    """The server refused the request because it came with tools."""


class TextProtocol:
    """Another model, spoken to without tools."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    def dearest(self, input_tokens: int, output_tokens: int) -> Decimal | None:
        return self._model.dearest(input_tokens, output_tokens)

    async def complete(self, request: Request, on_delta: Callable[[Delta], None]) -> Reply:
        """Ask in plain text and read the calls out of the answer; its raw text is kept, to be sent back unchanged."""
        reply = await self._model.complete(plain(request), on_delta)
        raw = reply.message.text
        text, calls = read(raw, request.tools, prefix=f"text_{len(request.messages)}")
        message = AssistantMessage(text=text, calls=calls, opaque=json.dumps({"raw": raw}) if calls else "")
        return Reply(
            message=message,
            usage=reply.usage,
            finish="calls" if calls and reply.finish == "stop" else reply.finish,
        )


class Adaptive:
    """Native tool calling until the server says that it has none, the text protocol from then on."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._plain = False

    @property
    def name(self) -> str:
        return self._model.name

    def dearest(self, input_tokens: int, output_tokens: int) -> Decimal | None:
        return self._model.dearest(input_tokens, output_tokens)

    async def complete(self, request: Request, on_delta: Callable[[Delta], None]) -> Reply:
        """Ask; where tools are refused, ask again in plain text."""
        if not self._plain:
            try:
                return await self._model.complete(request, on_delta)
            except ToolsUnsupported:
                self._plain = True
        return await TextProtocol(self._model).complete(request, on_delta)


def plain(request: Request) -> Request:
    """The same request without tools: their description in the system prompt, results as the person's words."""
    if not request.tools:
        return request
    system = "\n\n".join(part for part in (request.system, guide(request.tools)) if part)
    return request.model_copy(
        update={"system": system, "messages": tuple(_merged(request.messages)), "tools": ()}
    )


def guide(tools: Sequence[ToolSpec]) -> str:
    """How tools are used, and which there are."""
    first = tools[0]
    names = list(first.parameters.get("required") or first.parameters.get("properties", {}))
    head = GUIDE.format(
        example=first.name,
        arguments=json.dumps({name: "..." for name in names}),
        patching=PATCHING if any(tool.name == PATCH_TOOL for tool in tools) else "",
    )
    return head + "".join(
        f"\n## {tool.name}\n{tool.description}\n{_arguments(tool.parameters)}" for tool in tools
    )


def read(raw: str, tools: Sequence[ToolSpec], *, prefix: str) -> tuple[str, tuple[ToolCall, ...]]:
    """The prose and the calls of an answer; a block that cannot be read is passed on as it is, for the toolbox to refuse."""
    names = {tool.name for tool in tools}
    prose: list[str] = []
    calls: list[ToolCall] = []
    end = 0
    for block in BLOCK.finditer(raw):
        tag, body = (
            (block["tag"].lower(), block["body"]) if block["mark"] is None else ("tool", block["marked"])
        )
        if found := _call(tag, body, names):
            prose.append(raw[end : block.start()])
            end = block.end()
            calls.append(ToolCall(id=f"{prefix}_{len(calls)}", name=found[0], arguments=found[1]))
    return "".join([*prose, raw[end:]]).strip(), tuple(calls)


def _call(tag: str, body: str, names: set[str]) -> tuple[str, str] | None:
    """(name, arguments) of a block, or None where it is no call but part of the prose."""
    if tag in DIFF_TAGS:
        return (PATCH_TOOL, json.dumps({PATCH_ARGUMENT: body})) if PATCH_TOOL in names else None
    if tag not in CALL_TAGS | JSON_TAGS:
        return None
    written = _json(body)
    if isinstance(written, dict):
        name, arguments = _named(written)
        if tag in CALL_TAGS or name in names:
            return name or "tool", arguments
    if tag in CALL_TAGS:
        guessed = re.search(r'"(?:name|tool|function)"\s*:\s*"(\w+)"', body)
        return (guessed[1] if guessed else "tool"), body.strip()
    return None


def _named(written: dict[str, Any]) -> tuple[str, str]:
    """The name and arguments under any of the keys that models use for them; arguments may stand beside the name."""
    inner = written.get("function")
    written = {**written, **inner} if isinstance(inner, dict) else written
    name = next(
        (
            written[key]
            for key in ("name", "tool", "function", "tool_name")
            if isinstance(written.get(key), str)
        ),
        "",
    )
    key = next((key for key in ("arguments", "parameters", "args", "input") if key in written), None)
    arguments: object = (
        written[key]
        if key
        else {key: value for key, value in written.items() if value != name and key != "type"}
    )
    return name, arguments if isinstance(arguments, str) else json.dumps(arguments)


def _json(text: str) -> object:
    """Leniently: real newlines in strings, one comma too many, and words around the object are forgiven."""
    start = text.find("{")
    for candidate in (text[start:], re.sub(r",\s*([}\]])", r"\1", text[start:])):
        try:
            return json.JSONDecoder(strict=False).raw_decode(candidate)[0] if start >= 0 else None
        except (json.JSONDecodeError, RecursionError):
            continue
    return None


def _arguments(schema: Any) -> str:
    required = schema.get("required", [])
    return "".join(
        f"- {name} ({field.get('type', 'any')}{'' if name in required else ', optional'}): {field.get('description', '')}\n"
        for name, field in schema.get("properties", {}).items()
    )


def _merged(messages: Iterable[Message]) -> Iterator[Message]:
    """Roles in turn, as many chat templates insist: what follows a reply becomes one message."""
    heard: list[str] = []
    for message in messages:
        match message:
            case AssistantMessage():
                if heard:
                    yield UserMessage(text="\n\n".join(heard))
                    heard = []
                yield AssistantMessage(text=_raw(message))
            case UserMessage(text=text):
                heard.append(text)
            case ToolMessage(name=name, text=text, ok=ok):
                heard.append(f"{'Result' if ok else 'Error'} of {name}:\n{text}")
    if heard:
        yield UserMessage(text="\n\n".join(heard))


def _raw(message: AssistantMessage) -> str:
    """What the model wrote; calls that came another way are written as blocks."""
    try:
        kept = json.loads(message.opaque or "null")
    except json.JSONDecodeError:
        kept = None
    if isinstance(kept, dict) and isinstance(kept.get("raw"), str):
        return str(kept["raw"])
    blocks = (
        f'```tool\n{{"name": {json.dumps(call.name)}, "arguments": {call.arguments}}}\n```'
        for call in message.calls
    )
    return "\n\n".join([*([message.text] if message.text else []), *blocks])
