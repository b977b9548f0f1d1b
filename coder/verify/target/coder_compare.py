"""Lets edits answer the same calls, so that one can see where they differ; it runs in the project's interpreter.

The calls are those that tests make into the project, and others made from them by small changes of their arguments.
Stdlib only, Python 3.8 or later.
"""

from __future__ import annotations

import contextlib
import copy
import copyreg
import inspect
import io
import itertools
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from types import FrameType, GeneratorType, MappingProxyType, ModuleType, TracebackType
from typing import Any

from coder_swap import key_of  # type: ignore[import-not-found]  # they all lie beside this file

MOST_OF_ONE, MOST_RECORDED = 12, 60
MOST_OF_FAILING, MOST_OF_TEST = 8, 4
"""Calls of one edited function that are taken from all failing tests, and from one test: others should be heard as well."""
MOST_ELEMENTS, DEEPEST, LONGEST = 40, 4, 120
CALL_SECONDS = 0.2
REST, FURTHER = "*", "**"
"""Under these names stand the arguments that have none of their own, and those whose names are not the function's."""
NEVER_ASKED = inspect.CO_NESTED | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
"""Kinds of functions that nothing finds again, or that have to be awaited."""
SHARED: Any = (
    ModuleType,
    MappingProxyType,
    TracebackType,
    ContextVar,
    type({}.keys()),
    type({}.values()),
    type({}.items()),
)
"""Kinds of what cannot be copied and is only looked at."""
WAYS: dict[Any, Any] = {
    **{kind: lambda _: "itself" for kind in SHARED},
    type(threading.Lock()): lambda _: (threading.Lock, ()),
    type(threading.RLock()): lambda _: (threading.RLock, ()),
}
"""How copyreg takes them: a text stands for the very object, a pair for a call that makes another."""
READ = "fget"
"""What of a property is called."""


class TooLong(BaseException):
    """A call or a test has used more processor time than it may."""


class Recorder:
    """Notes the calls that come from outside of the sources, and all those of edited functions, with copies of their arguments."""

    def __init__(self, sources: frozenset[str], edited: frozenset[Any]) -> None:
        """`edited` has the key of each function's code, as coder_swap knows it."""
        self.sources = sources
        self.edited = edited
        self.calls: list[Any] = []
        self.inner: list[Any] = []
        """Calls of edited functions."""
        self.counts: dict[Any, int] = {}
        self.of_test: dict[Any, int] = {}
        self.most = MOST_OF_ONE

    def begin(self, *, failing: bool) -> None:
        """Another test."""
        self.of_test.clear()
        self.most = MOST_OF_FAILING if failing else MOST_OF_ONE

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event != "call" or code.co_filename not in self.sources:
            return
        edited = key_of(code) in self.edited
        back = frame.f_back
        if not edited and (
            len(self.calls) >= MOST_RECORDED or (back is not None and back.f_code.co_filename in self.sources)
        ):
            return
        if (
            code.co_name.startswith("<")
            or code.co_flags & NEVER_ASKED
            or self.counts.get(code, 0) >= self.most
        ):
            return
        if not edited or self.of_test.get(code, 0) < MOST_OF_TEST:
            self.counts[code] = self.counts.get(code, 0) + 1
            self.of_test[code] = self.of_test.get(code, 0) + 1
            sys.setprofile(None)  # what copying calls is no call of the tests
            with contextlib.suppress(Exception):
                given = given_of(frame)
                (self.inner if edited else self.calls).append(
                    (frame.f_globals["__name__"], qualified(frame, given), copied(given))
                )
            sys.setprofile(self)


def given_of(frame: FrameType) -> dict[str, Any]:
    """What a function has been given, in the order of its parameters; it has just been called."""
    code = frame.f_code
    named = code.co_argcount + code.co_kwonlyargcount
    further = code.co_varnames[
        named : named
        + bool(code.co_flags & inspect.CO_VARARGS)
        + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    ]
    if code.co_flags & inspect.CO_GENERATOR and len(frame.f_locals) > named + len(further):
        raise ValueError("it goes on where it has been before")
    given = {name: frame.f_locals[name] for name in code.co_varnames[: code.co_argcount]}
    given[REST] = frame.f_locals[further[0]] if code.co_flags & inspect.CO_VARARGS else ()
    given.update({name: frame.f_locals[name] for name in code.co_varnames[code.co_argcount : named]})
    if code.co_flags & inspect.CO_VARKEYWORDS:
        given[FURTHER] = frame.f_locals[further[-1]]
    return given


def qualified(frame: FrameType, given: dict[str, Any]) -> tuple[str, ...]:
    """How to find the function again from its module: its name, after its class's where it is a method.

    Raises LookupError where there is no such way. A class that the function is called of finds it, and is no argument then.
    """
    name = frame.f_code.co_name
    owner = given.get("self", given.get("cls"))
    kind = owner if isinstance(owner, type) else type(owner)
    for item in (
        kind.__mro__
        if owner is not None
        else [item for item in frame.f_globals.values() if isinstance(item, type)]
    ):
        function = vars(item).get(name)
        if code_of(function) is frame.f_code:
            if isinstance(function, classmethod):
                del given["cls"]
            return (
                (*item.__qualname__.split("."), name, READ)
                if isinstance(function, property)
                else (*item.__qualname__.split("."), name)
            )
    if not callable(frame.f_globals.get(name)):
        raise LookupError(name)
    return (name,)


def code_of(function: Any) -> Any:
    """The code of a function, or of what a decorator or a property is made of."""
    function = getattr(function, READ, function)
    return getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None)


def deeply(given: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of all that can be copied: what cannot, and holds nothing by itself, does for both; a lock is a new one."""
    table = copyreg.dispatch_table
    before = {kind: table[kind] for kind in WAYS if kind in table}
    table.update(WAYS)
    try:
        return copy.deepcopy(dict(given))
    finally:
        for kind in WAYS:
            del table[kind]
        table.update(before)


def copied(given: Mapping[str, Any]) -> dict[str, Any]:
    made = deeply(given)
    if any(isinstance(value, (GeneratorType, *ITERATORS)) for value in made.values()):
        raise ValueError("reading an argument changes it")
    return made


ITERATORS: Any = (
    type(iter([])),
    type(iter(())),
    type(iter({})),
    type(iter(set())),
    type(iter("")),
    type(iter(range(0))),
)


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
        mine = deeply(given)
        names = [*mine]
        place = names.index(REST)
        positional = [*(mine[item] for item in names[:place]), *mine[REST]]
        named = {item: mine[item] for item in names[place + 1 :] if item != FURTHER}
        signal.setitimer(signal.ITIMER_PROF, CALL_SECONDS, 0.05)
        result = shown(found(*positional, **named, **mine.get(FURTHER, {})), 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        left = {one: value for one, value in mine.items() if one != REST or value}
        return f"{result}\t{shown(left, 0)}"
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
        return f"{kind}{{{', '.join(sorted(shown(item, depth + 1) for item in value))}}}"
    if isinstance(value, (list, tuple)) or hasattr(value, "__next__"):
        return (
            f"{kind}[{', '.join(shown(item, depth + 1) for item in itertools.islice(value, MOST_ELEMENTS))}]"
        )
    if callable(value):
        return kind
    held = state(value)
    return kind if held is None else f"{kind}({shown(held, depth + 1)})"


def state(value: Any) -> dict[str, Any] | None:
    """What an object holds, in its dictionary and in slots; None where it has neither."""
    slots = [vars(kind).get("__slots__", ()) for kind in type(value).__mro__]
    names = [name for slot in slots for name in ((slot,) if isinstance(slot, str) else slot)]
    own = getattr(value, "__dict__", None)
    held = {
        **(own if isinstance(own, dict) else {}),
        **{name: getattr(value, name) for name in names if hasattr(value, name)},
    }
    return held if names or isinstance(own, dict) else None


def described(call: Any) -> str:
    """A call as one would write it, cut to a line."""
    _, name, given = call
    written = [(key, value) for key, value in given.items() if key not in ("self", REST, FURTHER)]
    arguments = [
        *(shown(value, 2) for value in given[REST]),
        *(f"{key}={shown(value, 2)}" for key, value in (*written, *given.get(FURTHER, {}).items())),
    ]
    text = f"{'.'.join(part for part in name if part != READ)}({', '.join(arguments)})"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
