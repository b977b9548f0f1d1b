"""Audit inside the test process: events that count as access to it, and functions that it compares."""

import sys
from types import ModuleType
from typing import Any

import pytest

from coder.verify.target import coder_audit


@pytest.mark.parametrize(
    ("event", "arguments", "expected"),
    [
        ("object.__setattr__", (None, "__module__", "tomli"), True),
        ("object.__getattr__", (None, "__code__"), True),
        ("object.__setattr__", (None, "__code__", None), False),
        ("object.__setattr__", (None, "__class__", None), False),
        ("gc.get_objects", (-1,), False),
    ],
)
def test_naming_or_reading_code_objects_is_harmless(
    event: str, arguments: tuple[Any, ...], expected: bool
) -> None:
    assert coder_audit.is_harmless(event, arguments) is expected


class Marks:
    """An object like pytest.mark, which rejects unregistered names."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


def test_comparing_functions_reads_no_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("machinery_of_test")
    vars(module).update(marks=Marks(), function=lambda: None, kind=property(lambda self: None))
    monkeypatch.setitem(sys.modules, "machinery_of_test", module)
    monkeypatch.setattr(coder_audit, "MACHINERY", ("machinery_of_test",))
    assert [name for name, _ in coder_audit.machinery_functions()] == [
        "machinery_of_test.function",
        "machinery_of_test.kind",
    ]
