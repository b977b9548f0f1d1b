"""Statements that are missing and stand in similar places: as they are there, or adapted to this one."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from coder.python.source import Function, Source
from coder.repair.context.donor_code import Piece, nearness, statements, visible
from coder.repair.context.scope import local_names, module_names, most_alike, unread
from coder.repair.context.site import Rewrite, Site
from coder.repair.generators.statements.insertion import is_place, put

MOST_COPIES, MOST_INSTEAD = 60, 180
"""Of one place; and where nothing is done."""
CACHED = 4096
MOST_RENAMED = 3
COPY = 0.3
AGAIN, MOST_AGAIN = 0.04, 5
"""What each further time adds that a statement stands in the file, up to so many."""
USING = 1.3
"""What speaks for a statement that reads what is made here and not read."""
FOLLOWING = 1.5
"""What speaks for a statement before which the same stands as here."""
LEAST_PARALLEL, LEAST_REPEATED = 0.6, 0.5
"""How alike names have to be of which one stands for the other."""
UNPAIRED = 2.0
"""What is counted only up, or only down, in the whole file speaks for the other."""


def copied(site: Site) -> Iterator[Rewrite]:
    """A statement of the same function, class or file once more, or what takes it back, with names that can be read here."""
    node, function = site.node, site.function
    if not is_place(site) or function is None or not isinstance(node, ast.stmt):
        return
    owner = site.source.class_of(function)
    here = visible(site.source, function)
    own = local_names(site.source, node)
    beside = {site.source.code(item) for item in site.source.block(node)}
    lost = frozenset(unread(function))
    before = _before(site.source, node)
    found: dict[str, float] = {}
    for piece in statements(site.source):
        if not _may_stand(piece, site, node, function):
            continue
        near = (
            COPY
            * nearness(piece, function, owner)
            * (1.4 if isinstance(node, ast.Pass) else 1.0)
            * _usual(piece, site.source)
        )
        near *= USING if piece.names & lost else 1.0
        near *= FOLLOWING if before and before == _before(site.source, piece.node) else 1.0
        for text, weight in (
            *_renamed(piece, here, own),
            *_taken_apart(piece, site, here),
            *_told_of(piece, function, here),
            *_mirrored(piece, site),
            *_repeated(piece, site, own),
            *_counted_on(piece, site),
            *_kept(piece, lost),
            *_in_parallel(piece, site, here),
        ):
            if text not in beside:
                found[text] = max(found.get(text, 0.0), near * weight)
            if (back := _taken_back(piece, text)) and back not in site.source.text:
                found[back] = max(found.get(back, 0.0), UNPAIRED * near * weight)
    most = MOST_INSTEAD if isinstance(node, ast.Pass) else MOST_COPIES
    for text in sorted(found, key=lambda text: (-found[text], text))[:most]:
        yield from put(site, node, text.split("\n"), weight=found[text])


def _renamed(piece: Piece, here: frozenset[str], own: Sequence[str]) -> Iterator[tuple[str, float]]:
    """A piece as it is where all of its names can be read, else with the one that cannot replaced by one of here."""
    foreign = sorted(piece.names - here)
    if not foreign:
        yield piece.text, 1.0
    if len(foreign) == 1:
        for name, alike in most_alike(foreign[0], tuple(own), count=MOST_RENAMED, least=0.0):
            yield _with(piece.text, foreign[0], name), 0.5 + 0.4 * alike


def _with(text: str, name: str, instead: str) -> str:
    """A piece of code with another name for one, attributes left as they are."""
    return re.sub(rf"(?<![\w.]){name}\b", instead, text)


@lru_cache(maxsize=CACHED)
def _before(source: Source, node: ast.AST) -> str:
    """What stands before a statement in its block: what is given a value there, or else the text; nothing for what comes first."""
    if not isinstance(node, ast.stmt):
        return ""
    block = source.block(node)
    place = block.index(node)
    match block[place - 1] if place else None:
        case None:
            return ""
        case ast.Assign(targets=targets):
            return ", ".join(map(source.code, targets))
        case other:
            return source.code(other)


def _usual(piece: Piece, source: Source) -> float:
    """More for what stands in the file several times."""
    return 1 + AGAIN * min(MOST_AGAIN, _counted(source)[piece.text] - 1)


@lru_cache(maxsize=256)
def _counted(source: Source) -> Counter[str]:
    return Counter(piece.text for piece in statements(source))


def _kept(piece: Piece, lost: frozenset[str]) -> Iterator[tuple[str, float]]:
    """A piece that keeps something under its own name, for what is given and not read here: `self.b = b or []` for `self.a = a or []`."""
    match piece.node:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value) if (
            not isinstance(value, ast.Name)
        ):
            if name in piece.names:
                yield from (
                    (re.sub(rf"\b{name}\b", other, piece.text), 1.4) for other in sorted(lost - {name})
                )
        case _:
            pass


def _in_parallel(piece: Piece, site: Site, here: frozenset[str]) -> Iterator[tuple[str, float]]:
    """A piece of another function with the one thing of the module that is used here and not there instead of the one used there."""
    if piece.function in (None, site.function) or site.function is None or piece.names - here:
        return
    theirs, own = _of_module(site.source, piece.function), _of_module(site.source, site.function)
    for name in sorted(theirs - own):
        for instead, alike in most_alike(name, tuple(sorted(own - theirs)), count=1, least=LEAST_PARALLEL):
            if (text := _with(piece.text, name, instead)) != piece.text:
                yield text, 0.5 + alike


@lru_cache(maxsize=1024)
def _of_module(source: Source, function: Function) -> frozenset[str]:
    """What a function reads of what the module defines."""
    read = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    return frozenset(read & {*module_names(source)})


@lru_cache(maxsize=1024)
def _spare(source: Source, function: Function) -> tuple[str, ...]:
    """What the module defines and a function does not read."""
    return tuple(name for name in module_names(source) if name not in _of_module(source, function))


def _repeated(piece: Piece, site: Site, own: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    """What is done with one variable of the function, done with another that is called nearly the same: `b = b.strip()`.

    So with what the module defines, and the function does not read.
    """
    for name in sorted(piece.names) if piece.function is site.function else ():
        for other, alike in most_alike(name, own, count=1, least=LEAST_REPEATED):
            yield _with(piece.text, name, other), 0.5 + 0.4 * alike
    if piece.function is site.function is not None:
        said = {node.id for node in ast.walk(piece.node) if isinstance(node, ast.Name)}
        for name in sorted(said & _of_module(site.source, site.function)):
            for other, alike in most_alike(
                name, _spare(site.source, site.function), count=1, least=LEAST_PARALLEL
            ):
                yield _with(piece.text, name, other), 0.4 + 0.4 * alike


def _counted_on(piece: Piece, site: Site) -> Iterator[tuple[str, float]]:
    """What is done with one element of something in the function, done with another one: `a[1]` after `a[0]`."""
    for found in re.finditer(r"\[(\d)\]", piece.text) if piece.function is site.function else ():
        for step, weight in ((1, 0.8), (2, 0.7), (-1, 0.6)):
            if (number := int(found[1]) + step) >= 0:
                yield f"{piece.text[: found.start(1)]}{number}{piece.text[found.end(1) :]}", weight


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
    """What is done under a condition like this one, with the one word in which they differ: `right` for `left`.

    Of `FG_COLORS` for `BG_COLORS` a part may be written in small letters elsewhere.
    """
    tests = [
        next((item.test for item in site.source.around(node) if isinstance(item, ast.If)), None)
        for node in (piece.node, site.node)
    ]
    theirs, own = (re.findall(r"\w+|\W", site.source.code(test)) if test else [] for test in tests)
    unlike = {pair for pair in zip(theirs, own, strict=False) if pair[0] != pair[1]}
    if len(theirs) == len(own) and len(unlike) == 1:
        word, instead = unlike.pop()
        if not (word + instead).replace("_", "").isalnum():
            return
        if (text := re.sub(rf"\b{word}\b", instead, piece.text)) != piece.text:
            yield text, 1.3
            parts = {
                pair for pair in zip(word.split("_"), instead.split("_"), strict=False) if pair[0] != pair[1]
            }
            for part, other in parts if len(parts) == 1 else ():
                yield re.sub(rf"(?<![^\W_]){part.lower()}(?![^\W_])", other.lower(), text), 1.2


def _taken_apart(piece: Piece, site: Site, here: frozenset[str]) -> Iterator[tuple[str, float]]:
    """A piece that works on what a loop unpacks, with the elements of what is not unpacked here."""
    match loop := next((item for item in site.source.around(piece.node) if isinstance(item, ast.For)), None):
        case ast.For(target=ast.Tuple(elts=targets)) if all(
            isinstance(target, ast.Name) for target in targets
        ):
            names = [site.source.code(target) for target in targets]
        case _:
            return
    if (
        site.function is None
        or loop in site.source.around(site.node)
        or not {*names} & piece.names
        or piece.names - {*names} - here
    ):
        return
    for whole in _indexed(site.function):
        text = piece.text
        for place, name in enumerate(names):
            text = _with(text, name, f"{whole}[{place}]")
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


def _may_stand(piece: Piece, site: Site, node: ast.stmt, function: Function) -> bool:
    match piece.node:
        case ast.Break() | ast.Continue():
            return False
        case ast.Return(value=value):
            # Behind it nothing would be reached: only as the last, or in the place of nothing.
            return value is not None and (isinstance(node, ast.Pass) or site.source.block(node)[-1] is node)
        case ast.Expr(value=ast.Yield() | ast.YieldFrom()):
            return any(isinstance(item, ast.Yield | ast.YieldFrom) for item in ast.walk(function))
        case _:
            return True
