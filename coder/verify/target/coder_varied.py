"""Makes further calls out of recorded ones; it runs in the project's interpreter.

Each has one argument changed: to what another call gave for it, or to a value near its own. Nothing is left to chance.
Stdlib only, Python 3.8 or later.
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
"""So many attributes of a plain record that is given are changed, each in so many ways."""
OWN = ("self", "cls")
KINDS = (type(None), bool, int, float, str, bytes, tuple, list, dict, set, frozenset)


def varied(calls: list[Any], most: int) -> list[Any]:
    """The calls themselves, then ones with a single argument changed, round by round: at most so many."""
    given_to = pools(calls)
    rows = []
    for module, name, given in calls:
        columns = [
            [(key, new) for new in (*changes(value, given_to[module, name, key]), *records(key, value))]
            for key, value in given.items()
        ]
        turns = [item for round_ in itertools.zip_longest(*columns) for item in round_ if item is not None]
        rows.append([(module, name, {**given, key: new}) for key, new in turns])
    rounds = [item for row in itertools.zip_longest(*rows) for item in row if item is not None]
    return [*calls, *rounds][:most]


def pools(calls: list[Any]) -> dict[Any, list[Any]]:
    """What all calls of a function give for each of its parameters, as far as it is plain."""
    found: dict[Any, list[Any]] = {}
    for module, name, given in calls:
        for key, value in given.items():
            pool = found.setdefault((module, name, key), [])
            if plain(value) and len(pool) < MOST_OTHERS and not any(same(value, item) for item in pool):
                pool.append(value)
    return found


def changes(value: Any, pool: list[Any]) -> list[Any]:
    """What others gave and what is near, by turns; each once."""
    others = [item for item in pool if not same(item, value)] if plain(value) else []
    found: list[Any] = []
    for new in itertools.chain.from_iterable(itertools.zip_longest(variants(value), others, fillvalue=value)):
        if new is not value and not same(new, value) and not any(same(new, item) for item in found):
            found.append(new)
    return found


def records(name: str, value: Any) -> list[Any]:
    """Objects like a plain record that is given, each with an attribute changed; a method's own object is left to its methods."""
    held = getattr(value, "__dict__", None)
    found: list[Any] = []
    if (
        type(held) is not dict
        or name in OWN
        or callable(value)
        or not all(plain(item) for item in held.values())
    ):
        return found
    for attribute, one in [*held.items()][:MOST_ATTRIBUTES]:
        for new in variants(one)[:OF_ATTRIBUTE]:
            with contextlib.suppress(Exception):
                made = copy.copy(value)
                vars(made)[attribute] = new
                found.append(made)
    return found


def variants(value: Any) -> list[Any]:
    """Values near one."""
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
        return sequences(value)
    if type(value) is dict:
        items = list(value.items())
        other = [dict([(key, new), *items[1:]]) for key, one in items[:1] for new in variants(one)[:2]]
        return [dict(items[1:]), dict(items[:-1]), *other, {}]
    if type(value) in (set, frozenset):
        ordered = sorted(value, key=repr)
        return [type(value)(ordered[1:]), type(value)()]
    return quantities(value)


def quantities(value: Any) -> list[Any]:
    """Days, durations and other kinds of numbers near one; none where they cannot be reckoned with."""
    with contextlib.suppress(Exception):
        if isinstance(value, date):
            return [value + timedelta(days) for days in (1, -1, 2, 40)]
        if isinstance(value, (timedelta, numbers.Number)):
            made: Any = value
            return [made * 2, -made, made * 0]
    return []


def texts(value: str) -> list[str]:
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


def sequences(value: Any) -> list[Any]:
    """Fewer and more elements, another order, another first or last element."""
    kind = type(value)
    near = [value[:-1], value[1:], value[::-1], value + value, value + value[:1]]
    for place in (0, len(value) - 1) if value else ():
        near += [kind([*value[:place], new, *value[place + 1 :]]) for new in variants(value[place])[:3]]
    return [*near, kind()]


def plain(value: Any) -> bool:
    """Is it a value that can be shared between calls?"""
    if type(value) in (tuple, list):
        return len(value) <= 20 and all(plain(item) for item in value)
    return value is None or type(value) in (bool, int, float, str, bytes)


def same(one: Any, other: Any) -> bool:
    """Are they of one kind and written alike? Equal is too little: so are True and 1."""
    return type(one) is type(other) and isinstance(one, KINDS) and repr(one) == repr(other)
