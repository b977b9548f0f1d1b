"""Replay of recorded calls outside of any test, each in a fork of a process that imported the project alone.

Reads a JSON file, named on the command line, with `tree`, `directory` (to work in), `path` (directories to
import from), `ignored`, `changed`, `seconds`, `repeat`, `later` (whether the clock is moved) and `calls`
(module, name, code, data, environment); writes JSON lines to standard output: an object with the names of the
standard library that the project has `replaced`, then for each call its answers, two where equal calls are
answered differently. Standard library only, Python 3.8 or later.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import importlib
import json
import os
import pickle
import random
import sys
import tempfile
import time
from typing import Any

from coder_values import (  # type: ignore[import-not-found]  # joined to this module before it runs
    NOT_COMPARED,
    Texts,
    answer_of,
    call_with,
    defaults_of,
    forbid_effects,
    in_fork,
    parameters_of,
    variadic_names,
)

REPEAT_SECONDS = 0.3


def replay(job: dict[str, Any]) -> None:
    """Answer all calls of a job."""
    os.chdir(job["directory"])
    if job["later"]:
        move_clock(1200 * 86400.0)
    sys.path[:0] = job["path"]
    random.seed(0)
    texts = Texts(os.path.realpath(job["tree"]), frozenset(job["ignored"]), job["changed"])
    results = os.dup(1)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    for module in dict.fromkeys(call["module"] for call in job["calls"]):
        try:
            importlib.import_module(module)
        except BaseException:  # noqa: BLE001, S112 - it is missing for all of its calls
            continue
    replaced = json.dumps({"replaced": sorted(replaced_names(texts.tree))})
    os.write(results, replaced.encode("utf-8") + b"\n")
    deadline = time.monotonic() + job["seconds"]
    for call in job["calls"]:

        def answer(call: dict[str, Any] = call) -> str:
            return json.dumps(answer_repeatedly(call, texts, job["repeat"]))

        text = in_fork(answer, 2.0) if time.monotonic() < deadline else NOT_COMPARED
        line = text if text.startswith("[") else json.dumps([text])
        os.write(results, line.encode("utf-8") + b"\n")


def replaced_names(tree: str) -> set[str]:
    """Return the functions and methods of the standard library whose code is in the tree."""
    library = os.path.realpath(os.__file__).rpartition("os.py")[0]
    found = set()
    for module_name, module in list(sys.modules.items()):
        path = os.path.realpath(getattr(module, "__file__", None) or library + "builtin")
        if module_name == "__main__" or not path.startswith(library) or "site-packages" in path:
            continue
        for name, value in list(vars(module).items()):
            members = {name: value}
            if isinstance(value, type) and value.__module__ == module_name:
                members = {f"{name}.{member}": item for member, item in list(vars(value).items())}
            for member, item in members.items():
                code = getattr(getattr(item, "__func__", item), "__code__", None)
                path = getattr(code, "co_filename", "")
                if path.startswith("/") and os.path.realpath(path).startswith(tree + os.sep):
                    found.add(f"{module_name}.{member}")
    return found


def answer_repeatedly(call: dict[str, Any], texts: Any, most: int) -> list[str]:
    """Return the different answers to a call, the first two; repeat it `most` times as far as it is quick."""
    called, function = find_function(sys.modules.get(call["module"]), call["name"], call["code"])
    if function is None:
        return ["missing"]
    if not os.path.realpath(function.__code__.co_filename).startswith(texts.tree + os.sep):
        return [NOT_COMPARED]  # another installation of the project
    for variable, text in call["environment"].items():
        if text is None:
            os.environ.pop(variable, None)
        else:
            os.environ[variable] = text
    printed = tempfile.TemporaryFile()  # noqa: SIM115 - sys.stdout stays what it is in a program
    os.dup2(printed.fileno(), 1)
    os.dup2(printed.fileno(), 2)
    sys.addaudithook(forbid_effects)
    found: list[str] = []
    end = time.monotonic() + REPEAT_SECONDS
    for repetition in range(most):
        random.seed(repetition)
        try:
            arguments = pickle.loads(base64.b64decode(call["data"]))
        except BaseException:  # noqa: BLE001 - a module of the tests is not there
            return [NOT_COMPARED]
        text = answer_once(called, function, arguments, texts, printed)
        if text not in found:
            found.append(text)
        if time.monotonic() > end:
            break
    return found[:2]


def answer_once(called: Any, function: Any, arguments: dict[str, Any], texts: Any, printed: Any) -> str:
    """Call a function, decorated as `called`, and return what came out as text.

    `printed` is the file of standard output.
    """
    code = function.__code__
    defaults = {*defaults_of(function), *variadic_names(code)}
    if not {*arguments} <= {*parameters_of(code)} <= {*arguments, *defaults}:
        return "missing"
    printed.seek(0)
    printed.truncate()

    def read_output() -> str:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        printed.seek(0)
        return printed.read().decode("utf-8", "replace")  # type: ignore[no-any-return]

    text: str = answer_of(lambda: call_with(called, code, arguments), code, arguments, texts, read_output)
    return text


def find_function(module: Any, name: str, code_name: str) -> tuple[Any, Any]:
    """Return what to call for a qualified name, and the plain function below its decorators; None for none.

    What is called is the outermost function whose code has that name, else the plain one.
    """
    found = module
    for part in name.split("."):
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    called = None
    for _ in range(20):
        found = getattr(found, "__func__", None) or getattr(found, "fget", None) or found
        own_name = getattr(getattr(found, "__code__", None), "co_name", "")
        if own_name == code_name and called is None:
            called = found
        if own_name == name.rpartition(".")[2]:
            return called or found, found
        found = getattr(found, "__wrapped__", None) or getattr(found, "func", None)
        if found is None:
            break
    return None, None


def move_clock(seconds: float) -> None:
    """Let the clock show another day."""
    real, real_ns = time.time, time.time_ns
    time.time = lambda: real() + seconds
    time.time_ns = lambda: real_ns() + int(seconds * 1e9)
    dates: Any = datetime.date
    moments: Any = datetime.datetime
    shift = datetime.timedelta(seconds=seconds)
    today = classmethod(lambda _: dates.today() + shift)
    now = classmethod(lambda _, tz=None: moments.now(tz) + shift)
    replaced: Any = datetime
    replaced.date = AnotherClock("datetime.date", (dates,), {"today": today})
    methods = {"now": now, "utcnow": now, "today": now}
    replaced.datetime = AnotherClock("datetime.datetime", (moments,), methods)


class AnotherClock(type):
    """Class of a replaced class, which has its instances; they are shown by the full name."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.__base__)  # type: ignore[arg-type]
