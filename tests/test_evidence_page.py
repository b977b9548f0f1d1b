"""Documentation of evidence.json in docs/evidence.md: every field of every part, and no other."""

import re
import types
import typing
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, Literal

from coder.core.attestation import FORMAT, Attestation
from coder.core.values import Value

PAGE = (Path(__file__).parents[1] / "docs" / "evidence.md").read_text(encoding="utf-8")
WORDS = {
    str: "text",
    int: "number",
    float: "number",
    bool: "true or false",
    datetime: "time, UTC, ISO 8601",
    Decimal: "number as text",
}


def part_models() -> list[type[Value]]:
    """Return the parts, the whole first, in the order in which they occur."""
    parts: list[type[Value]] = [Attestation]
    for model in parts:
        met = [part for field in model.model_fields.values() for part in parts_of(field.annotation)]
        parts += [part for part in dict.fromkeys(met) if part not in parts]
    return parts


def parts_of(annotation: Any) -> list[type[Value]]:
    if isinstance(annotation, type) and issubclass(annotation, Value):
        return [annotation]
    return [part for inner in typing.get_args(annotation) for part in parts_of(inner)]


def json_type(annotation: Any) -> str:
    """Return a type as a reader of JSON sees it."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return " or ".join("null" if member is type(None) else json_type(member) for member in inner)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in inner)
    if origin is tuple and inner[-1] is Ellipsis:
        return f"list of {json_type(inner[0])}"
    if origin is tuple:
        return f"[{', '.join(map(json_type, inner))}]"
    if origin is not None and issubclass(origin, Mapping):
        return f"object of {json_type(inner[1])}"
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return ", ".join(f"`{member.value}`" for member in annotation)
    if isinstance(annotation, type) and issubclass(annotation, Value):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    return WORDS[annotation]


def test_documents_every_part_with_all_fields() -> None:
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
    documented = {
        name: re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", text, re.MULTILINE)
        for name, text in sections.items()
    }
    rows = {
        name: [(field, type_) for field, type_, _ in fields] for name, fields in documented.items() if fields
    }
    assert rows == {
        model.__name__: [(name, json_type(field.annotation)) for name, field in model.model_fields.items()]
        for model in part_models()
    }


def test_documented_format_is_current() -> None:
    assert f"`format` is {FORMAT}" in PAGE
