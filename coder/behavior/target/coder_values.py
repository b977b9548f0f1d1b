"""Values of calls: a comparable text of each, variations of them, and answers.

Runs in the project's interpreter. Standard library only, Python 3.8 or later.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import fcntl
import inspect
import itertools
import os
import re
import select
import signal
import stat
import sys
import time
import types
import zlib
from collections.abc import Callable, Collection, Iterator
from typing import Any

DEEPEST, MOST_ELEMENTS, LONGEST, LONGEST_ANSWER = 4, 40, 400, 4_000
MOST_DIGESTED = 2_000
"""Values that tell containers apart which are too long to be written."""
SIMPLE = re.compile(r"[\w.]*(?:[(\[{'\"<].*)?$", re.DOTALL)
"""Text of a value whose attribute is written without parentheses around it."""
ADDRESS = re.compile(
    r" at 0x[0-9a-fA-F]+|\b(?:0x)?(?:7[ef]|5[56])[0-9a-f]{10}\b"
    r"|(?<![\d.])(?:1(?:39|40)|9[345])\d{12}(?![\d.])"
)
"""An address as Python writes it, or as a project writes `id(...)` on a 64-bit Linux."""
TEMPORARY = re.compile(r"/[\w./-]*?/(pytest-of-[^/'\"]+/pytest-\d+|tmp[a-z0-9_]{8})")
NOT_COMPARED = "not compared"
MOST_ITEMS = 30
MOST_COPIED = 1_000_000
"""Bytes of an open file that a repeated call has a copy of."""
EFFECTS = frozenset(
    [
        *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate"),
        *("os.chmod", "os.kill", "os.system", "os.exec", "os.posix_spawn", "os.putenv", "shutil.rmtree"),
        *("shutil.move", "subprocess.Popen", "socket.connect", "socket.bind", "sqlite3.connect"),
    ]
)
INSTANCE = "an instance"
"""Answer of `__init__`."""
UNSORTED = (10, 9)
"""Numbers whose order is another one than that of their texts."""
SEPARATORS = re.compile(r"(\W)\1*")
"""Runs of one character that belongs to no word."""
CONTAINERS = (list, tuple, dict, set, frozenset, collections.OrderedDict)
PLAIN = (type(None), bool, int, float, complex, str, bytes)
SHARED = "\x1d"
"""Mark of an object that occurs more than once: what is done to it in one place is done in all."""


class Texts:
    """Texts of values that are equal in every process, on both sides of a change."""

    def __init__(
        self, tree: str, ignored: frozenset[str] = frozenset(), changed: Collection[tuple[str, str]] = ()
    ) -> None:
        """Write values without the path of the tree, and without attributes that one side alone has; where
        functions that are `changed` ([path, name] pairs) compute a representation, by attributes.
        """
        self.tree = tree
        self.ignored = ignored
        self.changed = {(path, name.rpartition(".")[2]) for path, name in changed}
        self.computed: dict[type, bool] = {}
        self.is_deep = False
        """True while objects of the project are shown by their attributes, whatever their representation."""
        self.shown: dict[int, Any] = {}
        """Objects of the call at hand that can be altered, by id; kept, so that no id is used again."""

    def clean(self, text: str) -> str:
        """Return a text without addresses and the paths that differ from run to run."""
        return TEMPORARY.sub("/tmp", ADDRESS.sub("", text)).replace(self.tree, "")

    def shorten(self, text: str) -> str:
        """Return a text of limited length; what is cut off still tells texts apart."""
        digest = zlib.crc32(text.encode("utf-8", "replace"))
        return text if len(text) <= LONGEST else f"{text[:LONGEST]}...#{digest:08x}"

    def of_owner(self, value: Any) -> str:
        """Return the object of a method call; a long text must not hide the arguments that come after it."""
        text = self.of(value)
        is_long = len(text) > LONGEST
        return f"{type(value).__name__}(...#{zlib.crc32(text.encode()):08x})" if is_long else text

    def of(self, value: Any, depth: int = 0) -> str:
        """Return a value as it would be written, as far as possible; by structure where it has no literal."""
        kind: Any = type(value)
        if kind in PLAIN:
            return self.shorten(self.clean(repr(value)))
        if depth > DEEPEST:
            return f"...{self.tell_apart(value, 50)}"
        if isinstance(value, (dict, list, tuple, set, frozenset)):
            return f"{self.mark_shared(value)}{self.of_container(value, depth)}"
        if isinstance(
            value, (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
        ):
            return str(getattr(value, "__qualname__", None) or value.__name__)
        if kind is memoryview:
            return f"memoryview({self.of(bytes(value), depth)})"
        if kind.__module__ == "builtins" and kind.__name__.endswith("iterator"):
            return f"iter({self.of(list(itertools.islice(copy.copy(value), MOST_ELEMENTS)), depth)})"
        if hasattr(kind, "__array__") or hasattr(kind, "to_numpy"):  # NumPy and pandas show what they contain
            return self.shorten(self.clean(repr(value)))
        return f"{self.mark_shared(value)}{self.of_object(value, depth)}"

    def mark_shared(self, value: Any) -> str:
        """Return a mark for an object that came before in this call, and can be altered in both places."""
        hash_method: Any = type(value).__hash__
        if hash_method is not None and hash_method is not object.__hash__:
            return ""
        known = len(self.shown)
        self.shown.setdefault(id(value), value)
        return SHARED if len(self.shown) == known else ""

    def is_own(self, kind: type) -> bool:
        """Tell whether a class is one of the project."""
        path = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
        return os.path.realpath(path).startswith(self.tree + os.sep) if path else False

    def of_container(self, value: Any, depth: int) -> str:
        """Return a container with its elements, the first ones."""
        kind: Any = type(value)
        name = kind.__name__
        if isinstance(value, dict):
            pairs = [
                f"{self.of(key, depth + 1)}: {self.of(item, depth + 1)}"
                for key, item in itertools.islice(value.items(), MOST_ELEMENTS)
            ]
            if len(value) > MOST_ELEMENTS:
                pairs.append(f"...{self.tell_apart(value)}")
            return f"{'' if kind is dict else name}{{{', '.join(pairs)}}}"
        if isinstance(value, (list, tuple)):
            items = [self.of(item, depth + 1) for item in value[:MOST_ELEMENTS]]
            if len(value) > MOST_ELEMENTS:
                items.append(f"...({len(value)}){self.tell_apart(value)}")
            comma = "," if kind is tuple and len(value) == 1 else ""
            left, right = "[]" if isinstance(value, list) else "()"
            return f"{'' if kind in (list, tuple) else name}{left}{', '.join(items)}{comma}{right}"
        if len(value) > MOST_ELEMENTS:
            return f"{'' if kind is set else name}{{...({len(value)}){self.tell_apart(value)}}}"
        items = sorted(self.of(item, depth + 1) for item in value)
        return f"{'' if kind is set else name}{{{', '.join(items)}}}"

    def tell_apart(self, container: Any, most: int = MOST_DIGESTED) -> str:
        """Return a mark that differs where the plain values in a container differ, the first ones."""

        def walk(value: Any, depth: int) -> Iterator[str]:
            yield type(value).__name__
            if type(value) in PLAIN:
                yield repr(value)
            elif depth and isinstance(value, dict):
                yield from itertools.chain.from_iterable(walk(item, depth - 1) for item in value.items())
            elif depth and isinstance(value, (list, tuple)):
                yield from itertools.chain.from_iterable(walk(item, depth - 1) for item in value)
            elif depth and isinstance(value, (set, frozenset)) and len(value) <= most:
                yield from sorted("".join(walk(item, depth - 1)) for item in value)
            yield ";"

        text = "\n".join(itertools.islice(walk(container, 8), most))
        return f"#{zlib.crc32(self.clean(text).encode('utf-8', 'replace')):08x}"

    def of_object(self, value: Any, depth: int) -> str:
        """Return an object by its own representation, else by its attributes."""
        kind = type(value)
        own_repr = vars(kind).get("__repr__", kind.__repr__) is not vars(object)["__repr__"]
        if own_repr and not (self.is_own(kind) and (self.is_deep or self.is_computed(value))):
            try:
                text = repr(value)
                fields = generated_fields(value, text) if len(text) <= 3 * MOST_ELEMENTS else None
            except Exception as error:  # noqa: BLE001 - whatever the project's own method raises
                return f"{kind.__name__}(repr raises {type(error).__name__})"
            if fields is None:
                return self.shorten(self.clean(text))
            return f"{kind.__name__}({', '.join(map(self.of, fields))})"
        return self.of_attributes(value, depth)

    def is_computed(self, value: Any) -> bool:
        """Tell whether a changed function computes the representation of a value, and of all of its class.

        Both sides would write equal values differently, and it may alter them. Asked in a fork.
        """
        kind = type(value)
        if kind not in self.computed:
            self.computed[kind] = bool(self.changed) and in_fork(lambda: self.trace(value), 0.5) == "changed"
        return self.computed[kind]

    def trace(self, value: Any) -> str:
        """Return `changed` if a changed function is called for the representation of a value."""
        called = []

        def follow(frame: types.FrameType, event: str, _argument: Any) -> None:
            path = os.path.realpath(frame.f_code.co_filename)[len(self.tree) + 1 :]
            if event == "call" and (path, frame.f_code.co_name) in self.changed:
                called.append(path)

        def represent() -> None:
            sys.setprofile(follow)
            with contextlib.suppress(Exception):  # whatever the project's own method raises
                repr(value)
            sys.setprofile(None)

        sys.call_tracing(represent, ())  # where a profiler asks
        return "changed" if called else "other"

    def of_attributes(self, value: Any, depth: int = 0) -> str:
        """Return an object by its attributes, whatever its own representation."""
        fields = [
            f"{name}={self.of(item, depth + 1)}"
            for name, item in itertools.islice(sorted(attributes_of(value).items()), MOST_ELEMENTS)
            if name not in self.ignored and not name.startswith("__")
        ]
        return f"{type(value).__name__}({', '.join(fields)})"


def generated_fields(value: Any, text: str) -> list[Any] | None:
    """Return the fields of an object, such as a dataclass, that writes them all as `Class(name=value, ...)`
    and takes them by position; None for others.
    """
    names = getattr(type(value), "__match_args__", None)
    if not names:
        return None
    fields = [getattr(value, name) for name in names]
    written = ", ".join(f"{name}={field!r}" for name, field in zip(names, fields))  # noqa: B905 - Python 3.8
    return fields if text == f"{type(value).__qualname__}({written})" else None


def attributes_of(value: Any) -> dict[str, Any]:
    """Return the attributes of an object, from its dictionary and slots, without running its code."""
    found: dict[str, Any] = {}
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            member = kind.__dict__.get(name)
            if isinstance(member, types.MemberDescriptorType):
                try:
                    found[name] = member.__get__(value, kind)
                except AttributeError:
                    continue
    dictionary = getattr(value, "__dict__", None)
    if type(dictionary) is dict:
        found.update((name, item) for name, item in dictionary.items() if isinstance(name, str))
    return found


def take_turns(rounds: list[list[Any]], most: int) -> list[Any]:
    turns = itertools.chain.from_iterable(itertools.zip_longest(*rounds, fillvalue=None))
    return list(itertools.islice((item for item in turns if item is not None), most))


def variations(
    arguments: dict[str, Any], literals: list[Any], *, near: int, far: int, read: Collection[str] = ()
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield `near` (one leaf changed, shape kept) and `far` variations of arguments, with their kind.

    `literals` are those of the changed code: they, the other arguments, and the neighbours of both are among
    the far values, and so is the object whose method is called. What it holds is varied, too: attributes
    that are `read`, if it has any. They take turns, in an order that is the same for equal arguments.
    """
    telling = [*literals, *(value for value in arguments.values() if type(value) in (int, float, str))]
    owner = arguments.get("self")
    rows: list[list[Any]] = [[], [], []]
    for name, value in arguments.items():
        if name in ("self", "cls", "mcs"):
            continue
        others = [owner] if value is not None and isinstance(owner, type(value)) else []
        far_ones = vary_safely(lambda value: far_values(value, telling), value)
        rows[0].append([("near", {**arguments, name: new}) for new in vary_safely(near_values, value)])
        rows[1].append([("far", {**arguments, name: new}) for new in (*others, *far_ones)])
    states = vary_safely(lambda value: state_values(value, read), owner)
    rows[2].append([("state", {**arguments, "self": new}) for new in states])
    counts = near, far, near
    yield from take_turns([take_turns(*row) for row in zip(rows, counts)], sum(counts))  # noqa: B905


def vary_safely(vary: Callable[[Any], list[Any]], value: Any) -> list[Any]:
    """Return variations of a value; none where its own code fails."""
    try:
        return [new for new in vary(value) if new is not value and not is_same(new, value)]
    except Exception:  # noqa: BLE001 - arithmetic or iteration of the project's own objects
        return []


def is_same(first: Any, second: Any) -> bool:
    """Tell whether two plain values are the same; True is not 1."""
    return type(first) is type(second) and type(first) in PLAIN and repr(first) == repr(second)


def near_values(value: Any, depth: int = 3) -> list[Any]:
    """Return values of the same shape with one leaf changed."""
    kind: Any = type(value)
    if kind is bool:
        return [not value]
    if kind is int:
        steps = [1, -1, 2, 10, -10, 3, 100, 7, 20, 90]
        return [value + step for step in steps if value < 0 or value + step >= 0] + [value * 2]
    if kind is float:
        return [value + 1, value // 1 + 1, value - 1, value * 2, value / 2, value + 0.25, value * 10]
    if kind is str:
        return near_texts(value)
    if kind is bytes:
        return [
            bytes([*value[:index], (value[index] + 1) % 128, *value[index + 1 :]]) for index in spread(value)
        ]
    if kind in (list, tuple) and depth:
        columns = [
            [kind([*value[:index], new, *value[index + 1 :]]) for new in near_values(value[index], depth - 1)]
            for index in spread(value)
        ]
        return take_turns(columns, 24)
    if kind is dict and depth:
        keys = [list(value)[index] for index in spread(value)]
        return take_turns(
            [[{**value, key: new} for new in near_values(value[key], depth - 1)] for key in keys], 24
        )
    return near_objects(value, depth) if depth else []


def near_objects(value: Any, depth: int) -> list[Any]:
    """Return copies of a plain object with one attribute changed, or results of its own arithmetic."""
    if value is None or callable(value) or isinstance(value, types.ModuleType):
        return []
    attributes = {name: item for name, item in attributes_of(value).items() if type(item) in PLAIN}
    copies: list[list[Any]] = []
    if attributes and any(
        "__eq__" in vars(kind) for kind in type(value).__mro__[:-1]
    ):  # a record; others are bound to their state
        for name, item in itertools.islice(attributes.items(), 4):
            copies.append([changed_copy(value, name, new) for new in near_values(item, depth - 1)[:6]])
    found = [item for item in take_turns(copies, 12) if item is not None]
    if not found:
        for operation in OPERATIONS:
            try:
                new = operation(value)
            except Exception:  # noqa: BLE001, S112 - most objects have no arithmetic
                continue
            if any(isinstance(new, base) for base in type(value).__mro__ if base.__module__ != "builtins"):
                found.append(new)
    return found


def state_values(value: Any, read: Collection[str], depth: int = 3) -> list[Any]:
    """Return copies of an object with another value of one attribute, of those that are `read` if it has any.

    Attributes of the objects that are read from it follow, `depth` levels in all. Not all of them are states
    that the object can have.
    """
    if value is None or type(value) in PLAIN or isinstance(value, (type, types.ModuleType)):
        return []
    columns: list[list[Any]] = [[], []]
    for name, item in sorted(attributes_of(value).items()):
        if type(item) in PLAIN[1:] or type(item) in CONTAINERS:
            far, near = vary_safely(lambda item: far_values(item, []), item), vary_safely(near_values, item)
            columns[name not in read].append([(name, new) for new in take_turns([far, near], 16)])
        elif name in read and depth > 1:
            inner = state_values(item, [other for other in read if other != name], depth - 1)
            columns[0].append([(name, new) for new in inner[:8]])
    rows = take_turns(columns[0] or columns[1], 24)
    copies = (changed_copy(value, name, new) for name, new in rows)
    return [other for other in copies if other is not None]


def changed_copy(value: Any, name: str, new: Any) -> Any:
    """Return a copy of an object with another value of one attribute; None if that is impossible."""
    try:
        other = copy.copy(value)
        attributes = getattr(value, "__dict__", None)
        if other is value:
            return None
        if type(attributes) is dict and getattr(other, "__dict__", None) is attributes:
            object.__setattr__(other, "__dict__", dict(value.__dict__))  # as of models of pydantic 1
        object.__setattr__(other, name, new)
    except Exception:  # noqa: BLE001 - whatever its own methods raise
        return None
    return other


OPERATIONS: Any = (
    lambda value: value + 1,
    lambda value: value * 2,
    lambda value: -value,
    lambda value: value - 1,
    *((lambda value, step=step: value + type(value - value)(step)) for step in (1, -1, 2, 30, -28, 366)),
)
"""The last ones are for dates, whose difference is of another type."""


def near_texts(value: str) -> list[str]:
    """Return texts of the same length and, as far as possible, the same kinds of characters."""
    found = []
    for offset in (1, 2, 5):
        for index in spread(value):
            found.append(value[:index] + shift_character(value[index], offset) + value[index + 1 :])
    return list(dict.fromkeys(found))[:14]


def shift_character(character: str, offset: int) -> str:
    """Return another character of the same kind."""
    for first, count in (("0", 10), ("a", 26), ("A", 26)):
        if first <= character < chr(ord(first) + count):
            return chr(ord(first) + (ord(character) - ord(first) + offset) % count)
    return {" ": "_", "/": ":", ".": ",", "-": "+"}.get(character, "." if offset == 1 else "-")


def spread(value: Any) -> list[int]:
    """Return a few positions in a sequence: both ends first, then between them."""
    size = len(value)
    return list(
        dict.fromkeys(
            index for index in (0, size - 1, size // 2, size // 4, 3 * size // 4) if 0 <= index < size
        )
    )


def far_values(value: Any, literals: list[Any]) -> list[Any]:
    """Return values of other shapes, and the literals of the changed code with their neighbours."""
    kind: Any = type(value)
    own = [item for item in literals if type(item) is kind]
    if value is None:
        return [0, "", 1, *literals[:2]]
    if kind is bool:
        return [None, 0]
    if kind in (int, float):
        around = [near for item in own[:8] for near in (item, item + 1, item - 1, item * 2)]
        return list(dict.fromkeys([0, -value, value * 10, value + 1000, *around, value * 100 + 7]))
    if kind is str:
        with_literals = [text for item in own[:6] for text in (item, value + item, item + value)]
        middle = len(value) // 2
        special = [
            value.replace(character, "") for character in dict.fromkeys(value) if not character.isalnum()
        ]
        shapes = [
            "",
            f"{value}x",
            f" {value}",
            value[:-1],
            value[1:],
            value + value,
            SEPARATORS.sub(r"\1\1", value),
            value.upper(),
            value.swapcase(),
            value[::-1],
        ]
        shapes += [value[:middle] + "-" + value[middle:], f"{value} {value}", "a", "x1"]
        return take_turns([list(dict.fromkeys(found)) for found in (shapes, special, with_literals)], 30)
    if kind is bytes:
        return [b"", value[:-1], value[1:], value + value, b"a"]
    if kind in (list, tuple):
        ends = [new for item in value[-1:] for new in far_parts(item, literals)]
        shapes = [value + value[::-1], kind(), *[kind(UNSORTED)][: len(ends)], value + value]
        parts = [value[1:], value[::-1], value[:-1], value + value[:1]] if len(value) > 1 else []
        shapes.append(tuple(value) if kind is list else list(value))
        return take_turns([[kind([*value[:-1], end]) for end in ends], shapes, parts], 14)
    if kind in (dict, collections.OrderedDict):
        items = list(value.items())
        found = [[*items, (new, item)] for key, item in items[-1:] for new in near_values(key)[:1]]
        found += [items[::-1], [(items[0][0], kind(items[-1:])), *items[1:]]] if len(items) > 1 else []
        found += [items[1:], items[:-1]] if len(items) > 1 else []
        edges = dict([*items[-1:], *items[:1]])
        parts = [
            [kind({**value, key: new}) for new in far_parts(item, literals)] for key, item in edges.items()
        ]
        return take_turns([[*map(kind, found), kind()], take_turns(parts, 6)], 12)
    if kind in (set, frozenset):
        ordered = sorted(value, key=repr)
        return [kind(ordered[1:]), kind(), kind([*ordered[:-1], 0]), kind(UNSORTED)]
    return [None]


def far_parts(value: Any, literals: list[Any]) -> list[Any]:
    """Return what may stand in the place of a value in a container; nothing for one of the project."""
    if type(value).__module__ != "builtins":
        return []
    found = far_values(value, literals)[:4]
    return [*found[:1], *[None][: value is not None], *found[1:]]


class Blocked(BaseException):
    """Raised where a repeated call would have an effect outside of its process."""

    was_raised = False
    """In this process: the call may have caught it."""

    def __init__(self) -> None:
        super().__init__()
        Blocked.was_raised = True


def variadic_names(code: types.CodeType) -> tuple[str, str]:
    """Return the names of `*` and `**` parameters, empty where there are none."""
    names = list(code.co_varnames[code.co_argcount + code.co_kwonlyargcount :])
    rest = names.pop(0) if code.co_flags & inspect.CO_VARARGS else ""
    return rest, names[0] if code.co_flags & inspect.CO_VARKEYWORDS else ""


def parameters_of(code: types.CodeType) -> list[str]:
    """Return the names of a function's parameters, variadic ones last."""
    plain = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return [*plain, *filter(None, variadic_names(code))]


def defaults_of(function: Any) -> dict[str, Any]:
    code, values = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
    return {**dict(zip(names, values)), **(function.__kwdefaults__ or {})}  # noqa: B905 - Python 3.8


def describe_call(
    code: types.CodeType,
    arguments: dict[str, Any],
    texts: Any,
    *,
    has_state: bool = False,
    is_deep: bool = False,
) -> str:
    """Return a call as it would be written, `Class(...).method(1)` where it is one of a method.

    Parameters without an argument are left out. With `has_state` the object is shown by its attributes;
    that of `__init__` has none yet. If the text `is_deep`, all objects of the project are shown so.
    """
    texts.shown, texts.is_deep = {}, is_deep
    rest, more = variadic_names(code)
    positional = code.co_varnames[: code.co_argcount]
    shown = []
    called = code.co_name
    is_by_name = False
    names = [name for name in parameters_of(code) if name not in (*positional, rest, more)]
    for name in (*positional, rest, *names, more):
        is_by_name = is_by_name or (name in positional and name not in arguments)
        if name not in arguments:
            continue
        value = arguments[name]
        if name in ("self", "cls") and name == positional[0]:
            if called == "__init__":
                called = type(value).__name__
            elif called == "__new__":
                called = value.__name__
            else:
                owner = texts.of_attributes(value) if has_state else texts.of_owner(value)
                texts.shown.setdefault(id(value), value)
                owner = owner if SIMPLE.match(owner) else f"({owner})"
                called = owner if called == "__call__" else f"{owner}.{called}"
        elif name == rest:
            shown += [texts.of(item) for item in value]
        elif name == more:
            shown += [f"{key}={texts.of(item)}" for key, item in value.items()]
        else:
            is_named = is_by_name or name in names
            shown.append(f"{name}={texts.of(value)}" if is_named else texts.of(value))
    texts.is_deep = False
    return f"{called}({', '.join(shown)})"


def answer_of(
    call: Callable[[], Any],
    code: types.CodeType,
    arguments: dict[str, Any],
    texts: Any,
    read_output: Callable[[], str],
) -> str:
    """Return what a call of the function with this code gave, as text: result or exception, arguments that it
    changed, output, and at last the state that no representation shows.
    """
    before = describe_call(code, arguments, texts, has_state=True)
    inner = describe_call(code, arguments, texts, has_state=True, is_deep=True)
    text, state = result_of(call, code, texts)
    if Blocked.was_raised or text == NOT_COMPARED:
        return NOT_COMPARED
    if text == INSTANCE and "self" in arguments:
        state = texts.of_attributes(arguments["self"])
    after = describe_call(code, arguments, texts, has_state=True)
    inner_after = describe_call(code, arguments, texts, has_state=True, is_deep=True)
    printed = texts.clean(read_output())
    text += f"; arguments now {after}" if after != before else ""
    text += f"; prints {printed[:400]!r}" if printed else ""
    hidden = [state, inner_after if after == before and inner_after != inner else ""]
    return "".join([text, *(f"; state {found}" for found in hidden if found)])


def result_of(call: Callable[[], Any], code: types.CodeType, texts: Any) -> tuple[str, str]:
    """Return the result of a call, or its exception, as text, and its state if the text does not show it."""
    try:
        result = call()
        if code.co_name == "__init__" and result is None:
            return INSTANCE, ""
        if isinstance(result, types.GeneratorType) or is_library_iterator(result):
            result = [item for item, _ in zip(result, range(MOST_ITEMS))]  # noqa: B905 - not in Python 3.8
        elif inspect.iscoroutine(result):
            result = result_of_coroutine(result)
        shown = dict(texts.shown)
        text = texts.of(result)
        texts.shown, texts.is_deep = shown, True
        inner = texts.of(result)
        return text, inner if inner != text else ""
    except BaseException as error:  # noqa: BLE001 - any exception is an answer
        return f"raises {type(error).__name__}: {texts.clean(str(error))[:200]}", ""
    finally:
        texts.is_deep = False


def is_library_iterator(value: Any) -> bool:
    """Tell whether a value is an iterator of the language, such as a `map` or a `zip`."""
    return type(value).__module__ in ("builtins", "itertools") and hasattr(type(value), "__next__")


def result_of_coroutine(coroutine: Any) -> Any:
    """Return what a coroutine returns that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise Blocked


def call_with(function: Any, code: types.CodeType, arguments: dict[str, Any]) -> Any:
    """Call a function, or its decorator's, with arguments by the names of the parameters of its `code`.

    Parameters without an argument have their defaults.
    """
    rest, more = variadic_names(code)
    names = code.co_varnames[: code.co_argcount]
    positional = list(itertools.takewhile(arguments.__contains__, names))
    by_name = [
        name for name in parameters_of(code) if name in arguments and name not in (*positional, rest, more)
    ]
    keywords = {name: arguments[name] for name in by_name}
    return function(
        *(arguments[name] for name in positional),
        *arguments.get(rest, ()),
        **keywords,
        **arguments.get(more, {}),
    )


def end_after(seconds: float) -> None:
    """Let the system end this process after so many seconds, whatever it does and whoever waits for it."""
    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def own_files() -> None:
    """Let this process use copies of the files that it shares with the one it was forked from.

    Else a repeated call would write to the files of the test, and move where the test reads.
    """
    descriptors = os.listdir("/dev/fd") if os.path.isdir("/dev/fd") else []  # noqa: PTH112, PTH208 - texts
    for descriptor in map(int, descriptors):
        with contextlib.suppress(OSError, AttributeError):  # closed since; no copies in memory on this system
            state, mode = os.fstat(descriptor), fcntl.fcntl(descriptor, fcntl.F_GETFL)
            if not stat.S_ISREG(state.st_mode) or state.st_size > MOST_COPIED:
                continue
            place = os.lseek(descriptor, 0, os.SEEK_CUR)
            copied = os.open(f"/dev/fd/{descriptor}", os.O_RDONLY)
            if mode & os.O_ACCMODE != os.O_RDONLY:
                content = os.read(copied, state.st_size)
                os.close(copied)
                copied = os.memfd_create("copy")
                os.write(copied, content)
            os.lseek(copied, place, os.SEEK_SET)
            os.dup2(copied, descriptor)
            os.close(copied)


def in_fork(produce: Callable[[], str], seconds: float, *, last: bool = False) -> str:
    """Return a text that a fork of this process produces; `time-out` or `crash` where it does not."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        end_after(seconds + 1)
        try:
            own_files()
            data = produce().encode("utf-8", "replace")
            if len(data) > LONGEST_ANSWER:  # more would wait for a reader
                data = data[: LONGEST_ANSWER - 20] + b"...#%08x" % zlib.crc32(data)
            os.write(writing, data)
        finally:
            os._exit(0)
    os.close(writing)
    data, deadline = b"", time.monotonic() + seconds
    is_late = False
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            os.kill(child, signal.SIGKILL)
            is_late = True
            break
        more = os.read(reading, 65536)
        if not more:
            break
        data += more
    os.close(reading)
    os.waitpid(child, 0)
    if is_late:  # once more, with patience: the machine may be busy
        return in_fork(produce, seconds * 4, last=True) if not last else "time-out"
    return data.decode("utf-8", "replace") or "crash"


class ObjectStub:
    """Stub of an object that cannot be copied; a call that uses it is not compared."""

    def refuse(self, *_arguments: Any, **_keywords: Any) -> Any:
        """Stop the call."""
        raise Blocked

    __getattr__ = __getitem__ = __setitem__ = __contains__ = __iter__ = __next__ = __len__ = refuse
    __call__ = __enter__ = __exit__ = __bool__ = __add__ = __radd__ = __lt__ = __gt__ = refuse


def function_stub(name: str) -> Callable[..., Any]:
    """Return a function of this qualified name; a call that uses it is not compared."""

    def refuse(*_arguments: Any, **_keywords: Any) -> Any:
        raise Blocked

    refuse.__qualname__ = name
    return refuse


def database_of(script: str) -> Any:
    """Return a connection to a database in memory with the tables that a script creates."""
    import sqlite3

    base = sqlite3.connect(":memory:")
    base.executescript(script)
    return base


def forbid_effects(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse what would have an effect outside of this process."""
    writes = event == "open" and (
        bool(set(arguments[1]) & set("wax+"))
        if isinstance(arguments[1], str)
        else bool(arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    )
    is_in_memory = event == "sqlite3.connect" and arguments[0] == ":memory:"
    if writes or (event in EFFECTS and not is_in_memory):
        raise Blocked
