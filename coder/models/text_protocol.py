"""Tool calling in plain text for models without it: tools in the system prompt, calls as fenced blocks."""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from coder.core.errors import ModelError
from coder.core.text import parse_json
from coder.core.values import (
    AssistantMessage,
    Image,
    Message,
    Reply,
    Request,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)

GUIDE_TEMPLATE = """\
# Tools

You can use the tools below. To use one, write a block like this, and nothing after it:

```tool
{{"name": "{example}", "arguments": {arguments}}}
```

The block holds one JSON object: newlines inside strings are written as \\n. You may write several blocks. \
Then stop:
the results come with the next message. Never write a result yourself.{patching}
"""
PATCH_GUIDE = """

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
PYTHON_CHARACTERS = 4_000
CALL_BLOCK = re.compile(
    r"(?P<thought><think(?:ing)?>.*?</think(?:ing)?>)"
    r"|^[ \t]*(?P<fence>```+|~~~+)[ \t]*(?P<tag>[\w-]*)[^\n]*\n"
    r"(?P<body>.*?)(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)"
    r"|(?<![`\w])(?:<\|?(?:tool_?calls?|function_?calls?|tool_use)\|?>|\[TOOL_CALLS\]|<\|python_tag\|>"
    r"|<[\uff5c|]tool[\u2581_]calls?[\u2581_]begin[\uff5c|]>|<\|tool_calls?_section_begin\|>)"
    r"(?P<marked>.*?)(?:</(?:tool_?calls?|function_?calls?|tool_use)>(?![ \t\n]*</)"
    r"|<[|/]+tool_?calls?\|?>"
    r"|<[\uff5c|]tool[\u2581_]calls[\u2581_]end[\uff5c|]>|<\|tool_calls?_section_end\|>|<\|(?:eom|eot)_id\|>|\Z)"
    r"|(?<![`\w])<function=[^>\n]+>.*?(?:</function>|\Z)"
    r"|(?<![`\w])<invoke name=[^>\n]+>.*?(?:</invoke>|\Z)"
    r"|(?:<\|start\|>assistant)?<\|channel\|>\w+ to=[^\n]*?<\|message\|>.*?(?:<\|call\|>|\Z)",
    re.DOTALL | re.MULTILINE,
)
"""A fenced block, or a call in the marks of an open model's training; the last may lack its end.

Hermes and Qwen, GLM, Granite, Mistral, Llama, DeepSeek, Kimi, Anthropic's XML, and gpt-oss (harmony).
"""
CALL_HEAD = re.compile(
    r"<function=(?P<function>[^>\n]+)>|<invoke name=[\"'](?P<invoke>[^\"'>\n]+)[\"']>"
    r"|\bto=(?P<harmony>[\w.]+)[^\n]*?<\|message\|>"
    r"|<[\uff5c|]tool[\u2581_]call[\u2581_]begin[\uff5c|]>(?:function<[\uff5c|]tool[\u2581_]sep[\uff5c|]>)?(?P<begun>[\w.]+)"
)
PARAMETER = re.compile(
    r"<parameter(?:=| name=[\"'])(?P<key>[^>\"'\n]+)[\"']?(?: \w+=[^>\n]*)?>"
    r"(?:(?P<value>(?:(?!<parameter[= ]).)*?)</parameter>"
    r"|(?P<open>(?:(?!<parameter[= ]|</function>|</invoke>).)*))"
    r"|<arg_key>(?P<arg>.*?)</arg_key>\s*<arg_value>(?P<arg_value>.*?)</arg_value>"
    r"|<(?P<element>\w+)>(?P<content>.*?)</(?P=element)>",
    re.DOTALL,
)
TAG_PREFIX = re.compile(r"(?<=<)(/?)([\uff5c|])DSML\2")
"""DeepSeek's mark in front of the names of Anthropic's elements."""
STRAY_END = re.compile(r"\s*</(?:tool_?calls?|function_?calls?)>\s*\Z")
OBJECT_START = re.compile(r"^[ \t]*(?=[{\[])", re.MULTILINE)
CALL_TAGS = {"tool", "tool_call", "tool_code", "tools", "function", "function_call", "tool_use"}
JSON_TAGS = {"json", "xml", ""}
"""Blocks with these tags are calls only if they name a tool."""
DIFF_TAGS = {"diff", "patch"}


class ToolsUnsupported(ModelError):
    """The server rejected the request because it contained tools."""


def read_calls(reply: Reply, request: Request) -> Reply:
    """Return a reply to a request that was stripped of its tools, with the calls that its text holds.

    The raw text is kept, to be sent back unchanged.
    """
    raw = reply.message.text
    is_cut = reply.finish == "length"
    text, calls = parse_reply(raw, request.tools, prefix=f"text_{len(request.messages)}", is_cut=is_cut)
    message = AssistantMessage(text=text, calls=calls, opaque=json.dumps({"raw": raw}) if calls else "")
    finish = "calls" if calls and reply.finish == "stop" else reply.finish
    return reply.model_copy(update={"message": message, "finish": finish})


def strip_tools(request: Request) -> Request:
    """Return the request without tools.

    They are described in the system prompt, and results become user messages.
    """
    if not request.tools:
        return request
    system = "\n\n".join(part for part in (request.system, tool_guide(request.tools)) if part)
    return request.model_copy(
        update={"system": system, "messages": tuple(_merge_turns(request.messages)), "tools": ()}
    )


def tool_guide(tools: Sequence[ToolSpec]) -> str:
    """Return the description of the tools and of the call format."""
    example_tool = tools[0]
    names = list(example_tool.parameters.get("required") or example_tool.parameters.get("properties", {}))
    head = GUIDE_TEMPLATE.format(
        example=example_tool.name,
        arguments=json.dumps({name: "..." for name in names}),
        patching=PATCH_GUIDE if any(tool.name == PATCH_TOOL for tool in tools) else "",
    )
    return head + "".join(
        f"\n## {tool.name}\n{tool.description}\n{_describe_arguments(tool.parameters)}" for tool in tools
    )


def parse_reply(
    raw: str, tools: Sequence[ToolSpec], *, prefix: str, is_cut: bool = False
) -> tuple[str, tuple[ToolCall, ...]]:
    """Parse prose and calls of an answer.

    A block that cannot be parsed is passed on unchanged, for the session to refuse. One without its end is
    no call in a reply that was cut at its limit.
    """
    raw = TAG_PREFIX.sub(r"\1", raw)
    names = {tool.name for tool in tools}
    prose: list[str] = []
    calls: list[ToolCall] = []
    end = 0
    for block in CALL_BLOCK.finditer(raw):
        found = () if is_cut and block.end() == len(raw) else _block_calls(block, names)
        if found:
            prose.append(raw[end : block.start()])
            end = block.end()
        for name, arguments in found:
            calls.append(ToolCall(id=f"{prefix}_{len(calls)}", name=name, arguments=arguments))
    return "".join([*prose, raw[end:]]).strip(), tuple(calls)


def written_calls(reply: Reply, request: Request) -> Reply:
    """Return a reply without calls with those that it holds as text, as some servers pass them on.

    Marked blocks are calls, as is a block for calls at the end; JSON is one if it names a tool, and beside
    prose only if that takes its arguments, since an answer may show such text.
    """
    message = reply.message
    if message.calls or not request.tools or not message.text.strip():
        return reply
    prefix = f"text_{len(request.messages)}"
    raw = TAG_PREFIX.sub(r"\1", message.text)
    text, calls = parse_reply(raw, request.tools, prefix=prefix, is_cut=reply.finish == "length")
    if not (calls and any(_is_marked(match) for match in CALL_BLOCK.finditer(raw.rstrip()))):
        specs = {tool.name: tool for tool in request.tools}
        content = message.text.strip()
        fence = CALL_BLOCK.fullmatch(content)
        if fence and (fence["tag"] or "").lower() in JSON_TAGS:
            content = (fence["body"] or content).strip()
        if not calls:
            text, calls = _bare_calls(content, specs, prefix=prefix)
        calls = tuple(
            call
            for call in calls
            if call.name in specs and (not text or _fits(call.arguments, specs[call.name]))
        )
        if not calls or any(match["tag"] in DIFF_TAGS for match in CALL_BLOCK.finditer(message.text)):
            return reply
    message = message.model_copy(update={"text": STRAY_END.sub("", text), "calls": calls, "opaque": ""})
    return reply.model_copy(
        update={"message": message, "finish": "calls" if reply.finish == "stop" else reply.finish}
    )


def _is_marked(block: re.Match[str]) -> bool:
    """Tell whether a block can be nothing but calls: by its marks, or at the end by its tag."""
    return block["tag"] is None or (block.end() == len(block.string) and block["tag"].lower() in CALL_TAGS)


def _bare_calls(text: str, specs: Mapping[str, ToolSpec], *, prefix: str) -> tuple[str, tuple[ToolCall, ...]]:
    """Return the prose of a reply and the calls at its end: JSON, or an element that is named like a tool."""
    prose, found = text, list[tuple[str, str]]()
    if (element := re.fullmatch(r"<(\w+)>(.*)</\1>", text, re.DOTALL)) and element[1] in specs:
        prose, found = "", [(element[1], _xml_arguments(element[2]))]
    elif element and element[1] == "tools":  # Qwen's list of tools, in which it writes calls
        prose, found = "", _body_calls(element[2], "", set(specs))
    elif text.endswith(("}", "]")) and (start := OBJECT_START.search(text)):
        prose, found = text[: start.start()].strip(), _body_calls(text[start.end() :], "", set(specs))
    return prose, tuple(
        ToolCall(id=f"{prefix}_{index}", name=name, arguments=arguments)
        for index, (name, arguments) in enumerate(found)
    )


def _fits(arguments: str, tool: ToolSpec) -> bool:
    """Return whether these arguments have the names that the schema of the tool asks for."""
    try:
        values = parse_json(arguments)
    except (ValueError, RecursionError):
        return False
    names = set(values) if isinstance(values, dict) else {""}
    return names <= set(tool.parameters.get("properties", {})) and names >= set(
        tool.parameters.get("required", ())
    )


def _block_calls(block: re.Match[str], names: set[str]) -> list[tuple[str, str]]:
    """Return name and arguments of each call of a block; empty if it is part of the prose."""
    if block["thought"] is not None:
        return []
    if block["tag"] is None:
        return _marked_calls(block[0] if block["marked"] is None else block["marked"], names)
    tag, body = block["tag"].lower(), block["body"]
    if tag in DIFF_TAGS:
        return [(PATCH_TOOL, json.dumps({PATCH_ARGUMENT: body}))] if PATCH_TOOL in names else []
    if tag in CALL_TAGS:
        return _marked_calls(body, names)
    if tag not in JSON_TAGS:
        return []
    return [call for call in _body_calls(body, "", names) if call[0] in names]


def _marked_calls(body: str, names: set[str]) -> list[tuple[str, str]]:
    """Return the calls of a body that can be nothing else, if need be with its raw text as arguments."""
    heads = list(CALL_HEAD.finditer(body))
    if not heads:
        if found := _body_calls(body, "", names):
            return [(name or "tool", arguments) for name, arguments in found]
        match = re.search(r'"(?:name|tool|function)"\s*:\s*"(\w+)"', body)
        return [(match[1] if match else "tool", body.strip())]
    calls: list[tuple[str, str]] = []
    for head, end in zip(heads, [*(head.start() for head in heads[1:]), len(body)], strict=True):
        name = next(name for name in head.groups() if name).removeprefix("functions.").strip()
        text = body[head.end() : end]
        calls += _body_calls(text, name, names) or [(name, text.strip())]
    return calls


def _body_calls(body: str, name: str, names: set[str]) -> list[tuple[str, str]]:
    """Return the calls of a body; `name` if it holds the arguments alone."""
    stripped = body.strip()
    opening = re.match(r"(\w+)\s*(?:\[ARGS\]\s*)?(?=[{<])", stripped)
    if not name and opening and opening[1] in names:  # Mistral's and GLM's `name{...}` and `name<arg_key>`
        name, stripped = opening[1], stripped[opening.end() :]
    if name and PARAMETER.search(stripped) and not stripped.startswith("{"):
        return [(name, _xml_arguments(stripped))]
    content = _parse_json(stripped)
    if name:
        return [(name, json.dumps(content))] if isinstance(content, dict) else []
    if isinstance(content, dict) and isinstance(content.get("tool_calls"), list):
        content = content["tool_calls"]
    values = content if isinstance(content, list) else [content]
    objects = [value for value in values if isinstance(value, dict)]
    if objects and len(objects) == len(values):
        return [_call_fields(value) for value in objects]
    element = re.fullmatch(r"<(\w+)>(.*)</\1>", stripped, re.DOTALL)
    if element and element[1] in names:
        return [(element[1], _xml_arguments(element[2]))]
    return _python_calls(stripped, names)


def _xml_arguments(text: str) -> str:
    """Return the arguments that elements hold; a value that is JSON of another type than text is parsed."""
    values: dict[str, object] = {}
    for match in PARAMETER.finditer(text):
        key = next(key for key in (match["key"], match["arg"], match["element"]) if key is not None)
        unclosed = None if match["open"] is None else match["open"].strip()
        values_found = (match["value"], unclosed, match["arg_value"], match["content"])
        value = next(value for value in values_found if value is not None)
        values[key.strip()] = _plain_value(value)
    return json.dumps(values)


def _plain_value(text: str) -> object:
    """Return the value of an element: a number, a truth value, a list or an object, else the text."""
    if re.fullmatch(r"\s*(?:-?\d{1,15}|true|false|null|\[.*\]|\{.*\})\s*", text, re.DOTALL):
        try:
            return parse_json(text)
        except (ValueError, RecursionError):
            pass
    text = text.removeprefix("\n")
    return text if text.count("\n") > 1 else text.removesuffix("\n")


def _python_calls(text: str, names: set[str]) -> list[tuple[str, str]]:
    """Return the calls of an expression such as `[read(path="a.py")]`, as Llama and Gemma write them."""
    try:
        node = ast.parse(text[:PYTHON_CHARACTERS], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    nodes = node.elts if isinstance(node, ast.List) else [node]
    calls: list[tuple[str, str]] = []
    for inner in nodes:
        match inner:
            case ast.Call(func=ast.Name(id="print"), args=[printed]):  # Gemma prints results
                inner = printed
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id in names:
            try:
                arguments = {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in inner.keywords}
                calls.append((inner.func.id, json.dumps(arguments)))
            except (ValueError, TypeError):
                return []
        else:
            return []
    return calls


def _call_fields(content: dict[str, Any]) -> tuple[str, str]:
    """Return name and arguments under any of the keys that models use for them.

    Arguments may also be beside the name.
    """
    inner = content.get("function")
    content = {**content, **inner} if isinstance(inner, dict) else content
    name = next(
        (
            content[key]
            for key in ("name", "tool", "function", "tool_name")
            if isinstance(content.get(key), str)
        ),
        "",
    )
    key = next((key for key in ("arguments", "parameters", "args", "input") if key in content), None)
    arguments: object = (
        content[key]
        if key
        else {key: value for key, value in content.items() if value != name and key != "type"}
    )
    return name, arguments if isinstance(arguments, str) else json.dumps(arguments)


def _parse_json(text: str) -> object:
    """Parse a JSON object or list leniently; None on failure, a list if several objects follow each other.

    Newlines in strings, a trailing comma and words around the object are accepted.
    """
    start = min((at for at in map(text.find, "{[") if at >= 0), default=-1)
    for candidate in (text[start:], re.sub(r",\s*([}\]])", r"\1", text[start:])):
        values: list[object] = []
        rest = candidate if start >= 0 else ""
        try:
            while rest.startswith("{") or (rest and not values):
                value, end = json.JSONDecoder(strict=False).raw_decode(rest)
                values.append(value)
                rest = rest[end:].lstrip(" \t\r\n,;")
        except (json.JSONDecodeError, RecursionError):
            if not values:
                continue
        return values[0] if len(values) == 1 else values or None
    return None


def _describe_arguments(schema: Any) -> str:
    required = schema.get("required", [])
    return "".join(
        f"- {name} ({field.get('type', 'any')}{'' if name in required else ', optional'}): "
        f"{field.get('description', '')}\n"
        for name, field in schema.get("properties", {}).items()
    )


def _merge_turns(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield messages with alternating roles, as many chat templates require.

    All messages between two replies become one.
    """
    texts: list[str] = []
    images: list[Image] = []
    for message in messages:
        match message:
            case AssistantMessage():
                if texts:
                    yield UserMessage(text="\n\n".join(texts), images=tuple(images))
                    texts, images = [], []
                yield AssistantMessage(text=_raw_text(message))
            case UserMessage(text=text):
                texts.append(text)
                images += message.images
            case ToolMessage(name=name, text=text, ok=ok):
                texts.append(f"{'Result' if ok else 'Error'} of {name}:\n{text}")
    if texts:
        yield UserMessage(text="\n\n".join(texts), images=tuple(images))


def _raw_text(message: AssistantMessage) -> str:
    """Return the text that the model wrote; calls made in another way are formatted as blocks."""
    try:
        stored = parse_json(message.opaque or "null")
    except json.JSONDecodeError:
        stored = None
    if isinstance(stored, dict) and isinstance(stored.get("raw"), str):
        return str(stored["raw"])
    blocks = (
        f'```tool\n{{"name": {json.dumps(call.name)}, "arguments": {call.arguments}}}\n```'
        for call in message.calls
    )
    return "\n\n".join([*([message.text] if message.text else []), *blocks])
