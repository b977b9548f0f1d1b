"""Puts edited functions into effect in a process that has imported their module; it runs in the project's interpreter.

Stdlib only, Python 3.8 or later.
"""

# ruff: noqa: PTH123, B905 - a test may have replaced pathlib; zip is strict from Python 3.10 on
from __future__ import annotations
import __future__

import contextlib
import functools
import gc
import importlib.machinery
import os
import sys
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

CACHE = type(functools.lru_cache()(int))
SIMPLE = (bool, int, float, complex, str, bytes, tuple, frozenset, type(None))
"""Kinds of values that are the same by chance: only the same name elsewhere means that they came from the same place."""


class Cold(Exception):
    """The edit has no sure effect on this process."""


class Swapper:
    """Knows the functions of the project that are alive."""

    def __init__(self, tree: str) -> None:
        self.tree = tree + os.sep
        self.functions: dict[str, dict[Any, list[FunctionType]]] = {}
        """File -> key -> the functions made from that code."""
        self.caches: list[Any] = []
        """Results of project functions that outlive a test."""
        self.imported: dict[str, Any] = {}
        self.holders: dict[Any, list[tuple[ModuleType, str]]] = {}
        """What a module's value is known by -> the modules that hold it, each with the name."""
        self.executed: set[Any] = set()
        """Keys of code that has been executed by now: what it made may be anywhere."""
        self.before: dict[Any, CodeType] = {}
        self.stale = False
        """Has what was swapped last been called before, so that what came of that is as it was?"""

    def look_around(self, executed: list[CodeType]) -> None:
        """Once, when all is imported that the tests import; `executed` is what was executed for that."""
        for thing in gc.get_objects():
            if self.is_ours(thing):
                self.functions.setdefault(thing.__code__.co_filename, {}).setdefault(
                    key_of(thing.__code__), []
                ).append(thing)
            elif type(thing) is CACHE and self.is_ours(thing.__wrapped__):
                self.caches.append(thing)
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if isinstance(path, str):
                self.imported[os.path.realpath(path)] = module
            for name, value in list(vars(module).items()) if isinstance(module, ModuleType) else ():
                self.holders.setdefault(known_by(value, name), []).append((module, name))
        self.executed = {key_of(code) for code in executed if code.co_filename.startswith(self.tree)}

    def is_ours(self, thing: Any) -> bool:
        return type(thing) is FunctionType and thing.__code__.co_filename.startswith(self.tree)

    def forget_results(self) -> None:
        for cache in self.caches:
            cache.cache_clear()

    def swap(
        self, path: str, function: dict[str, Any], source: str, *, anyway: bool = False
    ) -> Callable[[], None]:
        """Let all that is made of a function run the new source, `anyway` also where it is stale then; returns what undoes it.

        Raises SyntaxError or ValueError where the text does not compile, Cold where it has no sure effect.
        """
        self.check_import(path)
        self.stale = False
        new = found_in(compiled(function, source, path), function)
        place = (path, function["line"], function["name"])
        if place not in self.before:
            self.before[place] = found_in(compiled(function, function["old"], path), function)
        replaced: list[tuple[FunctionType, CodeType, CodeType]] = []
        made: list[tuple[FunctionType, type, FunctionType]] = []
        for before, after in self.pairs(self.before[place], new):
            live = [
                item
                for item in self.functions.get(path, {}).get(key_of(before), ())
                if are_same(item.__code__, before)
            ]
            if after is new and not live:
                raise Cold("there is no such function in the process")
            # With the same number of free variables but others, Python would bind them wrongly and say nothing.
            for item in live:
                if item.__code__.co_freevars == after.co_freevars:
                    replaced.append((item, item.__code__, after))
                else:
                    made.append((item, *made_for_class(item, after)))
        if self.stale and not anyway:
            raise Cold(f"{function['name']} was called while the tests were collected")
        for one, _, after in replaced:
            one.__code__ = after
        for _, owner, method in made:
            setattr(owner, method.__name__, method)
        return lambda: restore(replaced, made)

    def execute_again(self, path: str, text: str) -> None:
        """Execute a module's new text in its own namespace; whoever holds what it made before gets what it has made now.

        Nearly what importing it would do, and nothing can undo it: what holds here has to be confirmed in a process of its own.
        """
        self.check_import(path)
        module = self.imported[path]
        before = dict(vars(module))
        exec(
            compile(text, path, "exec", dont_inherit=True), vars(module)
        )  # the project's own code, in a fork
        for name, old in before.items():
            new = vars(module).get(name, old)
            if new is old:
                continue
            for other, there in self.holders.get(known_by(old, name), ()):
                if other is not module and vars(other).get(there) is old:
                    setattr(other, there, new)
            children: list[Any] = (
                type.__subclasses__(old) if isinstance(old, type) and isinstance(new, type) else []
            )
            for child in children:
                with contextlib.suppress(TypeError):
                    child.__bases__ = tuple(new if parent is old else parent for parent in child.__bases__)

    def check_import(self, path: str) -> None:
        """What the import did must be what importing the edited file would do."""
        loader = getattr(getattr(self.imported[path], "__spec__", None), "loader", None)
        if type(loader) is not importlib.machinery.SourceFileLoader:
            raise Cold("the module was imported in a way of its own")

    def pairs(self, old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
        """The function's old and new code, and those of the functions in it."""
        olds, news = inner_codes(old), inner_codes(new)
        alike = [code.co_name for code in olds] == [code.co_name for code in news]
        if not alike or own(old) != own(new):
            self.check_change(old, new)
        yield old, new
        if alike:
            for before, after in zip(olds, news):
                yield from self.pairs(before, after)

    def check_change(self, old: CodeType, new: CodeType) -> None:
        """Nothing but a call may have depended on what differs."""
        self.stale = self.stale or key_of(old) in self.executed
        if documentation(old) != documentation(new):
            raise Cold("the documentation of a function may have been copied")
        if (old.co_flags ^ new.co_flags) & KIND:
            raise Cold("a function became another kind of function")

    def move(self, path: str, behind: int, lines: int) -> None:
        """Let what lies behind a line of a file lie further down."""
        moved: dict[int, CodeType] = {}
        for key, functions in self.functions.get(path, {}).items():
            for function in functions if key[2] > behind else ():
                code = function.__code__
                if id(code) not in moved:
                    moved[id(code)] = further_down(code, lines)
                function.__code__ = moved[id(code)]


KIND = 0x20 | 0x80 | 0x100 | 0x200 | 0x04 | 0x08
"""Generator, coroutine, iterable coroutine, asynchronous generator, and whether further arguments are taken."""


def known_by(value: Any, name: str) -> Any:
    return (id(value), name) if type(value) in SIMPLE else id(value)


def restore(
    replaced: list[tuple[FunctionType, CodeType, CodeType]],
    made: list[tuple[FunctionType, type, FunctionType]],
) -> None:
    for live, before, _ in replaced:
        live.__code__ = before
    for method, owner, _ in made:
        setattr(owner, method.__name__, method)


def made_for_class(method: FunctionType, code: CodeType) -> tuple[type, FunctionType]:
    """The class of a method, and what that becomes where it says `super()` now, or no longer does: it is bound when it is made."""
    owner: Any = sys.modules.get(method.__module__)
    for name in method.__qualname__.split(".")[:-1]:
        owner = getattr(owner, name, None)
    own = isinstance(owner, type) and vars(owner).get(method.__name__) is method
    if not own or {*code.co_freevars, *method.__code__.co_freevars} != {"__class__"}:
        raise Cold("it uses other variables of what surrounds it")
    closure = (CellType(owner),) if code.co_freevars else None
    new = FunctionType(code, method.__globals__, method.__name__, method.__defaults__, closure)
    for name in ("__kwdefaults__", "__qualname__", "__doc__", "__module__", "__annotations__"):
        setattr(new, name, getattr(method, name))
    vars(new).update(vars(method))
    return owner, new


def key_of(code: CodeType) -> Any:
    return (code.co_filename, code.co_name, code.co_firstlineno)


def are_same(one: CodeType, other: CodeType) -> bool:
    """Tells two lambdas in one line apart; the bytecode itself depends on what else the module holds, such as its imports."""
    return (one.co_varnames, one.co_names, one.co_freevars) == (
        other.co_varnames,
        other.co_names,
        other.co_freevars,
    )


def own(code: CodeType) -> Any:
    """All that a code does itself, without its lines and the functions in it."""
    constants = [
        (type(constant), repr(constant)) for constant in code.co_consts if not isinstance(constant, CodeType)
    ]
    names = (
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_argcount,
        code.co_kwonlyargcount,
    )
    return code.co_code, constants, names, code.co_flags, getattr(code, "co_exceptiontable", b"")


def documentation(code: CodeType) -> Any:
    first = code.co_consts[0] if code.co_consts else None
    return first if isinstance(first, str) else None


def further_down(code: CodeType, lines: int) -> CodeType:
    constants = tuple(
        further_down(constant, lines) if isinstance(constant, CodeType) else constant
        for constant in code.co_consts
    )
    return code.replace(co_firstlineno=code.co_firstlineno + lines, co_consts=constants)


def compiled(function: dict[str, Any], source: str, path: str) -> CodeType:
    flags = 0
    for name in function["future"]:
        flags |= getattr(__future__, name).compiler_flag
    code: CodeType = compile(source, path, "exec", flags, True)
    return code


def found_in(code: CodeType, function: dict[str, Any]) -> CodeType:
    """The code of the one function that a module, or the classes in it, define."""
    for inner in inner_codes(code):
        if inner.co_name == function["name"] and inner.co_firstlineno == function["line"]:
            return inner
        if inner.co_name in function["classes"]:
            return found_in(inner, function)
    raise Cold("the function could not be found in what was compiled")


def inner_codes(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def edited(path: str, changes: list[Any]) -> str:
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    for start, end, new in reversed(changes):
        text = text[:start] + new + text[end:]
    return text


def overlay(path: str, text: str) -> Callable[[], None]:
    """Let the module be imported with this text, whenever it is; returns what ends that."""
    code = compile(text, path, "exec", dont_inherit=True)
    loader: Any = importlib.machinery.SourceFileLoader
    original = loader.get_code

    def get_code(self: Any, name: str) -> Any:
        return code if os.path.realpath(self.path) == path else original(self, name)

    loader.get_code = get_code
    return lambda: setattr(loader, "get_code", original)
