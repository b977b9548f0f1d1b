"""Puts an edit into effect in a process that may have imported the edited module; it runs in the project's interpreter.

Stdlib only, Python 3.8 or later.
"""

# ruff: noqa: PTH118, PTH123, B905 - a test may have replaced pathlib; zip is strict from Python 3.10 on
from __future__ import annotations
import __future__

import functools
import gc
import importlib.machinery
import os
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

CACHE = type(functools.lru_cache()(int))


class Cold(Exception):
    """The edit has no sure effect on this process."""


class Swapper:
    """Knows the functions of the project that are alive."""

    def __init__(self, tree: str, described: list[dict[str, Any]]) -> None:
        """`described`: the functions that will be edited, as they are now."""
        self.tree = tree
        self.described = described
        self.functions: dict[tuple[str, str, int], list[FunctionType]] = {}
        self.caches: list[Any] = []
        """Results of project functions that outlive a test."""
        self.imported: dict[str, Any] = {}

    def look_around(self) -> None:
        """Once, when all is imported that the tests import."""
        for thing in gc.get_objects():
            if self.is_ours(thing):
                self.functions.setdefault(key_of(thing.__code__), []).append(thing)
            elif type(thing) is CACHE and self.is_ours(thing.__wrapped__):
                self.caches.append(thing)
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if isinstance(path, str):
                self.imported[os.path.realpath(path)] = module

    def is_ours(self, thing: Any) -> bool:
        return type(thing) is FunctionType and thing.__code__.co_filename.startswith(self.tree)

    def has_imported(self, candidate: dict[str, Any]) -> bool:
        return os.path.join(self.tree, candidate["path"]) in self.imported

    def swap(self, candidate: dict[str, Any]) -> Callable[[], None]:
        """Returns what undoes it; raises SyntaxError or ValueError where the text does not compile, Cold where it has no sure effect."""
        for cache in self.caches:
            cache.cache_clear()
        path = os.path.join(self.tree, candidate["path"])
        if path not in self.imported:
            return overlay(path, edited(path, candidate["changes"]))
        if candidate["function"] is None:
            raise Cold
        function = self.described[candidate["function"]]
        new = found_in(compiled(function, candidate["source"], path), function)
        if "code" not in function:
            function["code"] = found_in(compiled(function, function["old"], path), function)
        replaced = [
            (live, live.__code__, after)
            for before, after in pairs(function["code"], new)
            for live in self.functions.get(key_of(before), ())
            if are_same(live.__code__, before)
        ]
        if not any(after is new for _, _, after in replaced):
            raise Cold
        # With the same number of free variables but others, Python would bind them wrongly and say nothing.
        if any(before.co_freevars != after.co_freevars for _, before, after in replaced):
            raise Cold
        for live, _, after in replaced:
            live.__code__ = after
        return lambda: restore(replaced)


def restore(replaced: list[tuple[FunctionType, CodeType, CodeType]]) -> None:
    for live, before, _ in replaced:
        live.__code__ = before


def key_of(code: CodeType) -> tuple[str, str, int]:
    return (code.co_filename, code.co_name, code.co_firstlineno)


def are_same(one: CodeType, other: CodeType) -> bool:
    """Tells two lambdas in one line apart; the bytecode itself depends on what else the module holds, such as its imports."""
    return (one.co_varnames, one.co_names, one.co_freevars) == (other.co_varnames, other.co_names, other.co_freevars)


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
    raise Cold


def inner_codes(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def pairs(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The function's old and new code, and those of the functions in it, as long as these are the same in number and name."""
    yield old, new
    olds, news = inner_codes(old), inner_codes(new)
    if [code.co_name for code in olds] == [code.co_name for code in news]:
        for before, after in zip(olds, news):
            yield from pairs(before, after)


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
