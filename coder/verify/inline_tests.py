"""Tests inside of sources: those of Rust modules, and the examples in docstrings of Python."""

import ast
import doctest
import re
from collections.abc import Iterator
from typing import NamedTuple

from coder.index.parsers import SyntaxNode, node_text, parse_syntax
from coder.python.source import Function, decode_text, parse_or_empty, split_lines

RUST, PYTHON = ".rs", ".py"
SUFFIXES = (RUST, PYTHON)


def inline_tests(path: str, text: str) -> str:
    """Return the tests in a source; empty if it has none."""
    if path.endswith(PYTHON):
        return "\n".join(
            f"{name}: {examples}"
            for name, part in _find_docstrings(text)
            if (examples := _examples(part.text))
        )
    data = text.encode()
    return "\n".join(
        data[part.start : part.end].decode("utf-8", "replace")
        for part in (_parts(data) if "test" in text else ())
        if isinstance(part, _TestItem)
    )


def replace_inline_tests(path: str, text: str, other: str, *, adds_names: bool = False) -> str:
    """Return a source with the tests of another version of it instead of its own.

    Those of modules and definitions that the source does not have are left out. If it `adds_names`, functions
    that only the other version has stand at the end with their examples, and say that they are not defined.
    """
    if path.endswith(PYTHON):
        return _replace_examples(text, other, adds_names=adds_names)
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
            case _InlineModule() if part.path in tests:
                edits.append((part.end, part.end, b"\n" + b"\n".join(tests[part.path]) + b"\n"))
            case _:
                pass
    for start, end, replacement in sorted(edits, reverse=True):
        data = data[:start] + replacement + data[end:]
    return decode_text(data)


# Rust


class _InlineModule(NamedTuple):
    """A module in a file, and the place after its last item."""

    path: str
    """Names of the enclosing modules, joined with `::`; empty for the file itself."""
    end: int


class _TestItem(NamedTuple):
    module: str
    start: int
    end: int


_TEST_ATTRIBUTE = re.compile(
    r"#\[\s*(?:cfg\s*\((?!.*\bnot\b).*\btest\b.*\)|(?:\w+::)*(?:test|rstest|test_case)\b.*)\s*\]", re.S
)


def _parts(data: bytes) -> Iterator[_InlineModule | _TestItem]:
    """Yield the outermost tests, and the modules that are no tests themselves."""
    root = parse_syntax(RUST[1:], data)
    pending: list[tuple[str, SyntaxNode, int]] = [("", root, len(data))]
    while pending:
        module, container, end = pending.pop()
        yield _InlineModule(module, end)
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


# Python


class _Docstring(NamedTuple):
    """The docstring of a definition, or the place where one would be."""

    text: str
    source: str
    """The literal as it is written; empty if there is none."""
    start: tuple[int, int]
    """Line, from 1, and byte of the literal, or of the first statement."""
    end: tuple[int, int]
    is_function: bool


def _find_docstrings(text: str) -> Iterator[tuple[str, _Docstring]]:
    """Yield what docstrings can document in a source, by dotted name; the module's name is empty."""
    module = parse_or_empty(text)
    pending: list[tuple[str, ast.Module | ast.ClassDef | Function]] = [("", module)]
    while pending:
        name, node = pending.pop(0)
        if not node.body:
            continue
        first = node.body[0]
        documented = ast.get_docstring(node, clean=False) or ""
        decorators: list[ast.expr] = getattr(first, "decorator_list", [])
        start = end = (min([first.lineno, *(mark.lineno for mark in decorators)]), first.col_offset)
        source = ""
        if documented:
            end = (first.end_lineno or first.lineno, first.end_col_offset or 0)
            source = ast.get_source_segment(text, first) or ""
        yield name, _Docstring(documented, source, start, end, isinstance(node, Function))
        if not isinstance(node, Function):
            pending += (
                (f"{name}.{child.name}".lstrip("."), child)
                for child in node.body
                if isinstance(child, ast.ClassDef | Function)
            )


def _examples(docstring: str) -> list[tuple[str, str]]:
    """Return the examples of a docstring with what they print; all of it if it is not written as required."""
    try:
        found = doctest.DocTestParser().get_examples(docstring)
    except ValueError:
        return [(docstring, "")]
    return [(example.source, example.want) for example in found]


def _replace_examples(text: str, other: str, *, adds_names: bool) -> str:
    own, others = dict(_find_docstrings(text)), dict(_find_docstrings(other))
    lines = [line.encode() for line in split_lines(text, keepends=True)]
    for name, part in sorted(own.items(), key=lambda item: item[1].start, reverse=True):
        new = others.get(name)
        if _examples(part.text) == (_examples(new.text) if new else []):
            continue
        source = (new.source if new else "") or '""'
        (start_line, start), (end_line, end) = part.start, part.end
        before, after = lines[start_line - 1][:start], lines[end_line - 1][end:]
        if not part.source:
            source += f"\n{' ' * start}" if not before.strip() else "; "
        lines[start_line - 1 : end_line] = [before + source.encode() + after]
    stubs = [
        f"\n\ndef {name}(*_, **__):\n    {part.source}\n"
        f"    raise NameError(\"name '{name}' is not defined\")\n"
        for name, part in others.items()
        if adds_names and name not in own and "." not in name and part.is_function and _examples(part.text)
    ]
    return b"".join(lines).decode() + "".join(stubs)
