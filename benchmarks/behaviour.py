"""Differential test of a function in two versions, on the tests' calls and variations of these.

Run inside the project's interpreter it is a recorder (a pytest plugin, `-p behaviour`) or a player:

    BEHAVIOUR_TARGET=module:Qualified.name BEHAVIOUR_FILE=calls.pickle python -m pytest -p behaviour ...
    python behaviour.py module:Qualified.name calls.pickle     one line a call: its result or exception
"""

import contextlib
import copy
import functools
import importlib
import os
import pickle
import random
import signal
import sys
from pathlib import Path
from typing import Any

MOST_CALLS = 100
VARIATIONS = 20
DEPTH = 4
"""Depth to which the state of objects is compared."""
_calls: list[bytes] = []


def _resolve(target: str) -> tuple[Any, str, Any]:
    """Return the holder of a function, its name there, and the function itself."""
    module, _, qualified = target.partition(":")
    holder: Any = importlib.import_module(module)
    *outer, name = qualified.split(".")
    for part in outer:
        holder = getattr(holder, part)
    return holder, name, vars(holder)[name]


def _unwrap(member: Any) -> Any:
    """Return the function that a class keeps as a static method, a class method or a property."""
    return member.fget if isinstance(member, property) else getattr(member, "__func__", member)


def pytest_configure(config: Any) -> None:
    target = os.environ["BEHAVIOUR_TARGET"]
    holder, name, member = _resolve(target)
    function = _unwrap(member)

    @functools.wraps(function)
    def record_call(*args: Any, **kwargs: Any) -> Any:
        if len(_calls) < MOST_CALLS:
            with contextlib.suppress(Exception):  # a value that cannot be pickled is no input
                _calls.append(pickle.dumps((args, kwargs)))
        return function(*args, **kwargs)

    wrapped: Any = (
        type(member)(record_call) if isinstance(member, staticmethod | classmethod) else record_call
    )
    if isinstance(member, property):
        wrapped = property(record_call, member.fset, member.fdel)
    setattr(holder, name, wrapped)
    for module in [module for module in sys.modules.values() if module is not None]:
        for other, value in [*getattr(module, "__dict__", {}).items()]:
            if value is member and module is not holder:
                setattr(module, other, wrapped)


def pytest_unconfigure(config: Any) -> None:
    Path(os.environ["BEHAVIOUR_FILE"]).write_bytes(pickle.dumps(list(dict.fromkeys(_calls))))


def vary(value: Any, rng: random.Random) -> Any:
    """Return a value near another one."""
    match value:
        case bool():
            return not value
        case int():
            return rng.choice((0, 1, 2, -1, value + 1, value - 1, -value, value * 2, rng.randrange(100)))
        case float():
            return rng.choice((0.0, -value, value + 0.5, value * 1.5))
        case str():
            letters = vary([*value], rng)
            return rng.choice(("".join(letters), value.upper(), f" {value}", _scramble(value, rng)))
        case list():
            return _rearrange(value, rng)
        case tuple():
            return tuple(_rearrange([*value], rng))
        case dict() if value:
            key = rng.choice([*value])
            return {**value, key: vary(value[key], rng)}
        case None:
            return rng.choice((0, "", 1))
        case _:
            return value


def _rearrange(items: list[Any], rng: random.Random) -> list[Any]:
    """Return fewer items, more of them, in another order, or one of them varied."""
    at = rng.randrange(len(items) + 1)
    result = [*items]
    if items:
        result[at - 1] = vary(items[at - 1], rng) if not isinstance(items[at - 1], str) else rng.choice(items)
    return rng.choice(
        ([], items[:at], items[at:], items * 2, items[::-1], rng.sample(items, len(items)), result)
    )


def _scramble(text: str, rng: random.Random) -> str:
    """Return any text of its characters, and of one more."""
    return "".join(rng.choices(f"{text}b", k=rng.randrange(1, 10)))


def inputs(calls: list[bytes]) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Return the calls, and each some times more with one argument varied."""
    rng = random.Random(0)
    variants = []
    for call in calls:
        args, kwargs = pickle.loads(call)
        variants.append((args, kwargs))
        for _ in range(VARIATIONS if args else 0):
            at = rng.randrange(len(args))
            variants.append(((*args[:at], vary(args[at], rng), *args[at + 1 :]), kwargs))
    return variants


def describe_value(value: Any, depth: int = DEPTH) -> str:
    """Return a value's text, independent of addresses, with its contents; iterators are read, at most a
    hundred items.
    """
    if hasattr(value, "__next__"):
        return f"iterator {[describe_value(item) for _, item in zip(range(100), value, strict=False)]}"
    text = repr(value)
    if " at 0x" not in text:
        return text
    name = type(value).__name__
    if depth == 0:
        return name
    match value:
        case dict():
            return (
                f"{name} "
                f"{[(describe_value(k, depth - 1), describe_value(v, depth - 1)) for k, v in value.items()]}"
            )
        case list() | tuple():
            return f"{name} {[describe_value(held, depth - 1) for held in value]}"
        case set() | frozenset():
            return f"{name} {sorted(describe_value(held, depth - 1) for held in value)}"
        case _:
            slots = [name for kind in type(value).__mro__ for name in _names(vars(kind).get("__slots__", ()))]
            held = {
                **getattr(value, "__dict__", {}),
                **{name: getattr(value, name) for name in slots if hasattr(value, name)},
            }
            return f"{name} {[(entry, describe_value(held[entry], depth - 1)) for entry in sorted(held)]}"


def _names(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else (*slots,)


def _raise_timeout(*_: Any) -> None:
    raise TimeoutError


def play(target: str, file: str) -> None:
    *_, member = _resolve(target)
    function = _unwrap(member)
    signal.signal(signal.SIGALRM, _raise_timeout)
    for args, kwargs in inputs(pickle.loads(Path(file).read_bytes())):
        call_copy = copy.deepcopy((args, kwargs))
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        try:
            line = (
                describe_value(function(*call_copy[0], **call_copy[1])) + f" {describe_value(call_copy[0])}"
            )
        except Exception as error:  # noqa: BLE001 (an error is an answer too)
            line = type(error).__name__
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        print(line.replace("\n", "\\n")[:2000])


if __name__ == "__main__":
    play(sys.argv[1], sys.argv[2])
