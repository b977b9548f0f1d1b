"""Recording of calls, and answers of edited code to them, to find where edits differ.

The calls are those that tests make into the project, and variations of their arguments. Runs in the project's
interpreter. Standard library only, Python 3.8 or later.
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

from coder_limits import TooLong  # type: ignore[import-not-found]  # on the import path of the run
from coder_swap import key_of  # type: ignore[import-not-found]

MOST_OF_ONE, MOST_RECORDED = 12, 60
MOST_OF_FAILING, MOST_OF_TEST = 8, 4
"""Limits of calls of one edited function from all failing tests, and from one test, to leave room for others.
"""
MOST_ELEMENTS, DEEPEST, LONGEST = 40, 4, 120
CALL_SECONDS = 0.2
EXTRA_POSITIONAL, EXTRA_KEYWORDS = "*", "**"
"""Keys of the extra positional arguments, and of the extra keyword arguments."""
UNCALLABLE_FLAGS = inspect.CO_NESTED | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
"""Flags of functions that cannot be found again by name, or must be awaited."""
SHARED: Any = (
    ModuleType,
    MappingProxyType,
    TracebackType,
    ContextVar,
    type({}.keys()),
    type({}.values()),
    type({}.items()),
)
"""Types whose values cannot be copied and are only read."""
REDUCERS: dict[Any, Any] = {
    **{kind: lambda _: "itself" for kind in SHARED},
    type(threading.Lock()): lambda _: (threading.Lock, ()),
    type(threading.RLock()): lambda _: (threading.RLock, ()),
}
"""Reducers for copyreg: a string stands for the object itself, a pair for a call that makes a new one."""
PROPERTY_GETTER = "fget"
"""Attribute of a property that holds its function."""


class Recorder:
    """Profiler that records calls from outside of the sources, and all calls of edited functions.

    Arguments are copied.
    """

    def __init__(self, sources: frozenset[str], edited: frozenset[Any]) -> None:
        """Prepare to record; `edited` contains the coder_swap key of each edited function's code."""
        self.sources = sources
        self.edited = edited
        self.calls: list[Any] = []
        self.inner: list[Any] = []
        """Calls of edited functions."""
        self.counts: dict[Any, int] = {}
        self.of_test: dict[Any, int] = {}
        self.most = MOST_OF_ONE

    def begin(self, *, failing: bool) -> None:
        """Start recording another test."""
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
            or code.co_flags & UNCALLABLE_FLAGS
            or self.counts.get(code, 0) >= self.most
        ):
            return
        if not edited or self.of_test.get(code, 0) < MOST_OF_TEST:
            self.counts[code] = self.counts.get(code, 0) + 1
            self.of_test[code] = self.of_test.get(code, 0) + 1
            sys.setprofile(None)  # calls made by copying are not calls of the tests
            with contextlib.suppress(Exception):
                arguments = arguments_of(frame)
                (self.inner if edited else self.calls).append(
                    (frame.f_globals["__name__"], qualified_name(frame, arguments), copy_or_reject(arguments))
                )
            sys.setprofile(self)


def arguments_of(frame: FrameType) -> dict[str, Any]:
    """Return the arguments of a function that was just called, in the order of its parameters.

    Raises:
        ValueError: a generator is resumed, not called.
    """
    code = frame.f_code
    named_count = code.co_argcount + code.co_kwonlyargcount
    variadic = code.co_varnames[
        named_count : named_count
        + bool(code.co_flags & inspect.CO_VARARGS)
        + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    ]
    if code.co_flags & inspect.CO_GENERATOR and len(frame.f_locals) > named_count + len(variadic):
        raise ValueError("it goes on where it has been before")
    arguments = {name: frame.f_locals[name] for name in code.co_varnames[: code.co_argcount]}
    arguments[EXTRA_POSITIONAL] = frame.f_locals[variadic[0]] if code.co_flags & inspect.CO_VARARGS else ()
    arguments.update(
        {name: frame.f_locals[name] for name in code.co_varnames[code.co_argcount : named_count]}
    )
    if code.co_flags & inspect.CO_VARKEYWORDS:
        arguments[EXTRA_KEYWORDS] = frame.f_locals[variadic[-1]]
    return arguments


def qualified_name(frame: FrameType, arguments: dict[str, Any]) -> tuple[str, ...]:
    """Return the path of a function from its module: its name, after its class's if it is a method.

    A class on which the function is called is removed from its arguments.

    Raises:
        LookupError: the function cannot be found by name.
    """
    name = frame.f_code.co_name
    owner = arguments.get("self", arguments.get("cls"))
    kind = owner if isinstance(owner, type) else type(owner)
    known = [value for value in frame.f_globals.values() if isinstance(value, type)]
    for owner_class in known if owner is None else kind.__mro__:
        function = vars(owner_class).get(name)
        if code_of(function) is frame.f_code:
            if isinstance(function, classmethod):
                del arguments["cls"]
            getter = (PROPERTY_GETTER,) if isinstance(function, property) else ()
            return (*owner_class.__qualname__.split("."), name, *getter)
    if not callable(frame.f_globals.get(name)):
        raise LookupError(name)
    return (name,)


def code_of(function: Any) -> Any:
    """Return the code of a function, or of the function inside a decorator or a property."""
    function = getattr(function, PROPERTY_GETTER, function)
    return getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None)


def copy_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Copy arguments deeply; values that cannot be copied and hold no state are shared, locks are new."""
    table = copyreg.dispatch_table
    before = {kind: table[kind] for kind in REDUCERS if kind in table}
    table.update(REDUCERS)
    try:
        return copy.deepcopy(dict(arguments))
    finally:
        for kind in REDUCERS:
            del table[kind]
        table.update(before)


def copy_or_reject(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Copy arguments deeply.

    Raises:
        ValueError: reading an argument would change it.
    """
    copies = copy_arguments(arguments)
    if any(isinstance(value, (GeneratorType, *ITERATORS)) for value in copies.values()):
        raise ValueError("reading an argument changes it")
    return copies


ITERATORS: Any = (
    type(iter([])),
    type(iter(())),
    type(iter({})),
    type(iter(set())),
    type(iter("")),
    type(iter(range(0))),
)


def answers(calls: list[Any]) -> Iterator[str]:
    """Yield a line for each call, with its parts separated by tabs.

    The parts are the result or exception, the arguments afterwards, and the output.
    """
    signal.signal(signal.SIGPROF, too_long)
    for module, name, arguments in calls:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            result = answer(module, name, arguments)
        yield f"{result}\t{printed.getvalue()[: LONGEST * 4]!r}" if printed.getvalue() else result


def answer(module: str, name: tuple[str, ...], recorded: Mapping[str, Any]) -> str:
    """Call a function and return its result and the arguments afterwards, or the exception, as text."""
    try:
        function: Any = sys.modules[module]
        for part in name:
            function = getattr(function, part)
        arguments = copy_arguments(recorded)
        names = [*arguments]
        rest_index = names.index(EXTRA_POSITIONAL)
        positional = [*(arguments[key] for key in names[:rest_index]), *arguments[EXTRA_POSITIONAL]]
        keywords = {key: arguments[key] for key in names[rest_index + 1 :] if key != EXTRA_KEYWORDS}
        signal.setitimer(signal.ITIMER_PROF, CALL_SECONDS, 0.05)
        result = stable_text(function(*positional, **keywords, **arguments.get(EXTRA_KEYWORDS, {})), 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        arguments_after = {key: value for key, value in arguments.items() if key != EXTRA_POSITIONAL or value}
        return f"{result}\t{stable_text(arguments_after, 0)}"
    except BaseException as error:  # noqa: BLE001 - any exception is the answer
        signal.setitimer(signal.ITIMER_PROF, 0)
        return f"raises {type(error).__name__}"


def too_long(_number: int, _frame: FrameType | None) -> None:
    raise TooLong


def stable_text(value: Any, depth: int) -> str:
    """Return a value as text that is the same in every process, without addresses and the order of sets."""
    kind = type(value).__name__
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return repr(value)[: LONGEST * 4]
    if depth == DEEPEST:
        return kind
    if isinstance(value, dict):
        pairs = itertools.islice(value.items(), MOST_ELEMENTS)
        texts = [
            f"{stable_text(key, depth + 1)}: {stable_text(element, depth + 1)}" for key, element in pairs
        ]
        return f"{'' if kind == 'dict' else kind}{{{', '.join(texts)}}}"
    if isinstance(value, (set, frozenset)):
        return f"{kind}{{{', '.join(sorted(stable_text(item, depth + 1) for item in value))}}}"
    if isinstance(value, (list, tuple)) or hasattr(value, "__next__"):
        elements = [stable_text(item, depth + 1) for item in itertools.islice(value, MOST_ELEMENTS)]
        if kind == "list":
            return f"[{', '.join(elements)}]"
        comma = "," if kind == "tuple" and len(elements) == 1 else ""
        return f"{'' if kind == 'tuple' else kind}({', '.join(elements)}{comma})"
    if callable(value):
        return kind
    attributes = state(value)
    if attributes is None or depth + 1 == DEEPEST:
        return kind
    are_positional = getattr(type(value), "__match_args__", None) == (*attributes,)
    fields = [
        f"{'' if are_positional else f'{name}='}{stable_text(item, depth + 2)}"
        for name, item in itertools.islice(attributes.items(), MOST_ELEMENTS)
    ]
    return f"{kind}({', '.join(fields)})"


def state(value: Any) -> dict[str, Any] | None:
    """Return the attributes of an object, from its dictionary and slots; None if it has neither."""
    slots = [vars(kind).get("__slots__", ()) for kind in type(value).__mro__]
    names = [name for slot in slots for name in ((slot,) if isinstance(slot, str) else slot)]
    dictionary = getattr(value, "__dict__", None)
    attributes = {
        **(dictionary if isinstance(dictionary, dict) else {}),
        **{name: getattr(value, name) for name in names if hasattr(value, name)},
    }
    return attributes if names or isinstance(dictionary, dict) else None


def call_text(call: Any) -> str:
    """Return a call as source code."""
    _, name, arguments = call
    rest_index = [*arguments].index(EXTRA_POSITIONAL)
    positional = [value for key, value in [*arguments.items()][:rest_index] if key != "self"]
    keywords = [entry for entry in [*arguments.items()][rest_index + 1 :] if entry[0] != EXTRA_KEYWORDS]
    written_arguments = [
        *(stable_text(value, 0) for value in (*positional, *arguments[EXTRA_POSITIONAL])),
        *(
            f"{key}={stable_text(value, 0)}"
            for key, value in (*keywords, *arguments.get(EXTRA_KEYWORDS, {}).items())
        ),
    ]
    return f"{'.'.join(part for part in name if part != PROPERTY_GETTER)}({', '.join(written_arguments)})"
