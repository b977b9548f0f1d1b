"""Names that a change adds: those that tests lack without it, and those that nobody but the change chose."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePosixPath

from coder.core.verdict import Failure
from coder.python.source import parse_module

_MISSING_NAMES = {
    "TypeError": r"got an unexpected keyword argument '(?P<name>\w+)'"
    r"|(?P<function>\w+)\(\) (?:takes|missing)"
    r"|(?P<value>\w+)\)? is not a (?:function|constructor)",
    "AttributeError": r"has no attribute '(?P<name>\w+)'",
    "ImportError": r"cannot import name '(?P<name>\w+)'",
    "ModuleNotFoundError": r"No module named '(?:[\w.]+\.)?(?P<name>\w+)'",
    "NameError": r"name '(?P<name>\w+)' is not defined",
    "ReferenceError": r"(?P<name>\w+) is not defined",
    "CollectionError": r"undefined: (?:\w+\.)?(?P<name>\w+)"
    r"|(?:cannot find \w+|no \w+(?: or \w+)*(?: item)? named|unresolved import) `(?:\w+::)*(?P<item>\w+)`"
    r"|symbol:\s+(?:method|class|variable) (?P<value>\w+)"
    r"|(?:Property|exported member|Cannot find name) '(?P<member>\w+)'",
    "SyntaxError": r"does not provide an export named '?(?P<name>\w+)",
}
"""Messages of Python, JavaScript, and the compilers of Go, Rust, Java and TypeScript by type."""
_WORD = re.compile(r"[A-Za-z_]\w*")


def find_missing_name(failure: Failure) -> str:
    """Return the name whose absence a failure reports; empty for any other failure.

    `name()` stands for parameters that a function does not take.
    """
    if not (pattern := _MISSING_NAMES.get(failure.type)) or not (
        match := re.search(pattern, failure.message)
    ):
        return ""
    groups = match.groupdict()
    if function := groups.get("function"):
        return f"{function}()"
    found = (groups.get(group) for group in ("name", "value", "item", "member"))
    return next(filter(None, found), "")


def find_added_names(old: Mapping[str, str], new: Mapping[str, str]) -> frozenset[str]:
    """Return the names that sources define in `new` and not in `old`, both by path.

    These are modules, functions, classes, variables, attributes and parameters; `name()` is a function with
    new parameters. In other languages than Python, any new word counts.
    """
    names: set[str] = set()
    for path, text in new.items():
        if path.endswith((".py", ".pyi")):
            before = _definitions(old.get(path, ""))
            names |= {name for place, name in _definitions(text).items() if place not in before}
        else:
            names |= find_words(text) - find_words(old.get(path, ""))
        if path not in old:
            names |= {PurePosixPath(path).stem, PurePosixPath(path).parent.name}
    return frozenset(names - {""})


def find_words(text: str) -> frozenset[str]:
    """Return the words of a text that may be names."""
    return frozenset(_WORD.findall(text))


def is_chosen(name: str, texts: Collection[str]) -> bool:
    """Tell whether a public name occurs in none of the texts: whoever made the change has chosen it."""
    return (
        not name.startswith("_")
        and "()" not in name
        and not any(re.search(rf"\b{re.escape(name)}\b", text) for text in texts)
    )


def _definitions(text: str) -> dict[str, str]:
    """Return the names that a Python module defines, by the path of the definition."""
    try:
        return dict(_names_in(parse_module(text), "", is_local=False))
    except (SyntaxError, ValueError, RecursionError):
        return {}


def _names_in(node: ast.AST, scope: str, *, is_local: bool) -> Iterator[tuple[str, str]]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield scope + name, name
                parameters = [
                    argument.arg for argument in ast.walk(child.args) if isinstance(argument, ast.arg)
                ]
                yield f"{scope}{name}({', '.join(parameters)})", f"{name}()"
                yield from ((f"{scope}{name}.{parameter}", parameter) for parameter in parameters)
                yield from _names_in(child, f"{scope}{name}.", is_local=True)
                continue
            case ast.ClassDef(name=name):
                yield scope + name, name
                yield from _names_in(child, f"{scope}{name}.", is_local=False)
                continue
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield f"{scope}.{name}", name
            case ast.Name(id=name, ctx=ast.Store()) if not is_local:
                yield scope + name, name
            case ast.alias(name=name, asname=asname) if not is_local:
                yield scope + (asname or name), asname or name
            case _:
                pass
        yield from _names_in(child, scope, is_local=is_local)
