"""Comparison of edits by their answers to the calls that tests make, each edit in its own fork.

The questions that tell edits apart are recorded calls, variations of them, and documented examples.
"""

# ruff: noqa: PTH118, PTH123, B905 - a test may have replaced pathlib; zip is strict from Python 3.10 on
from __future__ import annotations

import contextlib
import copy
import copyreg
import doctest
import inspect
import io
import itertools
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from types import FrameType, GeneratorType, MappingProxyType, ModuleType, TracebackType
from typing import Any

from coder_fork import ForkedChild  # type: ignore[import-not-found]  # on the import path of the run
from coder_limits import TooLong  # type: ignore[import-not-found]
from coder_swap import key_of  # type: ignore[import-not-found]
from coder_varied import vary_calls  # type: ignore[import-not-found]

RECORDING_LIMIT = 5.0
"""Processor time limit, in seconds, for a test whose calls are recorded."""
COMPARE_SECONDS, FIRST_SHARE = 10.0, 0.25
"""Time limit in seconds for all answers of one candidate; share of the whole time for recording the calls,
and for the answers of the unchanged code.
"""
SLOW = 0.1
"""Seconds after which a call of the unchanged code is not repeated, to leave time for the others."""


class EditComparison:
    """The comparison for one request."""

    def __init__(self, trials: Any) -> None:
        self.trials = trials
        self.request: dict[str, Any] = trials.request
        self.before: list[str] = []

    def compare(self) -> None:
        """Write the answers of the unchanged code, twice, and of each candidate to the same calls.

        The calls are those that the tests make, and variations of them.
        """
        with open(self.request["candidates"], encoding="utf-8") as file:
            candidates = [json.loads(line) for line in file]
        child = ForkedChild(candidates, self.answers, seconds=self.request["seconds"])
        for answer in self.trials.wait_for_answers(child):
            self.trials.write(**answer)

    def answers(self, candidates: list[Any]) -> Iterator[Any]:
        """Record the calls and yield all answers; runs in a fork, which forks again for each candidate."""
        functions = {each["function"]: each["path"] for each in candidates if each["function"] is not None}
        edited = (self.key_of(path, self.request["functions"][number]) for number, path in functions.items())
        sources = (os.path.join(self.request["tree"], path) for path in self.request["sources"])
        recorder = Recorder(frozenset(sources), frozenset(edited))
        recording_end = time.monotonic() + self.seconds_left * FIRST_SHARE
        for test in [*self.trials.targets, *self.request["guards"]]:
            if test in self.trials.items and time.monotonic() < recording_end:
                recorder.begin(failing=test in self.trials.targets)
                sys.setprofile(recorder)
                self.trials.run(test, None, RECORDING_LIMIT)
                sys.setprofile(None)
        paths = dict.fromkeys(os.path.join(self.request["tree"], each["path"]) for each in candidates)
        imported = self.trials.swapper.imported
        questions = Questions(recorder, [imported[path] for path in paths if path in imported])
        base_answers = self.answers_in_fork(None, questions, self.seconds_left * FIRST_SHARE)
        questions.keep([seconds < SLOW for _, seconds in base_answers])
        self.before = [candidate_answers for candidate_answers, seconds in base_answers if seconds < SLOW]
        yield {"index": -1, "calls": questions.as_text()}
        yield {"index": -1, "answers": self.before}
        others = [(-1, None), *enumerate(candidates)]
        for number, (index, candidate) in enumerate(others):
            share = self.seconds_left / (len(others) - number)
            answers = self.answers_in_fork(candidate, questions, share)
            yield {"index": index, "answers": [answer for answer, _ in answers]}

    @property
    def seconds_left(self) -> float:
        """Seconds left until the deadline."""
        return float(self.trials.deadline - time.monotonic())

    def key_of(self, path: str, function: dict[str, Any]) -> Any:
        """Return the key that coder_swap.key_of gives the function's code."""
        return os.path.join(self.request["tree"], path), function["name"], function["line"]

    def answers_in_fork(
        self, candidate: dict[str, Any] | None, questions: Questions, seconds: float
    ) -> list[Any]:
        """Return the answers of one candidate from its own fork, each with its seconds.

        Answers after the time limit are missing.
        """
        limit = min(seconds, COMPARE_SECONDS)
        child = ForkedChild([], lambda _batch: self.answer(candidate, questions, limit), seconds=limit)
        return list(self.trials.wait_for_answers(child))

    def answer(self, candidate: dict[str, Any] | None, questions: Questions, seconds: float) -> Iterator[Any]:
        """Yield the answers of one candidate.

        If they equal those of the unchanged code and the function ran before, the module is executed again
        first.
        """
        deadline = time.monotonic() + seconds
        undo = None if candidate is None else self.trials.put_into_effect(candidate, alone=True)
        if undo is None or not self.trials.swapper.stale:
            yield from self.timed_answers(questions, deadline)
            return
        answers = [*self.timed_answers(questions, deadline)]
        if [answer for answer, _ in answers] == self.before[: len(answers)]:
            undo()  # objects made by the old function may hide the difference
            self.trials.put_into_effect(candidate, alone=True, again=True)
            answers = [*self.timed_answers(questions, deadline)]
        yield from answers

    def timed_answers(self, questions: Questions, deadline: float) -> Iterator[Any]:
        """Yield each answer with its seconds, up to the first one after the deadline."""
        before = time.monotonic()
        for answer in questions.answers():
            after = time.monotonic()
            yield answer, after - before
            if after > deadline:
                return
            before = time.monotonic()


MOST, MOST_INNER = 320, 160
"""Limits of calls into the project, and of calls of the edited functions, variations included."""
MOST_EXAMPLES = 60
SHOWN, AS_DOCUMENTED = ">>> ", "as documented"
"""Prefix of examples among the calls, and the answer of an example with the documented result."""


class Questions:
    """The same questions for each edit."""

    def __init__(self, recorder: Recorder, modules: list[Any]) -> None:
        self.calls = [*vary_calls(recorder.inner, MOST_INNER), *vary_calls(recorder.calls, MOST)]
        self.modules = modules
        self.examples = [*examples(modules)]

    def keep(self, flags: list[bool]) -> None:
        """Drop the questions whose flag is false; questions without a flag are dropped as well."""
        example_flags = flags[len(self.calls) :]
        self.calls = [call for call, keep in zip(self.calls, flags) if keep]
        self.examples = [example for example, keep in zip(self.examples, example_flags) if keep]

    def as_text(self) -> list[str]:
        return [*(call_text(call) for call in self.calls), *self.examples]

    def answers(self) -> Iterator[str]:
        """Yield one answer per question, in order."""
        yield from answers(self.calls)
        yield from example_answers(self.examples, self.modules)


def examples(modules: list[Any]) -> dict[str, Any]:
    """Return the docstrings of modules that contain examples, as doctests by the documented name."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    tests: dict[str, Any] = {}
    for module in modules:
        with contextlib.suppress(
            Exception
        ):  # attributes may raise anything when inspected: the module then has no examples
            tests.update(
                {SHOWN + test.name: test for test in finder.find(module, module.__name__) if test.examples}
            )
    return dict(list(tests.items())[:MOST_EXAMPLES])


def example_answers(names: list[str], modules: list[Any]) -> Iterator[str]:
    """Yield one answer for each docstring."""
    signal.signal(signal.SIGPROF, too_long)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    tests = examples(modules)
    for name in names:
        if name not in tests:
            yield "gone"
            continue
        try:
            signal.setitimer(signal.ITIMER_PROF, 2 * CALL_SECONDS, 0.05)
            failed, tried = runner.run(tests[name], out=io.StringIO().write)[:2]
            signal.setitimer(signal.ITIMER_PROF, 0)
            yield f"{failed} of {tried} otherwise" if failed else AS_DOCUMENTED
        except BaseException as error:  # noqa: BLE001 - any exception is the answer
            signal.setitimer(signal.ITIMER_PROF, 0)
            yield f"raises {type(error).__name__}"


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
