"""Variations of recorded calls, for differential testing of edits.

Each has one argument changed, to what another call passed for it or to a value near its own. Deterministic.
Runs in the project's interpreter. Standard library only, Python 3.8 or later.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import numbers
from datetime import date, timedelta
from typing import Any

MOST_OTHERS = 6
MOST_ATTRIBUTES, OF_ATTRIBUTE = 4, 4
"""Number of attributes of a plain record argument that are changed, and of changes of each."""
OWN = ("self", "cls")
KINDS = (type(None), bool, int, float, str, bytes, tuple, list, dict, set, frozenset)


def vary_calls(calls: list[Any], most: int) -> list[Any]:
    """Return the calls, then calls with one argument changed, round by round, at most `most` in all."""
    given_to = argument_pools(calls)
    rows = []
    for module, name, arguments in calls:
        columns = [
            [
                (key, new)
                for new in (*changed_values(value, given_to[module, name, key]), *changed_records(key, value))
            ]
            for key, value in arguments.items()
        ]
        turns = [
            variation
            for round_ in itertools.zip_longest(*columns)
            for variation in round_
            if variation is not None
        ]
        rows.append([(module, name, {**arguments, key: new}) for key, new in turns])
    rounds = [variation for row in itertools.zip_longest(*rows) for variation in row if variation is not None]
    return [*calls, *rounds][:most]


def argument_pools(calls: list[Any]) -> dict[Any, list[Any]]:
    """Return the plain values that all calls of a function pass for each of its parameters."""
    values_by_parameter: dict[Any, list[Any]] = {}
    for module, name, arguments in calls:
        for key, value in arguments.items():
            pool = values_by_parameter.setdefault((module, name, key), [])
            is_new = not any(is_same(value, known) for known in pool)
            if is_plain(value) and len(pool) < MOST_OTHERS and is_new:
                pool.append(value)
    return values_by_parameter


def changed_values(value: Any, pool: list[Any]) -> list[Any]:
    """Return nearby values and values of other calls, alternating, each once."""
    others = [item for item in pool if not is_same(item, value)] if is_plain(value) else []
    new_values: list[Any] = []
    pairs = itertools.zip_longest(nearby_values(value), others, fillvalue=value)
    for new in itertools.chain.from_iterable(pairs):
        if new is not value and not any(is_same(new, item) for item in (value, *new_values)):
            new_values.append(new)
    return new_values


def changed_records(name: str, value: Any) -> list[Any]:
    """Return copies of a plain record, each with one attribute changed; none for a method's own object."""
    attributes = getattr(value, "__dict__", None)
    copies: list[Any] = []
    if (
        type(attributes) is not dict
        or name in OWN
        or callable(value)
        or not all(is_plain(item) for item in attributes.values())
    ):
        return copies
    for attribute, old in [*attributes.items()][:MOST_ATTRIBUTES]:
        for new in nearby_values(old)[:OF_ATTRIBUTE]:
            with contextlib.suppress(Exception):
                changed = copy.copy(value)
                vars(changed)[attribute] = new
                copies.append(changed)
    return copies


def nearby_values(value: Any) -> list[Any]:
    """Return values near the given one."""
    if value is None:
        return [0, "", 1]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1, 0, -value, value * 2, value + 10]
    if isinstance(value, float):
        return [value + 1, 0.0, -value, value / 2]
    if isinstance(value, str):
        return texts(value)
    if isinstance(value, bytes):
        return [value[:-1], value[1:], value + value, b"", b"a", value[::-1]]
    if type(value) in (list, tuple):
        return nearby_sequences(value)
    if type(value) is dict:
        items = list(value.items())
        other = [dict([(key, new), *items[1:]]) for key, old in items[:1] for new in nearby_values(old)[:2]]
        return [dict(items[1:]), dict(items[:-1]), *other, {}]
    if type(value) in (set, frozenset):
        ordered = sorted(value, key=repr)
        return [type(value)(ordered[1:]), type(value)()]
    return nearby_quantities(value)


def nearby_quantities(value: Any) -> list[Any]:
    """Return dates, durations and other numbers near the given one; none if arithmetic fails."""
    with contextlib.suppress(Exception):
        if isinstance(value, date):
            return [value + timedelta(days) for days in (1, -1, 2, 40)]
        if isinstance(value, (timedelta, numbers.Number)):
            number: Any = value
            return [number * 2, -number, number * 0]
    return []


def texts(value: str) -> list[str]:
    """Return strings near the given one."""
    middle = len(value) // 2
    if not value:
        return ["a", " ", "-", "aB1", "a b"]
    doubled = f"{value[:middle]}{value[middle]}{value[middle:]}"
    return [
        value[:-1],
        value[1:],
        value.swapcase(),
        f"{value} {value}",
        value[::-1],
        doubled,
        f" {value}",
        f"{value}\n",
        "",
        f"-{value}",
        "a",
    ]


def nearby_sequences(value: Any) -> list[Any]:
    """Return sequences with fewer, more, reordered or changed elements."""
    kind = type(value)
    near = [value[:-1], value[1:], value[::-1], value + value, value + value[:1]]
    for index in (0, len(value) - 1) if value else ():
        near += [kind([*value[:index], new, *value[index + 1 :]]) for new in nearby_values(value[index])[:3]]
    return [*near, kind()]


def is_plain(value: Any) -> bool:
    """Tell whether a value can be shared between calls."""
    if type(value) in (tuple, list):
        return len(value) <= 20 and all(is_plain(item) for item in value)
    return value is None or type(value) in (bool, int, float, str, bytes)


def is_same(first: Any, second: Any) -> bool:
    """Tell whether two values have the same type and representation.

    Equality is too weak: True equals 1.
    """
    return type(first) is type(second) and isinstance(first, KINDS) and repr(first) == repr(second)
