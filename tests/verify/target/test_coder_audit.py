"""Audit inside the test process: events that count as access to it, and functions that it compares."""

import subprocess
import sys
import unittest
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from coder.verify.target import coder_audit


class Own:
    """A class of a project."""


@pytest.mark.parametrize(
    ("event", "arguments", "expected"),
    [
        ("object.__setattr__", (None, "__module__", "tomli"), True),
        ("object.__getattr__", (None, "__code__"), True),
        ("object.__setattr__", (None, "__code__", None), False),
        ("object.__setattr__", (None, "__class__", None), False),
        ("gc.get_objects", (-1,), False),
        ("object.__setattr__", (Own(), "__class__", Own), True),
        ("object.__setattr__", (unittest.TestResult(), "__class__", Own), False),
    ],
)
def test_naming_or_reading_code_objects_is_harmless(
    event: str, arguments: tuple[Any, ...], expected: bool
) -> None:
    assert coder_audit.is_harmless(event, arguments) is expected


RECURSION = """
import sys, types
sys.path.insert(0, sys.argv[1])
import coder_audit
audit = coder_audit.Audit("/tree", ())
def trace(_frame, _event, _argument):
    raise RecursionError
def run(text):
    code = compile(text, "/tree/calc.py", "exec")
    sys.settrace(trace) if "enter" in text else None
    try: exec(code, {"sys": sys})
    except RecursionError: pass
run("def enter(): pass\\nenter()")
print([*audit.findings()])
run("sys.settrace(None)")
print([*audit.findings()])
"""


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="sys.monitoring observes instead")
def test_trace_function_without_room_is_no_access() -> None:
    target = str(Path(coder_audit.__file__).parent)
    command = [sys.executable, "-c", RECURSION, target]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == ["[]", "['calc.py: sys.settrace']"]


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
