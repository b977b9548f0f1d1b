"""Edits of JSON files that keep every other byte."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

SPACE = " \t\r\n"
DECODER = json.JSONDecoder()


@dataclass(frozen=True, kw_only=True)
class JsonSpan:
    """A value in a JSON text."""

    start: int
    """Of the member where the value has a key."""
    value_start: int
    end: int
    key: str = ""
    """Of a member of an object."""
    kind: Literal["object", "array", "scalar"]
    children: tuple["JsonSpan", ...] = ()

    def member(self, key: str) -> "JsonSpan | None":
        """Return the last member of this name, the one that counts."""
        return next((child for child in reversed(self.children) if child.key == key), None)


def parse_spans(text: str) -> JsonSpan:
    """Return the root value.

    Raises:
        ValueError: the text is no JSON.
    """
    json.loads(text)
    return _parse_value(text, _skip(text, 0))


def append_child(text: str, container: JsonSpan, value: Any, *, key: str = "") -> str:
    """Append a member to an object, or an element to an array, in the style of the text."""
    newline = "\r\n" if "\r\n" in text else "\n"
    unit = _indent_unit(text)
    is_compact = "\n" not in text.strip()
    line = text[text.rfind("\n", 0, container.value_start) + 1 : container.value_start]
    outer = line[: len(line) - len(line.lstrip(" \t"))]
    label = f"{json.dumps(key, ensure_ascii=False)}: " if container.kind == "object" else ""
    if is_compact and container.children:
        last = container.children[-1].end
        return f"{text[:last]}, {label}{json.dumps(value, ensure_ascii=False)}{text[last:]}"
    body = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", f"{newline}{outer}{unit}")
    member = f"{newline}{outer}{unit}{label}{body}"
    if container.children:
        last = container.children[-1].end
        return f"{text[:last]},{member}{text[last:]}"
    return f"{text[: container.value_start + 1]}{member}{newline}{outer}{text[container.end - 1 :]}"


def remove_child(text: str, container: JsonSpan, child: JsonSpan) -> str:
    """Remove a member or element with its comma."""
    number = container.children.index(child)
    if len(container.children) == 1:
        return text[: container.value_start + 1] + text[container.end - 1 :]
    if number > 0:
        return text[: container.children[number - 1].end] + text[child.end :]
    return text[: child.start] + text[container.children[1].start :]


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in SPACE:
        position += 1
    return position


def _parse_value(text: str, start: int, *, member_start: int | None = None, key: str = "") -> JsonSpan:
    first = start if member_start is None else member_start
    if text[start] not in "{[":
        _, end = DECODER.raw_decode(text, start)
        return JsonSpan(start=first, value_start=start, end=end, key=key, kind="scalar")
    kind: Literal["object", "array"] = "object" if text[start] == "{" else "array"
    children = tuple(_parse_children(text, start + 1, kind))
    end = _skip(text, children[-1].end if children else start + 1) + 1
    return JsonSpan(start=first, value_start=start, end=end, key=key, kind=kind, children=children)


def _parse_children(text: str, position: int, kind: str) -> Iterator[JsonSpan]:
    position = _skip(text, position)
    while text[position] not in "}]":
        start, key = position, ""
        if kind == "object":
            key, position = DECODER.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)
        child = _parse_value(text, position, member_start=start, key=key)
        yield child
        position = _skip(text, child.end)
        if text[position] == ",":
            position = _skip(text, position + 1)


def _indent_unit(text: str) -> str:
    """Return the indentation of the first indented line; two spaces if there is none."""
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        if indent and line.strip():
            return indent
    return "  "
