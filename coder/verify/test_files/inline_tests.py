"""Tests inside of Rust source files: items under `#[cfg(test)]`, and functions marked as tests."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from coder.index.parsers import SyntaxNode, node_text, parse_syntax

SUFFIX = ".rs"
_TEST_ATTRIBUTE = re.compile(
    r"#\[\s*(?:cfg\s*\((?!.*\bnot\b).*\btest\b.*\)|(?:\w+::)*(?:test|rstest|test_case)\b.*)\s*\]", re.S
)


class _Module(NamedTuple):
    """A module in a file, and the place after its last item."""

    path: str
    """Names of the enclosing modules, joined with `::`; empty for the file itself."""
    end: int


class _TestItem(NamedTuple):
    """A test, with its attributes, and the module that contains it."""

    module: str
    start: int
    end: int


def has_inline_tests(text: str) -> bool:
    """Tell whether a Rust source contains tests."""
    return "test" in text and any(isinstance(part, _TestItem) for part in _parts(text.encode()))


def inline_tests(text: str) -> str:
    """Return the tests of a Rust source."""
    data = text.encode()
    return "\n".join(
        data[part.start : part.end].decode("utf-8", "replace")
        for part in _parts(data)
        if isinstance(part, _TestItem)
    )


def without_inline_tests(text: str) -> str:
    """Return a Rust source without its tests."""
    return replace_inline_tests(text, "")


def replace_inline_tests(text: str, other: str) -> str:
    """Return a Rust source with the tests of another version of it instead of its own.

    Tests in modules that the source does not have are left out.
    """
    data, other_data = text.encode(), other.encode()
    tests: dict[str, list[bytes]] = {}
    for part in _parts(other_data):
        if isinstance(part, _TestItem):
            tests.setdefault(part.module, []).append(other_data[part.start : part.end])
    edits: list[tuple[int, int, bytes]] = []
    for part in _parts(data):
        match part:
            case _TestItem():
                edits.append((part.start, part.end, b""))
            case _Module() if part.path in tests:
                edits.append((part.end, part.end, b"\n" + b"\n".join(tests[part.path]) + b"\n"))
            case _:
                pass
    for start, end, replacement in sorted(edits, reverse=True):
        data = data[:start] + replacement + data[end:]
    return data.decode("utf-8", "replace")


def _parts(data: bytes) -> Iterator[_Module | _TestItem]:
    """Yield the outermost tests, and the modules that are no tests themselves."""
    root = parse_syntax(SUFFIX[1:], data)
    pending: list[tuple[str, SyntaxNode, int]] = [("", root, len(data))]
    while pending:
        module, container, end = pending.pop()
        yield _Module(module, end)
        attributes: list[SyntaxNode] = []
        for item in container.named_children:
            if item.type == "attribute_item":
                attributes.append(item)
                continue
            if any(_TEST_ATTRIBUTE.match(node_text(attribute)) for attribute in attributes):
                yield _TestItem(module, attributes[0].start_byte, item.end_byte)
            elif item.type == "mod_item" and (body := item.child_by_field_name("body")) is not None:
                name = node_text(item.child_by_field_name("name"))
                pending.append((f"{module}::{name}".removeprefix("::"), body, body.end_byte - 1))
            attributes = attributes if item.type.endswith("comment") else []
