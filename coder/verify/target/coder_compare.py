"""Lets edits answer the same calls, so that one can see where they differ; it runs in the project's interpreter.

The calls are those that tests make into the project, and others made from them by small changes of their arguments.
Stdlib only, Python 3.8 or later.
"""

from __future__ import annotations

import contextlib
import copy
import io
import itertools
import signal
import sys
from collections.abc import Iterator, Mapping
from types import FrameType, GeneratorType
from typing import Any

MOST_OF_ONE, MOST_RECORDED = 12, 60
MOST_ELEMENTS, DEEPEST, LONGEST = 40, 4, 120
CALL_SECONDS = 0.2


class TooLong(BaseException):
    """A call or a test has used more processor time than it may."""


class Recorder:
    """Notes which calls come from outside of the project's sources, with copies of their arguments."""

    def __init__(self, sources: frozenset[str]) -> None:
        self.sources = sources
        self.calls: list[Any] = []
        self.counts: dict[Any, int] = {}

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event != "call" or code.co_filename not in self.sources or len(self.calls) >= MOST_RECORDED:
            return
        back = frame.f_back
        if (back is not None and back.f_code.co_filename in self.sources) or code.co_name.startswith("<") or code.co_flags & 0x0C:
            return
        if self.counts.get(code, 0) < MOST_OF_ONE:
            self.counts[code] = self.counts.get(code, 0) + 1
            sys.setprofile(None)  # what copying calls is no call of the tests
            with contextlib.suppress(Exception):
                names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
                given = {name: frame.f_locals[name] for name in names if name in frame.f_locals}
                self.calls.append((frame.f_globals["__name__"], qualified(frame, given), given_of(code, given)))
            sys.setprofile(self)


def qualified(frame: FrameType, given: Mapping[str, Any]) -> tuple[str, ...]:
    """How to find the function again from its module: its name, after its class's where it is a method."""
    name = frame.f_code.co_name
    owner = given.get("self", given.get("cls"))
    kind = owner if isinstance(owner, type) else type(owner)
    for one in kind.__mro__ if owner is not None else ():
        function = vars(one).get(name)
        if getattr(getattr(function, "__func__", function), "__code__", None) is frame.f_code:
            return (one.__name__, name)
    return (name,)


def given_of(code: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    if code.co_posonlyargcount:
        raise ValueError("its arguments have no names")
    copied = copy.deepcopy(dict(given))
    if any(isinstance(value, (GeneratorType, *ITERATORS)) for value in copied.values()):
        raise ValueError("reading an argument changes it")
    return copied


ITERATORS: Any = (type(iter([])), type(iter(())), type(iter({})), type(iter(set())), type(iter("")), type(iter(range(0))))


def answers(calls: list[Any]) -> Iterator[str]:
    """A line for each call: what it gives or raises, what it leaves in its arguments, and what it prints; tabs stand between these."""
    signal.signal(signal.SIGPROF, too_long)
    for module, name, given in calls:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            told = answer(module, name, given)
        yield f"{told}\t{printed.getvalue()[: LONGEST * 4]!r}" if printed.getvalue() else told


def answer(module: str, name: tuple[str, ...], given: Mapping[str, Any]) -> str:
    try:
        found: Any = sys.modules[module]
        for part in name:
            found = getattr(found, part)
        mine = dict(copy.deepcopy(given))
        owner = mine.pop("cls", None)
        signal.setitimer(signal.ITIMER_PROF, CALL_SECONDS, 0.05)
        result = shown(found(**mine), 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        return f"{result}\t{shown(mine, 0)}" if owner is None else result
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is the answer
        signal.setitimer(signal.ITIMER_PROF, 0)
        return f"raises {type(error).__name__}"


def too_long(_number: int, _frame: FrameType | None) -> None:
    raise TooLong


def shown(value: Any, depth: int) -> str:
    """A value as text that is the same in each process; addresses and the order of sets say nothing."""
    kind = type(value).__name__
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return repr(value)[: LONGEST * 4]
    if depth == DEEPEST:
        return kind
    if isinstance(value, dict):
        pairs = itertools.islice(value.items(), MOST_ELEMENTS)
        return f"{kind}{{{', '.join(f'{shown(key, depth + 1)}: {shown(one, depth + 1)}' for key, one in pairs)}}}"
    if isinstance(value, (set, frozenset)):
        return f"{kind}{{{', '.join(sorted(shown(one, depth + 1) for one in value))}}}"
    if isinstance(value, (list, tuple)) or hasattr(value, "__next__"):
        return f"{kind}[{', '.join(shown(one, depth + 1) for one in itertools.islice(value, MOST_ELEMENTS))}]"
    if callable(value):
        return kind
    held = getattr(value, "__dict__", None)
    return f"{kind}({shown(held, depth + 1)})" if isinstance(held, dict) else kind


def described(call: Any) -> str:
    """A call as one would write it, cut to a line."""
    _, name, given = call
    text = f"{'.'.join(name)}({', '.join(f'{key}={shown(value, 2)}' for key, value in given.items() if key not in ('self', 'cls'))})"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
