"""Grammar of replies in the text protocol, in llama.cpp's notation (GBNF): every call can be parsed.

https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from coder.core.messages import ToolSpec

CODE_TAGS = (
    *("diff", "python", "javascript", "typescript", "go", "rust", "java", "c", "cpp", "ruby", "php", "sql"),
    *("sh", "console", "text", "toml", "yaml", "ini", "xml", "html", "css", "markdown"),
)
"""Tags of fenced blocks that are no calls in JSON; `diff` is one, whose text needs no escapes."""
CALL_MARKS = ("tool_call>", "function_call>")
"""Text after `<` that opens a call in other protocols."""
REPLY_RULES = r"""
root ::= item ("\n" item)*
item ::= line | code | call
line ::= [ \t]* (start rest*)?
start ::= [^ \t`~<\n] | ("`" | "``") ([^`<\n] | angle) | ("~" | "~~") ([^~<\n] | angle) | angle
rest ::= [^<\n] | angle
code ::= "```" tag "\n" (line "\n")* "```"
call ::= "```tool\n{\"name\": " named "}\n```"
value ::= object | array | string | number | boolean | "null"
object ::= "{" (string ": " value (", " string ": " value)*)? "}"
array ::= "[" (value (", " value)*)? "]"
strings ::= "[" (string (", " string)*)? "]"
string ::= "\"" ([^"\\\x00-\x1F\x7F] | "\\" ["\\/bfnrt])* "\""
number ::= integer ("." [0-9]+)?
integer ::= "-"? ("0" | [1-9] [0-9]*)
boolean ::= "true" | "false"
"""
ARGUMENTS_KEY = ', "arguments": '
SIMPLE_TYPES = {"string": "string", "integer": "integer", "number": "number", "boolean": "boolean"}


def reply_grammar(tools: Sequence[ToolSpec]) -> str:
    """Return the grammar of replies that contain prose, fenced code, and calls of these tools only.

    A line of prose opens no block, and no text the call of another protocol. Arguments have the order of
    the schema, required ones first.
    """
    tools_by_rule = {f"arguments-{number}": tool for number, tool in enumerate(tools)}
    rules = {
        "tag": " | ".join(map(_literal, CODE_TAGS)),
        "angle": f'"<" ({" | ".join(_differing_texts(CALL_MARKS))})',
        "named": " | ".join(
            f"{_literal(json.dumps(tool.name) + ARGUMENTS_KEY)} {rule}"
            for rule, tool in tools_by_rule.items()
        ),
        **{rule: _arguments_rule(tool.parameters) for rule, tool in tools_by_rule.items()},
    }
    return REPLY_RULES.lstrip() + "".join(f"{name} ::= {rule}\n" for name, rule in rules.items())


def _differing_texts(words: Sequence[str]) -> Iterator[str]:
    """Yield rules for the shortest texts that begin none of these words; their first letters differ."""
    yield f"[^{''.join(word[0] for word in words)}<\\n]"
    for word in words:
        for length in range(1, len(word)):
            yield f'"{word[:length]}" [^{word[length]}<\\n]'


def _arguments_rule(schema: Mapping[str, Any]) -> str:
    fields: Mapping[str, Any] = schema.get("properties", {})
    required = [name for name in fields if name in schema.get("required", ())]
    optional = [name for name in fields if name not in required]
    pairs = {name: f"{_literal(json.dumps(name) + ': ')} {_value_rule(fields[name])}" for name in fields}
    if required:
        members = ' ", " '.join(pairs[name] for name in required) + _optional_tail(pairs, optional)
        return f'"{{" {members} "}}"'
    # Any of them may be the first.
    members = " | ".join(
        pairs[name] + _optional_tail(pairs, optional[at + 1 :]) for at, name in enumerate(optional)
    )
    return f'"{{" ({members})? "}}"' if optional else _literal("{}")


def _optional_tail(pairs: Mapping[str, str], names: Sequence[str]) -> str:
    return "".join(f' (", " {pairs[name]})?' for name in names)


def _value_rule(schema: Mapping[str, Any]) -> str:
    if isinstance(choices := schema.get("enum"), list):
        return f"({' | '.join(_literal(json.dumps(choice)) for choice in choices)})"
    kind = schema.get("type")
    if kind == "array" and schema.get("items", {}).get("type") == "string":
        return "strings"
    return SIMPLE_TYPES.get(str(kind), kind if kind in ("array", "object") else "value")


def _literal(text: str) -> str:
    """Return a rule that matches this text alone."""
    return json.dumps(text)
