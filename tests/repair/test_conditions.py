"""Edits that may let a loop terminate."""

import ast

import pytest

from coder.core.ports import TextChange
from coder.python.source import PythonSource
from coder.repair.generators.conditions import may_terminate_loop

TEXT = """\
def find(items, wanted):
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        if items[middle] < wanted:
            low = middle
        log(middle)
    for item in items:
        if item == wanted:
            break
        log(item)
    return low
"""


@pytest.mark.parametrize(
    ("line", "old", "new", "ends"),
    [
        (3, "low < high", "low <= high", True),
        (6, "low = middle", "low = middle + 1", True),
        (7, "log(middle)", "low += 1", True),
        (7, "log(middle)", "low.pop()", True),
        (7, "log(middle)", "break", True),
        (7, "log(middle)", "log(high == middle)", False),
        (4, "middle = (low + high) // 2", "middle = (low + high) / 2", False),
        (5, "items[middle] < wanted", "items[low] < wanted", False),
        (9, "item == wanted", "item is wanted", True),
        (11, "log(item)", "log(wanted)", False),
        (12, "return low", "return high", False),
    ],
)
def test_edit_of_loop_condition_may_end_it(line: int, old: str, new: str, ends: bool) -> None:
    source = PythonSource("a.py", TEXT)
    node = next(
        candidate
        for candidate in ast.walk(source.tree)
        if getattr(candidate, "lineno", 0) == line and source.text_of(candidate) == old
    )
    start, end = source.span(node)
    assert may_terminate_loop(source, node, [TextChange(start=start, end=end, text=new)]) is ends
