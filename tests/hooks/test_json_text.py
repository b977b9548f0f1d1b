"""Edits of JSON text: the value changes as asked, and the way back leads to the same bytes."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coder.hooks.agents import JsonSpan, append_child, parse_spans, remove_child

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)
LAYOUTS: tuple[dict[str, Any], ...] = (
    {"indent": 2},
    {"indent": "\t", "ensure_ascii": False},
    {"indent": 0},
    {"separators": (",", ":")},
    {"separators": ("  ,\n", " :\n\n ")},
)
ADDED = {"hooks": [{"command": 'say "]}"'}]}


def containers(span: JsonSpan) -> list[JsonSpan]:
    own = [span] if span.kind != "scalar" else []
    return own + [found for child in span.children for found in containers(child)]


@settings(max_examples=150)
@given(value=VALUES, layout=st.sampled_from(LAYOUTS), data=st.data())
def test_appended_child_is_the_only_difference(
    value: object, layout: dict[str, Any], data: st.DataObject
) -> None:
    text = json.dumps(value, **layout)
    root = parse_spans(text)
    assert text[root.value_start : root.end] == text
    found = containers(root)
    if not found:
        return
    number = data.draw(st.integers(0, len(found) - 1))
    container = found[number]
    longer = append_child(text, container, ADDED, key="new key")
    again = containers(parse_spans(longer))[number]
    assert json.loads(longer[again.children[-1].value_start : again.children[-1].end]) == ADDED
    kept = json.loads(text[container.value_start : container.end])
    whole = json.loads(longer[again.value_start : again.end])
    assert whole == ([*kept, ADDED] if isinstance(kept, list) else {**kept, "new key": ADDED})
    assert remove_child(longer, again, again.children[-1]) == text


@pytest.mark.parametrize("number", [0, 1, 2])
def test_removes_any_member_with_its_comma(number: int) -> None:
    text = '{\n  "a": 1,\n  "b": [2],\n  "c": {}\n}\n'
    root = parse_spans(text)
    shorter = json.loads(remove_child(text, root, root.children[number]))
    assert list(shorter) == [key for key in "abc" if key != "abc"[number]]
