"""Plain statements that are missing."""

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product

from coder.core.ports.repair import Change
from coder.python.source import Function, Source, is_docstring
from coder.repair.context.scope import CACHED, arguments_of, local_names, stored, unread
from coder.repair.context.site import Rewrite, Site
from coder.repair.generators.names.suggestions import ATTRIBUTE, NAME, said

NOTHING_YET = ("[]", "{}", "0", "None", "''", "set()", "False")
USED: dict[str, str] = {
    "[]": r"\.(?:append|extend|insert)\(",
    "{}": r"(?:\[[^\]:]+\] = |\.(?:get|items|setdefault)\()",
    "0": r" (?:[-+]=|[<>=!]=|<|>) \d",
    "''": r"(?: (?:[=!]=|\+=) f?['\"]|\.(?:join|lower|split|startswith|strip)\()",
    "set()": r"\.(?:add|discard)\(",
    "False": r" = (?:True|False)\b",
}
"""What follows the name of what was begun with such a value."""
COUNTED = ("itertools.count()", "count()")
"""What is asked for the next one of, and has to be begun."""
MANGLED = re.compile(r"^_[^_]\w*?__(?=\w)")
"""What Python puts before a private name."""
DEFAULTS = ("0", "1", "''", "[]", "{}", "False", "True")
MAKERS = ("len", "min", "max", "sum", "sorted", "list", "set", "dict", "tuple", "str", "int", "iter")
"""Built-in things that make something of one value."""
MOST_VALUES = 8
AGAIN = 0.6
"""What begins in a loop begins again each time: mostly it stands before it."""


def inserted(site: Site) -> Iterator[Rewrite]:
    """A plain statement before another, or instead of `pass`: keep a parameter, begin a variable, leave, go on."""
    node, function = site.node, site.function
    if not is_place(site) or function is None or not isinstance(node, ast.stmt):
        return
    looping = any(isinstance(item, ast.For | ast.While) for item in site.source.around(node))
    lines = dict.fromkeys(_given_namesake(site, function), 0.5) | dict(
        _begun(site, node, function, AGAIN if looping else 1.0)
    )
    if isinstance(node, ast.Pass) or node is function.body[-1]:
        lines |= {
            f"return {name}": 0.45 * 0.95**rank for rank, name in enumerate(local_names(site.source, node))
        }
    idle = unread(function)
    for name in (item for item in arguments_of(function) if item in idle):
        lines |= (
            {f"self.{name} = {name}": _kept(site, function, name)} if site.source.class_of(function) else {}
        )
        lines |= {
            f"{other}.{way}({name})": 0.3
            for other in stored(function)[:4]
            for way in ("append", "add", "update", "extend")
        }
    lines |= (
        dict.fromkeys(_collected(site, function), 0.6)
        | dict.fromkeys(_put_in(site), 0.8)
        | dict.fromkeys(_kept_by_property(site, function), 0.9)
    )
    for table, key in _never_filled(site.source):
        values = [name for name in local_names(site.source, node) if name != key][:MOST_VALUES]
        lines |= {f"{table}[{key}] = {value}": 0.6 * 0.9**rank for rank, value in enumerate(values)}
    if looping and isinstance(node, ast.Pass):
        lines |= {"continue": 0.5, "break": 0.5}
    for line, weight in lines.items():
        yield from put(site, node, [line], weight=weight)


def _kept(site: Site, function: Function, name: str) -> float:
    """How likely a parameter is to be kept: what is kept elsewhere already is no other method's matter."""
    again = f"self.{name} = " in site.source.text and function.name not in _constructing(site.source)
    return 0.2 if again else 0.6


def _begun(site: Site, node: ast.stmt, function: Function, likely: float) -> Iterator[tuple[str, float]]:
    """Give a variable that is said not to be there, or an attribute where a constructor has given none, its first value."""
    code, whole = site.source.code(node), site.source.code(function)
    for name in said(site.failures, NAME):
        if isinstance(node, ast.Pass) or re.search(rf"\b{name}\b", code):
            yield from (
                (f"{name} = {value}", 0.9 * likely * 0.93**rank)
                for rank, value in enumerate(_first_values(name, whole))
            )
            made = enumerate(_made_of_unread(site, function, name))
            yield from ((f"{name} = {value}", 0.7 * likely * 0.97**rank) for rank, value in made)
    missing = said(site.failures, ATTRIBUTE) if function.name in _constructing(site.source) else ()
    for name in (MANGLED.sub("__", name) for name in missing):
        read = re.search(rf"\bself\.{name}\b", site.source.text)
        if read and (isinstance(node, ast.Pass) or node is function.body[-1] or read[0] in code):
            counted = COUNTED if f"next(self.{name})" in site.source.text else ()
            values = enumerate((*counted, *_first_values(f"self.{name}", site.source.text)))
            yield from ((f"self.{name} = {value}", 0.9 * likely * 0.93**rank) for rank, value in values)


@lru_cache(maxsize=CACHED)
def _first_values(name: str, text: str) -> tuple[str, ...]:
    """What something may begin with, first what it is used like."""
    own = rf"\b{re.escape(name)}\b"
    like = {value for value, use in USED.items() if re.search(own + use, text)}
    like |= {"''"} if re.search(rf"['\"] (?:[=!]=|\+|in) {own}", text) else set()
    return tuple(sorted(NOTHING_YET, key=lambda value: value not in like))


@lru_cache(maxsize=256)
def _constructing(source: Source) -> frozenset[str]:
    """The names of constructors, and of the methods that they call."""
    made = [function for function in source.functions if function.name == "__init__"]
    called = {name for function in made for name in re.findall(r"\bself\.(\w+)\(", source.code(function))}
    return frozenset({"__init__", *called})


def _made_of_unread(site: Site, function: Function, name: str) -> Iterator[str]:
    """What may become of a value that is made and not used: itself, what it holds under the name, or what something makes of it."""
    for value in unread(function):
        yield from (value, f'{value}["{name}"]', f"{value}.{name}", f'{value}.get("{name}")')
        yield from (f'{value}.get("{name}", {default})' for default in DEFAULTS)
        yield from (f"{maker}({value})" for maker in sorted(MAKERS, key=lambda maker: maker not in name))
        for maker in (item for item in local_names(site.source, site.node) if item not in (name, value)):
            yield from (f"{maker}({value})", f"{maker}(**{value})", f"{maker}(*{value})")


def _kept_by_property(site: Site, function: Function) -> Iterator[str]:
    """Where a property is set and what it gives is not: keep what was given."""
    for decorator in function.decorator_list:
        match decorator, arguments_of(function):
            case ast.Attribute(value=ast.Name(id=name), attr="setter"), [given]:
                getters = [
                    item for item in site.source.functions if item.name == name and item is not function
                ]
                own = [
                    getter
                    for getter in getters
                    if site.source.class_of(getter) is site.source.class_of(function)
                ]
                kept = dict.fromkeys(
                    kept
                    for item in own
                    for kept in re.findall(r"\bself\._\w+\b(?!\()", site.source.code(item))
                )
                kept |= {site.source.code(what): None for item in own if (what := _returned(item))}
                yield from (f"{item} = {given}" for item in kept if item not in site.source.code(function))
            case _:
                pass


def _returned(function: Function) -> ast.expr | None:
    """The attribute or the part of one that a function gives back, and nothing else."""
    match function.body[-1]:
        case ast.Return(value=ast.Attribute() | ast.Subscript() as value):
            return value
        case _:
            return None


def _collected(site: Site, function: Function) -> Iterator[str]:
    """Where nothing is done in a branch and others collect something: a variable, or what it holds under a key that the function says."""
    branches = (
        [item for item in site.source.around(site.node) if isinstance(item, ast.If)]
        if isinstance(site.node, ast.Pass)
        else []
    )
    if not branches:
        return
    known = local_names(site.source, site.node)
    tested = [
        name.id for name in ast.walk(branches[0].test) if isinstance(name, ast.Name) and name.id in known
    ]
    read = [site.source.code(item.slice) for item in ast.walk(function) if isinstance(item, ast.Subscript)]
    keys = [key for key in read if key[0] in "'\""]
    for node in ast.walk(branches[-1]):
        match node:
            case ast.Call(func=ast.Attribute(attr="append" | "add" | "extend") as way, args=[_]):
                for name in dict.fromkeys(tested):
                    values = (name, *(f"{name}[{key}]" for key in dict.fromkeys(keys)))
                    yield from (f"{site.source.code(way)}({value})" for value in values)
            case _:
                pass


def _given_namesake(site: Site, function: Function) -> Iterator[str]:
    """Where nothing is done: give a variable that is given values elsewhere one that shares a word of its name."""
    names = local_names(site.source, site.node) if isinstance(site.node, ast.Pass) else ()
    for target, value in product(stored(function), names):
        if target != value and {*target.split("_")} & {*value.split("_")} - {""}:
            yield f"{target} = {value}"


def _put_in(site: Site) -> Iterator[str]:
    """Where nothing is done with what is not in something: put it in."""
    for node in (
        ast.walk(site.parent.test)
        if isinstance(site.node, ast.Pass) and isinstance(site.parent, ast.If)
        else ()
    ):
        match node:
            case ast.Compare(left=missing, ops=[ast.NotIn()], comparators=[held]):
                yield from (
                    f"{site.source.code(held)}.{way}({site.source.code(missing)})"
                    for way in ("append", "add")
                )
            case _:
                pass


@lru_cache(maxsize=256)
def _never_filled(source: Source) -> tuple[tuple[str, str], ...]:
    """Attributes that begin as an empty dictionary and are read by key, and are given nothing anywhere; with the names of the keys."""
    begun: set[str] = set()
    read: dict[tuple[str, str], None] = {}
    filled: set[str] = set()
    for node in ast.walk(source.tree):
        match node:
            case ast.Assign(targets=[ast.Attribute() as table], value=ast.Dict(keys=[])):
                begun.add(source.code(table))
            case ast.Subscript(value=ast.Attribute() as table, slice=ast.Name(id=key), ctx=ast.Load()):
                read[source.code(table), key] = None
            case ast.Subscript(value=ast.Attribute() as table, ctx=ast.Store()):
                filled.add(source.code(table))
            case ast.Call(func=ast.Attribute(value=ast.Attribute() as table)):
                filled.add(source.code(table))
            case _:
                pass
    return tuple((table, key) for table, key in read if table in begun - filled)


def put(site: Site, node: ast.stmt, lines: Sequence[str], *, weight: float) -> Iterator[Rewrite]:
    what = f"add `{lines[0][:50]}`"
    if isinstance(node, ast.Pass):
        start, end = site.source.span(node)
        indent = site.source.indent(node)
        if not indent.strip():
            yield Rewrite(
                (Change(start=start, end=end, text=f"{site.source.line_end}{indent}".join(lines)),),
                weight * 1.3,
                what,
            )
        return
    if not lines[0].startswith(("return", "raise")):
        yield from site.before(node, lines, weight=weight, summary=what)
    if site.source.block(node)[-1] is node and not isinstance(
        node, ast.Return | ast.Raise | ast.Break | ast.Continue
    ):
        yield from site.after(node, lines, weight=weight * 0.95, summary=what)


def is_place(site: Site) -> bool:
    return isinstance(site.node, ast.stmt) and site.node is not site.function and not is_docstring(site.node)
