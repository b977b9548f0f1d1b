"""Code inside the test process: its audit, the observed body of a test, paths of sources."""

import asyncio
import contextlib
import importlib.util
import subprocess
import sys
import unittest
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from coder.verify.launch import TARGET
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


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("observe", TARGET / "coder_observe.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def returns() -> int:
    return sum([1])


def expects_an_exception_at_its_end() -> None:
    with pytest.raises(ZeroDivisionError):
        _ = 1 / 0


def catches_at_its_end() -> None:
    number = 0
    try:
        number = 1 // number
    except ZeroDivisionError:
        number = 2


def suppresses_in_a_loop() -> None:
    for number in (0, 0):
        with contextlib.suppress(ZeroDivisionError):
            _ = 1 / number


def raises_after_catching() -> None:
    with contextlib.suppress(ZeroDivisionError):
        _ = 1 / 0
    raise ValueError


def raises_in_a_call() -> None:
    int("no number")


def raises_in_finally() -> int:
    try:
        return 1
    finally:
        int("no number")


async def awaits() -> None:
    await asyncio.sleep(0)
    with pytest.raises(ZeroDivisionError):
        _ = 1 / 0


async def awaits_and_raises() -> None:
    await asyncio.sleep(0)
    raise ValueError


@pytest.mark.parametrize(
    ("function", "ended"),
    [
        *((function, 1) for function in (returns, expects_an_exception_at_its_end, catches_at_its_end)),
        *((function, 1) for function in (suppresses_in_a_loop, awaits)),
        *((function, 0) for function in (raises_after_catching, raises_in_a_call, raises_in_finally)),
        (awaits_and_raises, 0),
    ],
)
def test_tells_a_caught_exception_from_one_that_leaves_the_body(
    function: Callable[[], Any], ended: int
) -> None:
    observer = load().Observer()
    observer.begin(function)
    if observer.now is None:
        pytest.skip("something else traces this process")
    with contextlib.suppress(ValueError):
        result = function()
        if asyncio.iscoroutine(result):
            asyncio.run(result)
    observer.end()
    assert (observer.seen["started"] > 0, observer.seen["ended"]) == (True, ended)


def test_frames_of_cython_are_given_a_trace_function() -> None:
    names: dict[str, Any] = {"get_frame": sys._getframe}
    exec(compile("frame = get_frame()", "quoting.pyx", "exec"), names)
    trace = load().Observer().tracer({})
    assert (callable(trace(names["frame"], "call", None)), trace(sys._getframe(), "call", None)) == (
        True,
        None,
    )


def test_paths_follow_links_and_dots(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("watch", TARGET / "coder_watch.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tree = tmp_path / "tree"
    (tree / "src").mkdir(parents=True)
    (tree / "src" / "cart.py").touch()
    (tree / "lib").symlink_to("src")
    (tree / "alias.py").symlink_to("src/cart.py")
    names = ("src/cart.py", "lib/cart.py", "tests/../src/cart.py", "alias.py", "../cart.py", "src/other.py")
    (tree / "tests").mkdir()
    paths = module.RelativePaths(str(tree), {"src/cart.py"})
    found = [paths[f"{tree}/{name}"] for name in names]
    assert found == ["src/cart.py"] * 4 + ["", ""]
    assert paths["<string>"] == ""
