"""Missing simple statements."""

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product

from coder.core.ports import TextChange
from coder.python.source import Function, PythonSource, is_docstring
from coder.repair.context.scope import (
    CACHE_SIZE,
    assigned_names,
    local_names,
    names_never_read,
    parameter_names,
)
from coder.repair.context.site import Rewrite, RewriteSite
from coder.repair.generators.names.suggestions import UNDEFINED_NAME, UNKNOWN_ATTRIBUTE, find_in_messages

EMPTY_VALUES = ("[]", "{}", "0", "None", "''", "set()", "False")
USAGE_PATTERNS: dict[str, str] = {
    "[]": r"\.(?:append|extend|insert)\(",
    "{}": r"(?:\[[^\]:]+\] = |\.(?:get|items|setdefault)\()",
    "0": r" (?:[-+]=|[<>=!]=|<|>) \d",
    "''": r"(?: (?:[=!]=|\+=) f?['\"]|\.(?:join|lower|split|startswith|strip)\()",
    "set()": r"\.(?:add|discard)\(",
    "False": r" = (?:True|False)\b",
}
"""Patterns of use that follow a name, by the initial value they suggest."""
COUNTER_VALUES = ("itertools.count()", "count()")
"""Initial values of an iterator that `next` is called on."""
MANGLED_PREFIX = re.compile(r"^_[^_]\w*?__(?=\w)")
"""The prefix that Python adds to private names."""
DEFAULTS = ("0", "1", "''", "[]", "{}", "False", "True")
CONVERSIONS = ("len", "min", "max", "sum", "sorted", "list", "set", "dict", "tuple", "str", "int", "iter")
"""Built-in functions that convert a single value."""
MOST_VALUES = 8
IN_LOOP_FACTOR = 0.6
"""Weight factor of an initialization in a loop: mostly it belongs before the loop."""


def inserted(site: RewriteSite) -> Iterator[Rewrite]:
    """Insert a simple statement, or replace `pass`: assign, store, return, continue."""
    node, function = site.node, site.function
    if not is_insertion_point(site) or function is None or not isinstance(node, ast.stmt):
        return
    in_loop = any(isinstance(item, ast.For | ast.While) for item in site.source.ancestors(node))
    lines = dict.fromkeys(_assignments_by_shared_word(site, function), 0.5) | dict(
        _initializations(site, node, function, IN_LOOP_FACTOR if in_loop else 1.0)
    )
    if isinstance(node, ast.Pass) or node is function.body[-1]:
        lines |= {
            f"return {name}": 0.45 * 0.95**rank for rank, name in enumerate(local_names(site.source, node))
        }
    unread_names = names_never_read(function)
    for name in (item for item in parameter_names(function) if item in unread_names):
        lines |= (
            {f"self.{name} = {name}": _store_weight(site, function, name)}
            if site.source.owner_class(function)
            else {}
        )
        lines |= {
            f"{other}.{method}({name})": 0.3
            for other in assigned_names(function)[:4]
            for method in ("append", "add", "update", "extend")
        }
    lines |= (
        dict.fromkeys(_collecting_statements(site, function), 0.6)
        | dict.fromkeys(_adding_statements(site), 0.8)
        | dict.fromkeys(_setter_assignments(site, function), 0.9)
    )
    for table, key in _unfilled_tables(site.source):
        values = [name for name in local_names(site.source, node) if name != key][:MOST_VALUES]
        lines |= {f"{table}[{key}] = {value}": 0.6 * 0.9**rank for rank, value in enumerate(values)}
    if in_loop and isinstance(node, ast.Pass):
        lines |= {"continue": 0.5, "break": 0.5}
    for line, weight in lines.items():
        yield from insert_statement(site, node, [line], weight=weight)


def _store_weight(site: RewriteSite, function: Function, name: str) -> float:
    """Return the weight of storing a parameter: lower outside of constructors if it is stored elsewhere."""
    is_stored_elsewhere = f"self.{name} = " in site.source.text and function.name not in _constructor_names(
        site.source
    )
    return 0.2 if is_stored_elsewhere else 0.6


def _initializations(
    site: RewriteSite, node: ast.stmt, function: Function, factor: float
) -> Iterator[tuple[str, float]]:
    """Yield initializations of an undefined variable, or of a missing attribute."""
    code, function_code = site.source.text_of(node), site.source.text_of(function)
    for name in find_in_messages(site.failures, UNDEFINED_NAME):
        if isinstance(node, ast.Pass) or re.search(rf"\b{name}\b", code):
            yield from (
                (f"{name} = {value}", 0.9 * factor * 0.93**rank)
                for rank, value in enumerate(_first_values(name, function_code))
            )
            conversions = enumerate(_values_from_unread(site, function, name))
            yield from ((f"{name} = {value}", 0.7 * factor * 0.97**rank) for rank, value in conversions)
    missing_names = (
        find_in_messages(site.failures, UNKNOWN_ATTRIBUTE)
        if function.name in _constructor_names(site.source)
        else ()
    )
    for name in (MANGLED_PREFIX.sub("__", name) for name in missing_names):
        read = re.search(rf"\bself\.{name}\b", site.source.text)
        if read and (isinstance(node, ast.Pass) or node is function.body[-1] or read[0] in code):
            counters = COUNTER_VALUES if f"next(self.{name})" in site.source.text else ()
            values = enumerate((*counters, *_first_values(f"self.{name}", site.source.text)))
            yield from ((f"self.{name} = {value}", 0.9 * factor * 0.93**rank) for rank, value in values)


@lru_cache(maxsize=CACHE_SIZE)
def _first_values(name: str, text: str) -> tuple[str, ...]:
    """Return possible initial values, those that fit the use of the name first."""
    name_pattern = rf"\b{re.escape(name)}\b"
    fitting = {value for value, usage in USAGE_PATTERNS.items() if re.search(name_pattern + usage, text)}
    fitting |= {"''"} if re.search(rf"['\"] (?:[=!]=|\+|in) {name_pattern}", text) else set()
    return tuple(sorted(EMPTY_VALUES, key=lambda value: value not in fitting))


@lru_cache(maxsize=256)
def _constructor_names(source: PythonSource) -> frozenset[str]:
    """Return the names of constructors and of the methods that they call."""
    constructors = [function for function in source.functions if function.name == "__init__"]
    called_names = {
        name for function in constructors for name in re.findall(r"\bself\.(\w+)\(", source.text_of(function))
    }
    return frozenset({"__init__", *called_names})


def _values_from_unread(site: RewriteSite, function: Function, name: str) -> Iterator[str]:
    """Yield expressions over unread variables: the value, a member of it, or a conversion."""
    for value in names_never_read(function):
        yield from (value, f'{value}["{name}"]', f"{value}.{name}", f'{value}.get("{name}")')
        yield from (f'{value}.get("{name}", {default})' for default in DEFAULTS)
        yield from (f"{maker}({value})" for maker in sorted(CONVERSIONS, key=lambda maker: maker not in name))
        for maker in (local for local in local_names(site.source, site.node) if local not in (name, value)):
            yield from (f"{maker}({value})", f"{maker}(**{value})", f"{maker}(*{value})")


def _setter_assignments(site: RewriteSite, function: Function) -> Iterator[str]:
    """Yield assignments of a property setter's argument to the attribute that the getter returns."""
    for decorator in function.decorator_list:
        match decorator, parameter_names(function):
            case ast.Attribute(value=ast.Name(id=name), attr="setter"), [argument]:
                getters = [
                    candidate
                    for candidate in site.source.functions
                    if candidate.name == name and candidate is not function
                ]
                own_getters = [
                    getter
                    for getter in getters
                    if site.source.owner_class(getter) is site.source.owner_class(function)
                ]
                attributes = dict.fromkeys(
                    attributes
                    for candidate in own_getters
                    for attributes in re.findall(r"\bself\._\w+\b(?!\()", site.source.text_of(candidate))
                )
                attributes |= {
                    site.source.text_of(returned): None
                    for candidate in own_getters
                    if (returned := _returned_attribute(candidate))
                }
                yield from (
                    f"{candidate} = {argument}"
                    for candidate in attributes
                    if candidate not in site.source.text_of(function)
                )
            case _:
                pass


def _returned_attribute(function: Function) -> ast.expr | None:
    """Return the attribute or subscript that a function returns last, if any."""
    match function.body[-1]:
        case ast.Return(value=ast.Attribute() | ast.Subscript() as value):
            return value
        case _:
            return None


def _collecting_statements(site: RewriteSite, function: Function) -> Iterator[str]:
    """Yield statements for an empty branch that collect what its condition tests."""
    branches = (
        [ancestor for ancestor in site.source.ancestors(site.node) if isinstance(ancestor, ast.If)]
        if isinstance(site.node, ast.Pass)
        else []
    )
    if not branches:
        return
    names = local_names(site.source, site.node)
    tested = [
        name.id for name in ast.walk(branches[0].test) if isinstance(name, ast.Name) and name.id in names
    ]
    subscripts = [
        site.source.text_of(ancestor.slice)
        for ancestor in ast.walk(function)
        if isinstance(ancestor, ast.Subscript)
    ]
    keys = [key for key in subscripts if key[0] in "'\""]
    for node in ast.walk(branches[-1]):
        match node:
            case ast.Call(func=ast.Attribute(attr="append" | "add" | "extend") as method, args=[_]):
                for name in dict.fromkeys(tested):
                    values = (name, *(f"{name}[{key}]" for key in dict.fromkeys(keys)))
                    yield from (f"{site.source.text_of(method)}({value})" for value in values)
            case _:
                pass


def _assignments_by_shared_word(site: RewriteSite, function: Function) -> Iterator[str]:
    """Yield assignments, in place of `pass`, of a variable whose name shares a word with the target."""
    names = local_names(site.source, site.node) if isinstance(site.node, ast.Pass) else ()
    for target, value in product(assigned_names(function), names):
        if target != value and {*target.split("_")} & {*value.split("_")} - {""}:
            yield f"{target} = {value}"


def _adding_statements(site: RewriteSite) -> Iterator[str]:
    """Yield statements, in place of `pass`, that add what is not in a collection."""
    for node in (
        ast.walk(site.parent.test)
        if isinstance(site.node, ast.Pass) and isinstance(site.parent, ast.If)
        else ()
    ):
        match node:
            case ast.Compare(left=missing, ops=[ast.NotIn()], comparators=[container]):
                yield from (
                    f"{site.source.text_of(container)}.{method}({site.source.text_of(missing)})"
                    for method in ("append", "add")
                )
            case _:
                pass


@lru_cache(maxsize=256)
def _unfilled_tables(source: PythonSource) -> tuple[tuple[str, str], ...]:
    """Return attributes that hold a dictionary which is read but never filled, with the keys' names."""
    initialized: set[str] = set()
    read: dict[tuple[str, str], None] = {}
    filled: set[str] = set()
    for node in ast.walk(source.tree):
        match node:
            case ast.Assign(targets=[ast.Attribute() as table], value=ast.Dict(keys=[])):
                initialized.add(source.text_of(table))
            case ast.Subscript(value=ast.Attribute() as table, slice=ast.Name(id=key), ctx=ast.Load()):
                read[source.text_of(table), key] = None
            case ast.Subscript(value=ast.Attribute() as table, ctx=ast.Store()):
                filled.add(source.text_of(table))
            case ast.Call(func=ast.Attribute(value=ast.Attribute() as table)):
                filled.add(source.text_of(table))
            case _:
                pass
    return tuple((table, key) for table, key in read if table in initialized - filled)


def insert_statement(
    site: RewriteSite, node: ast.stmt, lines: Sequence[str], *, weight: float
) -> Iterator[Rewrite]:
    """Insert lines before or after a statement, or replace `pass`."""
    summary = f"add `{lines[0][:50]}`"
    if isinstance(node, ast.Pass):
        start, end = site.source.span(node)
        indent = site.source.indent(node)
        if not indent.strip():
            yield Rewrite(
                (TextChange(start=start, end=end, text=f"{site.source.line_end}{indent}".join(lines)),),
                weight * 1.3,
                summary,
            )
        return
    if not lines[0].startswith(("return", "raise")):
        yield from site.insert_before(node, lines, weight=weight, summary=summary)
    if site.source.enclosing_block(node)[-1] is node and not isinstance(
        node, ast.Return | ast.Raise | ast.Break | ast.Continue
    ):
        yield from site.insert_after(node, lines, weight=weight * 0.95, summary=summary)


def is_insertion_point(site: RewriteSite) -> bool:
    """Tell whether a statement can be inserted at the site."""
    return isinstance(site.node, ast.stmt) and site.node is not site.function and not is_docstring(site.node)
