"""Whether the body of a test function was seen to run to its end."""

import asyncio
import contextlib
import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from coder.verify.launch import TARGET


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
