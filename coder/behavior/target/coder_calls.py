"""Calls that tests make, answered in place: by forks of the test process, as they were made and varied.

At each call of a changed function, and at each call from a test file into the project, the process forks. The
child calls the function once more, in a fork of its own for each variation, and writes what came out;
fixtures, patches and open objects are there as in the test. Runs in the project's interpreter. Standard
library only, Python 3.8 or later; imported before the tree can be.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import gc
import importlib
import inspect
import io
import json
import os
import pickle
import random
import signal
import sys
import threading
import time
import types
from collections.abc import Callable
from typing import Any

from coder_values import (  # type: ignore[import-not-found]  # on the import path of the run
    NOT_COMPARED,
    PLAIN,
    Texts,
    answer_of,
    call_with,
    defaults_of,
    describe_call,
    end_after,
    forbid_effects,
    in_fork,
    parameters_of,
    variadic_names,
    variations,
)
from coder_watch import RelativePaths  # type: ignore[import-not-found]

CHANGED, CALLED = 2, 1
"""Kinds of functions: the change edits it, or it only belongs to the project."""
MOST_CALLS, MOST_OF_TARGETS = {CHANGED: 24, CALLED: 8}, 40
"""Number of different calls of one function, from all tests and from targets."""
ENTERED, BESIDE = "+", "-"
"""Beginning of an answer whose call has entered a changed function, or has not."""
NEAR, FAR = 24, 20
MOST_NAMES = 100
REPEATED = 2
"""Equal calls of targets that are answered: they show a state that outlives a call."""
CALL_SECONDS, FORK_SECONDS = 0.5, 4.0
MOST_PICKLED, MOST_VARIED = 20_000, 2_000
"""Bytes of the arguments of a call that a test makes, and of a variation."""
TARGETS_SHARE = 0.7
VARIED_SECONDS, VARIED_SHARE = 1.0, 0.25
"""Time for variations of one call, at most this share of all that is left: the calls to come need some."""
UNCALLABLE = inspect.CO_ASYNC_GENERATOR
REPORTS = "from_item_and_call"
"""Function of pytest that describes how a phase of a test ended."""
ELSEWHERE = ("_thread.start_new_thread", "os.fork", "os.forkpty", "os.posix_spawn", "subprocess.Popen")
"""Audit events of calls that are made where they are not seen."""


class CallRecorder:
    """Profiler that answers calls in forks and writes a line for each answer."""

    def __init__(self, request: dict[str, Any], tree: str) -> None:
        """Prepare; `request` holds `answers` (a path), `changed` ([path, name] pairs), `literals`, `ignored`,
        `targets`, `tests` (paths of test files) and `seconds`.
        """
        self.paths = RelativePaths(tree)
        self.texts = Texts(os.path.realpath(tree), frozenset(request["ignored"]), request["changed"])
        self.changed = {(path, name) for path, name in request["changed"]}
        self.methods = {name.rpartition(".")[2] for _, name in self.changed if "." in name}
        self.literals = request["literals"]
        self.targets = frozenset(request["targets"])
        self.test_files = frozenset(request["tests"])
        self.seconds = float(request["seconds"])
        """Left for answers."""
        self.is_hurried = bool(request.get("hurried"))
        """True if a varied call that does not end in time is not called again, with patience."""
        self.descriptor = os.open(request["answers"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.kinds: dict[types.CodeType, int] = {}
        self.entering: dict[types.CodeType, bool] = {}
        self.counts: dict[types.CodeType, int] = {}
        self.seen: dict[tuple[types.CodeType, str, bool], int] = {}
        self.states: dict[tuple[types.CodeType, str], str] = {}
        self.test = ""
        self.is_target = self.is_cut = self.is_busy = False
        self.is_late = False
        """True if calls of targets are not recorded for lack of time, or may go on elsewhere."""
        self.begun: set[str] = set()
        self.reserve = self.seconds * TARGETS_SHARE
        self.end = 0.0
        """Moment at which other tests end, after the targets; 0 before."""
        self.pid = os.getpid()
        self.environment = dict(os.environ)
        random.seed(0)  # the same on both sides, also where the project draws as it is imported

    def watch(self, recorder: Any) -> None:
        """Follow the tests of a class of recorders: each of them writes a record as it begins."""
        write = recorder.write
        sys.addaudithook(self.notice)
        threading.setprofile(self.notice_thread)  # before 3.12 no audit event tells of one

        def follow(itself: Any, kind: str, **fields: Any) -> None:
            write(itself, kind, **fields)
            if kind == "start" and os.getpid() == self.pid:
                self.begin(itself.request.get("prefix", "") + fields["id"])
            elif kind == "finish":
                sys.setprofile(None)

        recorder.write = follow

    def notice(self, event: str, _arguments: tuple[Any, ...]) -> None:
        """Note that a target goes on in threads or processes, whose calls are not seen."""
        if event in ELSEWHERE and not self.is_busy and os.getpid() == self.pid:
            self.note_cut(is_late=True)

    def notice_thread(self, _frame: types.FrameType, _event: str, _argument: Any) -> None:
        """Note that a thread was started."""
        sys.setprofile(None)
        self.notice(ELSEWHERE[0], ())

    def begin(self, test: str) -> None:
        """Record the calls of another test from now on; end the process if all that may be is recorded."""
        self.test, self.is_target = test, test in self.targets
        if self.targets <= self.begun:
            self.end = self.end or time.monotonic() + (self.seconds if self.targets else 1e9)
        self.end_if_late()
        self.begun.add(test)
        sys.setprofile(self if self.is_target or self.has_time else None)

    def end_if_late(self) -> None:
        """End the process, also within a test, if the targets are over and so is the time for other tests."""
        is_over = self.end and not self.is_target and os.getpid() == self.pid
        if is_over and not (self.has_time and time.monotonic() < self.end):
            self.note_cut()
            os._exit(0)

    @property
    def has_time(self) -> bool:
        """True if the time budget allows another call; most of it is reserved for targets still to run."""
        is_reserved = not self.is_target and bool(self.targets - self.begun)
        return self.seconds > (self.reserve if is_reserved else 0.0)

    def note_cut(self, *, is_late: bool = False) -> None:
        """Write once that not all calls of targets are recorded; without any, not all calls."""
        self.is_late = self.is_late or (is_late and self.is_target)
        if (self.is_target or not self.targets) and not self.is_cut:
            self.is_cut = True
            self.write({"kind": "cut"})

    def kind_of(self, code: types.CodeType) -> int:
        """Return the kind of a function, 0 for one that is not recorded."""
        path = self.paths[code.co_filename]
        if not path or code.co_name.startswith("<") or code.co_flags & UNCALLABLE:
            return 0
        name = getattr(code, "co_qualname", code.co_name)
        short = name.rpartition(".")[2]
        if (path, name) in self.changed or (
            not hasattr(code, "co_qualname")
            and any(path == other and known.rpartition(".")[2] == short for other, known in self.changed)
        ):
            return CHANGED
        return 0 if path in self.test_files or path.rpartition("/")[2] == "conftest.py" else CALLED

    def enters(self, frame: types.FrameType) -> bool:
        """Tell whether a call enters a changed function, or one inside of it."""
        code = frame.f_code
        if code not in self.entering:
            self.entering[code] = CHANGED in (self.kind_of(code), self.kind_of_decorator(code))
        return self.entering[code] or self.is_inherited(frame)

    def is_inherited(self, frame: types.FrameType) -> bool:
        """Tell whether a method was called that its class has of its own on the other side alone."""
        name, names = frame.f_code.co_name, frame.f_code.co_varnames
        if name not in self.methods or not frame.f_code.co_argcount:
            return False
        first = frame.f_locals.get(names[0])
        for owner in (first if isinstance(first, type) else type(first)).__mro__:
            if name in vars(owner):
                return False
            path = self.paths[getattr(sys.modules.get(owner.__module__), "__file__", None) or ""]
            if (path, f"{owner.__qualname__}.{name}") in self.changed:
                return True
        return False

    def is_test_module(self, name: str) -> bool:
        path = self.paths[getattr(sys.modules.get(name), "__file__", None) or ""]
        return path in self.test_files or path.rpartition("/")[2] == "conftest.py"

    def changed_environment(self) -> dict[str, str | None]:
        """Return the variables that a test has set, None for those it has removed."""
        before, now = self.environment, os.environ
        return {
            name: now.get(name)
            for name in {*before, *now}
            if before.get(name) != now.get(name) and not name.startswith("PYTEST_")
        }

    def kind_of_decorator(self, code: types.CodeType) -> int:
        """Return the kind of the function around a nested one."""
        name = getattr(code, "co_qualname", "").partition(".<locals>")[0]
        return CHANGED if (self.paths[code.co_filename], name) in self.changed else 0

    def __call__(self, frame: types.FrameType, event: str, _argument: Any) -> None:
        if event != "call":  # first: to read the code of a frame is an audited event
            return
        self.end_if_late()  # a profiled test may take minutes before it calls the project again
        code = frame.f_code
        kind = self.kinds.get(code)
        if kind is None:
            kind = self.kinds[code] = self.kind_of(code)
        if kind != CHANGED and code.co_name in self.methods and self.is_inherited(frame):
            kind = CHANGED
        if kind and os.getpid() == self.pid:
            self.notice_call(frame, kind)
        elif (
            code.co_name == REPORTS
            and getattr(frame.f_locals.get("call"), "when", "") == "call"
            and not self.is_in_test(frame)
        ):
            sys.setprofile(None)  # the test is over, and pytest takes seconds to describe a failure

    def is_in_test(self, frame: types.FrameType | None) -> bool:
        """Tell whether a test is still running, as where pytest reports a subtest."""
        while frame is not None and self.paths[frame.f_code.co_filename] not in self.test_files:
            frame = frame.f_back
        return frame is not None

    def notice_call(self, frame: types.FrameType, kind: int) -> None:
        """Record a call of a function of the project, unless it is one of too many."""
        code = frame.f_code
        function = None
        if code.co_flags & inspect.CO_NESTED and code.co_freevars:
            function = decorated_function(frame)
        if function:
            kind = max(self.kind_of(function.__code__), self.kind_of_decorator(code))
            self.kinds[function.__code__] = 0  # called by its decorator
        back = frame.f_back
        is_direct = back is not None and self.paths[back.f_code.co_filename] in self.test_files
        if kind == CALLED and not is_direct:
            return
        if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE) and frame.f_lasti > 16:
            return  # it goes on where it has been before
        most = MOST_OF_TARGETS if self.is_target else MOST_CALLS[kind]
        if self.counts.get(function.__code__ if function else code, 0) >= most or not self.has_time:
            self.note_cut(is_late=not self.has_time)
            return
        sys.setprofile(None)
        self.is_busy = True
        began = time.monotonic()
        is_recorded = False
        with contextlib.suppress(Exception):  # the project's own methods may raise anything
            is_recorded = self.record(CallSite(frame, function), kind, is_direct=is_direct)
        if not is_recorded:
            self.note_cut(is_late=True)
        self.seconds -= time.monotonic() - began
        self.is_busy = False
        sys.setprofile(self)

    def text_of(self, code: types.CodeType, arguments: dict[str, Any]) -> str:
        """Return a call as text; with the object's attributes if an equal text was of another state."""
        text: str = describe_call(code, arguments, self.texts)
        if "self" not in arguments:
            return text
        state: str = describe_call(code, arguments, self.texts, has_state=True)
        return text if self.states.setdefault((code, text), state) == state else state

    def record(self, site: CallSite, kind: int, *, is_direct: bool) -> bool:
        """Answer a call in a fork and wait for it; tell whether it ended in time."""
        code = site.code
        text = self.text_of(code, site.written_arguments(site.arguments))
        seen = code, text, self.is_target
        times = self.seen[seen] = self.seen.get(seen, 0) + 1
        if times > (REPEATED if self.is_target and kind == CHANGED else 1):
            return True
        self.counts[code] = self.counts.get(code, 0) + 1
        back = site.frame.f_back
        if back is not None and back.f_code.co_filename == contextlib.__file__:
            self.note_cut()  # what the block of a context manager does to it is not made again
        call: dict[str, Any] = {
            "path": self.paths[code.co_filename],
            "module": site.module,
            "name": site.name,
            "code": site.frame.f_code.co_name,
            "changed": kind == CHANGED,
            "affected": kind == CHANGED,
            "test": self.test,
            "target": self.is_target,
            "direct": is_direct,
        }
        if threading.active_count() > 1:
            self.write(
                {
                    **call,
                    "kind": "own",
                    "call": text,
                    "answer": NOT_COMPARED,
                    "data": pickle_arguments(site.written_arguments(site.arguments), self.is_test_module),
                    "environment": self.changed_environment(),
                }
            )
            return True
        child = os.fork()
        if child == 0:
            try:
                self.answer_all(site, text, call, is_repeated=times > 1)
            finally:
                os._exit(0)
        return wait_for(child, min(FORK_SECONDS, self.seconds + 0.5))

    def answer_all(self, site: CallSite, text: str, call: dict[str, Any], *, is_repeated: bool) -> None:
        """Write the answers to a call as it was made and, the first time, varied, each from its own fork."""
        code = site.code
        end_after(FORK_SECONDS + 1)
        gc.disable()  # a collection would copy the memory that is shared with the test process
        data = pickle_arguments(site.written_arguments(site.arguments), self.is_test_module)
        environment = self.changed_environment()
        rows = [("own", site.arguments)]
        if not is_repeated:
            rows.append(("again", site.arguments))
            optional = [name for name in site.arguments if name in site.defaults]
            rows += [("far", {**site.arguments, name: site.defaults[name]}) for name in optional]
            rows += variations(site.arguments, self.literals, near=NEAR, far=FAR, read=names_read(site))
        known = set()
        until = time.monotonic() + min(VARIED_SECONDS, self.seconds * VARIED_SHARE)
        self.is_affected = not self.changed  # with no changed function, every call is of interest
        for kind, row_arguments in rows:
            is_own = kind in ("own", "again")
            if not is_own and not (self.is_affected and time.monotonic() < until):
                return
            varied = site.written_arguments(row_arguments)
            shown = text if is_own else describe_call(code, varied, self.texts)
            if kind == "state" and shown == text:  # what the object shows of itself is not all of it
                shown = describe_call(code, varied, self.texts, has_state=True)
            if not is_own and shown in known:
                continue
            known.add(shown)
            is_last = self.is_hurried and not is_own
            answer = in_fork(lambda varied=varied: self.answer(site, varied), CALL_SECONDS, last=is_last)
            if answer[:1] in (ENTERED, BESIDE):
                self.is_affected = call["changed"] or self.is_affected or answer[0] == ENTERED
                answer = answer[1:]
            row = {**call, "kind": kind, "call": shown, "answer": answer, "affected": self.is_affected}
            if not is_own:
                data = None
                if call["changed"] and kind != "state":
                    data = pickle_arguments(varied, self.is_test_module, MOST_VARIED)
            self.write({**row, "data": data, "environment": environment})

    def write(self, record: dict[str, Any]) -> None:
        os.write(self.descriptor, json.dumps(record).encode("ascii") + b"\n")

    def answer(self, site: CallSite, arguments: dict[str, Any]) -> str:
        """Call the function and return result, changed arguments and output, or the exception, as text."""
        code, function = site.code, site.rebuilt()
        sys.stdout = sys.stderr = printed = io.StringIO()
        sys.addaudithook(forbid_effects)
        random.seed(0)
        entered: list[bool] = []

        def follow(frame: types.FrameType, event: str, _argument: Any) -> None:
            if event != "call" or entered:
                return
            if self.enters(frame):
                entered.append(True)

        def call() -> Any:
            sys.setprofile(follow)
            try:
                return call_with(function, code, arguments)
            finally:
                sys.setprofile(None)

        # A profiler is itself not profiled, and what it calls is not either.
        profiled = functools.partial(sys.call_tracing, call, ())
        text = answer_of(profiled, code, arguments, self.texts, printed.getvalue)
        return f"{ENTERED if entered else BESIDE}{text}"


class CallSite:
    """A function that was just called; a decorated one has the name and parameters that its callers know."""

    def __init__(self, frame: types.FrameType, function: Any = None) -> None:
        """Look at a frame; `function` is the one that it decorates, if any."""
        self.frame = frame
        self.code: types.CodeType = function.__code__ if function else frame.f_code
        self.module = function.__module__ if function else frame.f_globals.get("__name__", "")
        code_name = getattr(self.code, "co_qualname", self.code.co_name)
        self.name: str = function.__qualname__ if function else code_name
        self.arguments = bound_arguments(frame, function) if function else arguments_of(frame)
        self.own = function_of(frame)
        """The function of the frame, None if it is not found."""
        known = function or self.own
        self.defaults = defaults_of(known) if known else {}

    def written_arguments(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return arguments without those that are the parameter's default, which a caller need not write."""
        code = self.code
        kept = set(code.co_varnames[: code.co_posonlyargcount])
        if arguments.get(variadic_names(code)[0]):
            kept.update(code.co_varnames[: code.co_argcount])
        return {
            name: value
            for name, value in arguments.items()
            if name in kept or name not in self.defaults or value is not self.defaults[name]
        }

    def rebuilt(self) -> types.FunctionType:
        """Return the function of the frame, without its decorators."""
        code, values = self.frame.f_code, self.frame.f_locals
        cells = tuple(
            types.CellType(values[name]) if name in values else types.CellType() for name in code.co_freevars
        )
        defaults = self.own.__defaults__ if self.own else None
        function = types.FunctionType(code, self.frame.f_globals, code.co_name, defaults, cells or None)
        function.__kwdefaults__ = self.own.__kwdefaults__ if self.own else None
        return function


def names_read(site: CallSite) -> set[str]:
    """Return the names that a function reads, and the methods of its object that it calls."""
    kind = type(site.arguments.get("self"))
    names: set[str] = set()
    pending = [site.code]
    while pending and len(names) < MOST_NAMES:
        for name in set(pending.pop().co_names) - names:
            names.add(name)
            found = inspect.getattr_static(kind, name, None)
            if isinstance(found, (staticmethod, classmethod)):
                found = found.__func__
            found = found.fget if isinstance(found, property) else found
            pending += [found.__code__] if isinstance(found, types.FunctionType) else []
    return names


def function_of(frame: types.FrameType) -> Any:
    """Return the function that was just called; None if it is not where its name says."""
    code = frame.f_code
    names = getattr(code, "co_qualname", code.co_name).split(".")
    first = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    kind = first if isinstance(first, type) else type(first)
    scopes: list[tuple[Any, list[str]]] = [(frame.f_globals, names)]
    scopes += [(vars(base), names[-1:]) for base in kind.__mro__]
    for scope, path in scopes:
        found = scope.get(path[0])
        for part in path[1:]:
            found = getattr(found, "__dict__", {}).get(part)
        for _ in range(20):
            found = getattr(found, "__func__", None) or getattr(found, "fget", None) or found
            if getattr(found, "__code__", None) is code:
                return found
            found = getattr(found, "__wrapped__", None)
    return None


def arguments_of(frame: types.FrameType) -> dict[str, Any]:
    """Return the arguments of a function that was just called."""
    values = frame.f_locals
    return {name: values[name] for name in parameters_of(frame.f_code)}


def decorated_function(frame: types.FrameType) -> Any:
    """Return the function that a decorator's inner function, which was just called, stands for; else None."""
    values = frame.f_locals
    for name in frame.f_code.co_freevars:
        function = inspect.unwrap(values[name]) if callable(values.get(name)) else None
        if isinstance(function, types.FunctionType):
            found: Any = sys.modules.get(function.__module__)
            for part in function.__qualname__.split("."):
                found = getattr(found, "__dict__", {}).get(part)
            found = getattr(found, "__func__", None) or getattr(found, "fget", None) or found
            if getattr(found, "__code__", None) is frame.f_code and bound_arguments(frame, function):
                return function
    return None


def bound_arguments(frame: types.FrameType, function: types.FunctionType) -> dict[str, Any]:
    """Return the arguments of a frame by the parameters of another function, none if it takes others."""
    code, given = frame.f_code, arguments_of(frame)
    rest, more = variadic_names(code)
    names = parameters_of(code)[: code.co_argcount]
    keywords = {name: given[name] for name in given if name not in (*names, rest, more)}
    try:
        bound = inspect.signature(function).bind(
            *(given[name] for name in names), *given.get(rest, ()), **keywords, **given.get(more, {})
        )
    except TypeError:
        return {}
    bound.apply_defaults()
    return {name: bound.arguments[name] for name in parameters_of(function.__code__)}


CHAIN = ("__cause__", "__context__", "__suppress_context__")
LOCKS = (type(threading.Lock()), type(threading.RLock()))


class ArgumentPickler(pickle.Pickler):
    """Pickler that stubs each object that cannot be copied or comes from a test file.

    A replayed call that uses a stub is not compared. The stored form refers to no test module.
    """

    def __init__(self, buffer: io.BytesIO, is_test: Callable[[str], bool]) -> None:
        """Write to a buffer; `is_test` tells whether a module, by its name, is one of the tests."""
        super().__init__(buffer)
        self.is_test = is_test

    def reducer_override(self, value: Any) -> Any:
        """Return how to make a copy, in the form of pickle's reducers."""
        if isinstance(value, types.ModuleType):
            return importlib.import_module, (value.__name__,)
        if isinstance(value, (types.FunctionType, type)):
            name, module = value.__qualname__, value.__module__
            if "<" not in name and not self.is_test(module):
                return NotImplemented
            if isinstance(value, types.FunctionType):
                return call_in_replay("function_stub", name)
            kept = (*PLAIN, types.FunctionType)
            members = {name: item for name, item in vars(value).items() if isinstance(item, kept)}
            members["__getattr__"] = members.get("__getattr__", lambda *_: None)  # a stub, too
            return type(value), (value.__name__, value.__bases__, members)
        if isinstance(value, LOCKS):
            return (threading.RLock if isinstance(value, LOCKS[1]) else threading.Lock), ()
        if type(value).__module__ == "sqlite3" and hasattr(value, "iterdump"):
            return call_in_replay("database_of", "".join(value.iterdump()))
        try:
            reduced: Any = value.__reduce_ex__(pickle.DEFAULT_PROTOCOL)
        except Exception:  # noqa: BLE001 - whatever their own methods raise
            return call_in_replay("ObjectStub")
        if isinstance(value, BaseException) and type(value).__setstate__ is BaseException.__setstate__:
            state = reduced[2] if len(reduced) > 2 else None
            chain = {name: getattr(value, name) for name in CHAIN}  # which exceptions do not pickle
            return (*reduced[:2], {**(state or {}), **chain})
        return NotImplemented


def call_in_replay(name: str, argument: str = "") -> tuple[Any, tuple[str, dict[str, list[str]]]]:
    """Return how to call a function of `coder_values` with a text, in the form of pickle's reducers."""
    return eval, (f"__import__('__main__').{name}(*arguments)", {"arguments": [argument] if argument else []})


def pickle_arguments(
    arguments: dict[str, Any], is_test: Callable[[str], bool], most: int = MOST_PICKLED
) -> str | None:
    """Return arguments in pickled form, None if they cannot be copied or have more bytes than `most`."""
    buffer = io.BytesIO()
    try:
        ArgumentPickler(buffer, is_test).dump(arguments)
        data = buffer.getvalue()
    except Exception:  # noqa: BLE001 - whatever their own methods raise
        return None
    return base64.b64encode(data).decode("ascii") if len(data) <= most else None


def wait_for(child: int, seconds: float) -> bool:
    """Wait for a child and tell whether it ended by itself within so many seconds; else kill it.

    Its own forks end by themselves.
    """
    deadline = time.monotonic() + seconds
    while not os.waitpid(child, os.WNOHANG)[0]:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return False
        time.sleep(0.002)
    return True
