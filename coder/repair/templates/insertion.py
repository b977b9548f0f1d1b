"""Statements that are missing: plain ones, and copies of those that stand in similar places."""

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from coder.core.trials import Change
from coder.repair.scope import arguments_of, local_names, most_alike, stored, unread
from coder.repair.site import Rewrite, Site
from coder.repair.source import Function, Source, is_docstring
from coder.repair.stock import Piece, nearness, statements, visible
from coder.repair.templates.suggestions import ATTRIBUTE, NAME, said

NOTHING_YET = ("[]", "{}", "0", "None", "''", "set()", "False")
COUNTED = ("itertools.count()", "count()")
"""What is asked for the next one of, and has to be begun."""
MANGLED = re.compile(r"^_[^_]\w*?__(?=\w)")
"""What Python puts before a private name."""
DEFAULTS = ("0", "1", "''", "[]", "{}", "False", "True")
MOST_COPIES = 60
MOST_RENAMED = 3
MOST_VALUES = 8
COPY = 0.3
AGAIN = 0.6
"""What begins in a loop begins again each time: mostly it stands before it."""
UNPAIRED = 2.0
"""What is counted only up, or only down, in the whole file speaks for the other."""


def inserted(site: Site) -> Iterator[Rewrite]:
    """A plain statement before another, or instead of `pass`: keep a parameter, begin a variable, leave, go on."""
    node, function = site.node, site.function
    if not _is_place(site) or function is None or not isinstance(node, ast.stmt):
        return
    looping = any(isinstance(one, ast.For | ast.While) for one in site.source.around(node))
    lines = dict(_begun(site, node, function, AGAIN if looping else 1.0))
    if isinstance(node, ast.Pass) or node is function.body[-1]:
        lines |= {f"return {name}": 0.45 * 0.95**rank for rank, name in enumerate(local_names(site.source, node))}
    idle = unread(function)
    for name in (one for one in arguments_of(function) if one in idle):
        lines |= {f"self.{name} = {name}": 0.6} if site.source.class_of(function) else {}
        lines |= {f"{other}.{way}({name})": 0.3 for other in stored(function)[:4] for way in ("append", "add", "update", "extend")}
    lines |= dict.fromkeys(_put_in(site), 0.8)
    for table, key in _never_filled(site.source):
        values = [name for name in local_names(site.source, node) if name != key][:MOST_VALUES]
        lines |= {f"{table}[{key}] = {value}": 0.6 * 0.9**rank for rank, value in enumerate(values)}
    if looping and isinstance(node, ast.Pass):
        lines |= {"continue": 0.5, "break": 0.5}
    for line, weight in lines.items():
        yield from _put(site, node, [line], weight=weight)


def _begun(site: Site, node: ast.stmt, function: Function, likely: float) -> Iterator[tuple[str, float]]:
    """Give a variable that is said not to be there, or an attribute where a constructor has given none, its first value."""
    code = site.source.code(node)
    for name in said(site.failures, NAME):
        if isinstance(node, ast.Pass) or re.search(rf"\b{name}\b", code):
            yield from ((f"{name} = {value}", 0.9 * likely * 0.93**rank) for rank, value in enumerate(NOTHING_YET))
            made = enumerate(_made_of_unread(site, function, name))
            yield from ((f"{name} = {value}", 0.7 * likely * 0.97**rank) for rank, value in made)
    missing = said(site.failures, ATTRIBUTE) if function.name in _constructing(site.source) else ()
    for name in (MANGLED.sub("__", name) for name in missing):
        read = re.search(rf"\bself\.{name}\b", site.source.text)
        if read and (isinstance(node, ast.Pass) or node is function.body[-1] or read[0] in code):
            counted = COUNTED if f"next(self.{name})" in site.source.text else ()
            values = enumerate((*counted, *NOTHING_YET))
            yield from ((f"self.{name} = {value}", 0.9 * likely * 0.93**rank) for rank, value in values)


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
        for maker in (one for one in local_names(site.source, site.node) if one not in (name, value)):
            yield from (f"{maker}({value})", f"{maker}(**{value})", f"{maker}(*{value})")


def _put_in(site: Site) -> Iterator[str]:
    """Where nothing is done with what is not in something: put it in."""
    for node in ast.walk(site.parent.test) if isinstance(site.node, ast.Pass) and isinstance(site.parent, ast.If) else ():
        match node:
            case ast.Compare(left=missing, ops=[ast.NotIn()], comparators=[held]):
                yield from (f"{site.source.code(held)}.{way}({site.source.code(missing)})" for way in ("append", "add"))
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


def copied(site: Site) -> Iterator[Rewrite]:
    """A statement of the same function, class or file once more, or what takes it back, with names that can be read here."""
    node, function = site.node, site.function
    if not _is_place(site) or function is None or not isinstance(node, ast.stmt):
        return
    owner = site.source.class_of(function)
    here = visible(site.source, function)
    own = local_names(site.source, node)
    beside = {site.source.code(one) for one in site.source.block(node)}
    found: dict[str, float] = {}
    for piece in statements(site.source):
        if not _may_stand(piece, site, function):
            continue
        near = COPY * nearness(piece, function, owner) * (1.4 if isinstance(node, ast.Pass) else 1.0)
        adapted = (*_renamed(piece, here, own), *_taken_apart(piece, site, here), *_told_of(piece, function, here), *_mirrored(piece, site))
        for text, weight in adapted:
            if text not in beside:
                found[text] = max(found.get(text, 0.0), near * weight)
            if (back := _taken_back(piece, text)) and back not in site.source.text:
                found[back] = max(found.get(back, 0.0), UNPAIRED * near * weight)
    for text in sorted(found, key=lambda text: (-found[text], text))[:MOST_COPIES]:
        yield from _put(site, node, text.split("\n"), weight=found[text])


def _renamed(piece: Piece, here: frozenset[str], own: Sequence[str]) -> Iterator[tuple[str, float]]:
    """A piece as it is where all of its names can be read, else with the one that cannot replaced by one of here."""
    foreign = sorted(piece.names - here)
    if not foreign:
        yield piece.text, 1.0
    if len(foreign) == 1:
        for name, alike in most_alike(foreign[0], tuple(own), count=MOST_RENAMED, least=0.0):
            yield re.sub(rf"(?<![\w.]){re.escape(foreign[0])}\b", name, piece.text), 0.5 + 0.4 * alike


def _told_of(piece: Piece, function: Function, here: frozenset[str]) -> Iterator[tuple[str, float]]:
    """A piece that names its own function, with the name of this one: `"minor is readonly"` for `"major is readonly"`."""
    name = piece.function.name if piece.function else ""
    if (
        name not in ("", function.name)
        and piece.names <= here
        and (text := re.sub(rf"\b{name}\b", function.name, piece.text)) != piece.text
    ):
        yield text, 1.2


def _mirrored(piece: Piece, site: Site) -> Iterator[tuple[str, float]]:
    """What is done under a condition like this one, with the one word in which they differ: `right` for `left`."""
    tests = [next((one.test for one in site.source.around(node) if isinstance(one, ast.If)), None) for node in (piece.node, site.node)]
    theirs, own = (re.findall(r"\w+|\W", site.source.code(test)) if test else [] for test in tests)
    unlike = {pair for pair in zip(theirs, own, strict=False) if pair[0] != pair[1]}
    if len(theirs) == len(own) and len(unlike) == 1:
        word, instead = unlike.pop()
        if (text := re.sub(rf"\b{re.escape(word)}\b", instead, piece.text)) != piece.text:
            yield text, 1.3


def _taken_apart(piece: Piece, site: Site, here: frozenset[str]) -> Iterator[tuple[str, float]]:
    """A piece that works on what a loop unpacks, with the elements of what is not unpacked here."""
    match loop := next((one for one in site.source.around(piece.node) if isinstance(one, ast.For)), None):
        case ast.For(target=ast.Tuple(elts=targets)) if all(isinstance(target, ast.Name) for target in targets):
            names = [site.source.code(target) for target in targets]
        case _:
            return
    if site.function is None or loop in site.source.around(site.node) or not {*names} & piece.names or piece.names - {*names} - here:
        return
    for whole in _indexed(site.function):
        text = piece.text
        for place, name in enumerate(names):
            text = re.sub(rf"(?<![\w.]){re.escape(name)}\b", f"{whole}[{place}]", text)
        yield text, 0.8


@lru_cache(maxsize=1024)
def _indexed(function: Function) -> tuple[str, ...]:
    """Names of which the function reads an element by its number."""
    names: dict[str, None] = {}
    for node in ast.walk(function):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int()), ctx=ast.Load()):
                names[name] = None
            case _:
                pass
    return tuple(names)


def _taken_back(piece: Piece, text: str) -> str:
    """What is counted down in one place is counted up in another."""
    match piece.node:
        case ast.AugAssign(op=ast.Add()):
            return text.replace("+=", "-=", 1)
        case ast.AugAssign(op=ast.Sub()):
            return text.replace("-=", "+=", 1)
        case _:
            return ""


def _may_stand(piece: Piece, site: Site, function: Function) -> bool:
    match piece.node:
        case ast.Break() | ast.Continue():
            return False
        case ast.Return(value=value):
            # Behind it nothing would be reached: only as the last, or in the place of nothing.
            return value is not None and (isinstance(site.node, ast.Pass) or site.source.block(_statement(site))[-1] is site.node)
        case ast.Expr(value=ast.Yield() | ast.YieldFrom()):
            return any(isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(function))
        case _:
            return True


def _put(site: Site, node: ast.stmt, lines: Sequence[str], *, weight: float) -> Iterator[Rewrite]:
    what = f"add `{lines[0][:50]}`"
    if isinstance(node, ast.Pass):
        start, end = site.source.span(node)
        indent = site.source.indent(node)
        if not indent.strip():
            yield Rewrite((Change(start=start, end=end, text=f"{site.source.line_end}{indent}".join(lines)),), weight * 1.3, what)
        return
    if not lines[0].startswith(("return", "raise")):
        yield from site.before(node, lines, weight=weight, summary=what)
    if site.source.block(node)[-1] is node and not isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Continue):
        yield from site.after(node, lines, weight=weight * 0.95, summary=what)


def _is_place(site: Site) -> bool:
    return isinstance(site.node, ast.stmt) and site.node is not site.function and not is_docstring(site.node)


def _statement(site: Site) -> ast.stmt:
    assert isinstance(site.node, ast.stmt)
    return site.node
