"""Hot swapping of edited functions in a process that has imported their module."""

# ruff: noqa: PTH123, B905 - a test may have replaced pathlib; zip is strict from Python 3.10 on
from __future__ import annotations
import __future__

import contextlib
import functools
import gc
import importlib.machinery
import sys
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from coder_watch import REALPATH, RelativePaths  # type: ignore[import-not-found]  # on the import path

LRU_CACHE_TYPE = type(functools.lru_cache()(int))
real_path = functools.lru_cache(maxsize=None)(REALPATH)
VALUE_TYPES = (bool, int, float, complex, str, bytes, tuple, frozenset, type(None))
"""Types whose values can be identical by chance: only an equal name elsewhere shows the same origin."""


class UnreliableSwap(Exception):
    """Raised if an edit has no reliable effect on this process."""


class Swapper:
    """Index of the live functions of the project."""

    def __init__(self, tree: str) -> None:
        self.paths = RelativePaths(tree)
        self.functions: dict[str, dict[Any, list[FunctionType]]] = {}
        """File -> key -> the function objects with that code."""
        self.caches: list[Any] = []
        """Caches of project functions that outlive a test."""
        self.imported: dict[str, Any] = {}
        """Real path -> the module."""
        self.holders: dict[Any, list[tuple[ModuleType, str]]] = {}
        """Identity of a module's value -> the modules that hold it, each with the name."""
        self.executed: set[Any] = set()
        """Keys of code executed so far: objects that it created may be anywhere."""
        self.before: dict[Any, CodeType] = {}
        self.stale = False
        """Whether the last swapped function ran before, so that its earlier effects remain."""

    def index_process(self, executed: list[CodeType]) -> None:
        """Index all functions, caches and modules, once everything that the tests import is imported.

        `executed` is the code that ran for these imports.
        """
        modules = {id(module): module for module in sys.modules.values()}
        for object_ in gc.get_objects():
            if self.is_ours(object_):
                key = key_of(object_.__code__)
                self.functions.setdefault(key[0], {}).setdefault(key, []).append(object_)
            elif type(object_) is ModuleType:  # some are in no table, as those that a test has loaded itself
                modules[id(object_)] = object_
            elif type(object_) is LRU_CACHE_TYPE and self.is_ours(object_.__wrapped__):
                self.caches.append(object_)
        for module in modules.values():
            path = getattr(module, "__file__", None)
            if isinstance(path, str):
                self.imported.setdefault(REALPATH(path), module)
            for name, value in list(vars(module).items()) if isinstance(module, ModuleType) else ():
                self.holders.setdefault(identity_of(value, name), []).append((module, name))
        self.executed = {key_of(code) for code in executed if self.paths[code.co_filename]}

    def is_ours(self, thing: Any) -> bool:
        """Tell whether an object is a function of the tree."""
        return type(thing) is FunctionType and bool(self.paths[thing.__code__.co_filename])

    def clear_caches(self) -> None:
        for cache in self.caches:
            cache.cache_clear()

    def swap(self, path: str, function: dict[str, Any], source: str) -> Callable[[], None]:
        """Let all function objects made from a function run the new source; return a callable that undoes it.

        `stale` tells afterwards whether the function ran before.

        Raises:
            SyntaxError, ValueError: the text does not compile.
            UnreliableSwap: the edit has no reliable effect.
        """
        self.check_import(path)
        self.stale = False
        new = find_code(compile_function(function, source, path), function)
        place = (path, function["line"], function["name"])
        if place not in self.before:
            self.before[place] = find_code(compile_function(function, function["old"], path), function)
        replaced: list[tuple[FunctionType, CodeType, CodeType]] = []
        remade: list[tuple[FunctionType, type, FunctionType]] = []
        for before, after in self.pairs(self.before[place], new):
            live_functions = [
                function_object
                for function_object in self.functions.get(path, {}).get(key_of(before), ())
                if are_same(function_object.__code__, before)
            ]
            if after is new and not live_functions:
                raise UnreliableSwap("there is no such function in the process")
            # With as many but different free variables, Python would silently bind them wrongly.
            for function_object in live_functions:
                if function_object.__code__.co_freevars == after.co_freevars:
                    replaced.append((function_object, function_object.__code__, after))
                else:
                    remade.append((function_object, *rebuild_method(function_object, after)))
        for function_object, _, after in replaced:
            function_object.__code__ = after
        for _, owner, method in remade:
            setattr(owner, method.__name__, method)
        return lambda: restore(replaced, remade)

    def execute_again(self, path: str, text: str) -> None:
        """Execute a module's new text in its own namespace, and update the holders of its old values.

        Almost equal to importing it, and irreversible: results must be confirmed in a separate process.
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
            for other, attribute in self.holders.get(identity_of(old, name), ()):
                if other is not module and vars(other).get(attribute) is old:
                    setattr(other, attribute, new)
            children: list[Any] = (
                type.__subclasses__(old) if isinstance(old, type) and isinstance(new, type) else []
            )
            for child in children:
                with contextlib.suppress(TypeError):
                    child.__bases__ = tuple(new if parent is old else parent for parent in child.__bases__)

    def check_import(self, path: str) -> None:
        """Raise UnreliableSwap unless importing the edited file would do what the original import did."""
        loader = getattr(getattr(self.imported[path], "__spec__", None), "loader", None)
        if type(loader) is not importlib.machinery.SourceFileLoader:
            raise UnreliableSwap("the module was imported in a way of its own")

    def pairs(self, old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
        """Yield the function's old and new code, then those of the functions inside of it."""
        old_codes, new_codes = inner_codes(old), inner_codes(new)
        have_same_names = [code.co_name for code in old_codes] == [code.co_name for code in new_codes]
        if not have_same_names or own(old) != own(new):
            self.check_change(old, new)
        yield old, new
        if have_same_names:
            for before, after in zip(old_codes, new_codes):
                yield from self.pairs(before, after)

    def check_change(self, old: CodeType, new: CodeType) -> None:
        """Raise UnreliableSwap if anything but a call may have depended on the difference."""
        self.stale = self.stale or key_of(old) in self.executed
        if docstring_of(old) != docstring_of(new):
            raise UnreliableSwap("the documentation of a function may have been copied")
        if (old.co_flags ^ new.co_flags) & KIND_FLAGS:
            raise UnreliableSwap("a function became another kind of function")


KIND_FLAGS = 0x20 | 0x80 | 0x100 | 0x200 | 0x04 | 0x08
"""Generator, coroutine, iterable coroutine, asynchronous generator, and whether *args and **kwargs are
accepted.
"""


def identity_of(value: Any, name: str) -> Any:
    """Return the identity of a module's value; for simple types together with its name."""
    return (id(value), name) if type(value) in VALUE_TYPES else id(value)


def restore(
    replaced: list[tuple[FunctionType, CodeType, CodeType]],
    remade: list[tuple[FunctionType, type, FunctionType]],
) -> None:
    for function, before, _ in replaced:
        function.__code__ = before
    for method, owner, _ in remade:
        setattr(owner, method.__name__, method)


def rebuild_method(method: FunctionType, code: CodeType) -> tuple[type, FunctionType]:
    """Return the class of a method, and a new method for its class.

    `super()` needs a `__class__` cell, which is bound when a function object is made.
    """
    owner: Any = sys.modules.get(method.__module__)
    for name in method.__qualname__.split(".")[:-1]:
        owner = getattr(owner, name, None)
    is_own = isinstance(owner, type) and vars(owner).get(method.__name__) is method
    if not is_own or {*code.co_freevars, *method.__code__.co_freevars} != {"__class__"}:
        raise UnreliableSwap("it uses other variables of what surrounds it")
    closure = (CellType(owner),) if code.co_freevars else None
    new = FunctionType(code, method.__globals__, method.__name__, method.__defaults__, closure)
    for name in ("__kwdefaults__", "__qualname__", "__doc__", "__module__", "__annotations__"):
        setattr(new, name, getattr(method, name))
    vars(new).update(vars(method))
    return owner, new


def key_of(code: CodeType) -> Any:
    """Return the key of code: real path of its file, name and first line."""
    return (real_path(code.co_filename), code.co_name, code.co_firstlineno)


def are_same(first: CodeType, second: CodeType) -> bool:
    """Tell whether two codes are the same function, as opposed to two lambdas in one line.

    The bytecode is not compared: it depends on other contents of the module, such as its imports.
    """
    names = [(code.co_varnames, code.co_names, code.co_freevars) for code in (first, second)]
    return names[0] == names[1]


def own(code: CodeType) -> Any:
    """Return everything that determines what code does itself, without line numbers and nested functions."""
    constants = [
        (type(constant), repr(constant)) for constant in code.co_consts if not isinstance(constant, CodeType)
    ]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_kwonlyargcount)
    return code.co_code, constants, names, counts, code.co_flags, getattr(code, "co_exceptiontable", b"")


def docstring_of(code: CodeType) -> Any:
    """Return the docstring of code, None without one."""
    first = code.co_consts[0] if code.co_consts else None
    return first if isinstance(first, str) else None


def compile_function(function: dict[str, Any], source: str, path: str) -> CodeType:
    flags = 0
    for name in function["future"]:
        flags |= getattr(__future__, name).compiler_flag
    code: CodeType = compile(source, path, "exec", flags, True)
    return code


def find_code(code: CodeType, function: dict[str, Any]) -> CodeType:
    """Return the code of a function by its name and first line, wherever it is in other code."""
    codes = [code]
    for inner in codes:
        if inner.co_name == function["name"] and inner.co_firstlineno == function["line"]:
            return inner
        codes += inner_codes(inner)
    raise UnreliableSwap("the function could not be found in what was compiled")


def inner_codes(code: CodeType) -> list[CodeType]:
    """Return the code objects nested directly in code."""
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def edited_text(path: str, changes: list[Any]) -> str:
    """Return the text of a file after the changes (start, end, new text)."""
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    for start, end, new in reversed(changes):
        text = text[:start] + new + text[end:]
    return text


def overlay_import(path: str, text: str) -> Callable[[], None]:
    """Make the module import with this text, now or later; return a callable that ends that."""
    code = compile(text, path, "exec", dont_inherit=True)
    loader: Any = importlib.machinery.SourceFileLoader
    original = loader.get_code

    def get_code(self: Any, name: str) -> Any:
        return code if REALPATH(self.path) == path else original(self, name)

    loader.get_code = get_code
    return lambda: setattr(loader, "get_code", original)
