"""Conditions that can be asked at a place, made of the names and the constants that stand around it."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from coder.python.source import Function, Source
from coder.repair.context.donor_code import conditions, nearness, visible
from coder.repair.context.scope import arguments_of, local_names, unread

MOST_NAMES, MOST_CONSTANTS, MOST_ASKED = 6, 4, 24
MOST_LONG, LONGEST = 4, 40
FADING = 0.93
"""Each further name weighs so much less."""


def asked(source: Source, node: ast.AST) -> tuple[tuple[str, float], ...]:
    """Conditions with their weights, 0 to 1, the likeliest first: what the file asks for elsewhere, then plain ones of each name."""
    function = source.function(node)
    found: dict[str, float] = {}
    for text, weight in (
        *_elsewhere(source, function),
        *_plain(source, node),
        *_used(source, node),
        *_turned_round(source, node),
        *_put_in(source, node),
        *_kept(source, function),
        *_idle(source, node),
        *_held(source, node),
    ):
        found[text] = max(found.get(text, 0.0), weight)
    return tuple(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def _elsewhere(source: Source, function: Function | None) -> Iterator[tuple[str, float]]:
    """What the file asks for where the same names can be read: the nearer the likelier."""
    here, owner = visible(source, function), source.class_of(function)
    pieces = [piece for piece in conditions(source) if piece.names <= here and "\n" not in piece.text]
    pieces.sort(key=lambda piece: -nearness(piece, function, owner))
    for piece in pieces[:MOST_ASKED]:
        near = nearness(piece, function, owner)
        yield piece.text, 0.7 * near
        if near == 1.0 and not isinstance(piece.node, ast.BoolOp):
            yield (
                f"not {piece.text}"
                if isinstance(piece.node, ast.Name | ast.Call | ast.Attribute)
                else f"not ({piece.text})",
                0.45,
            )


def _plain(source: Source, node: ast.AST) -> Iterator[tuple[str, float]]:
    function = source.function(node)
    parameters = set(arguments_of(function)) if function else set()
    names = _names(source, node)[:MOST_NAMES]
    numbers = _constants(function)[:MOST_CONSTANTS] if function else []
    loops = [
        item
        for place in _under(source, node)[0]
        for item in ast.walk(place)
        if isinstance(item, ast.For | ast.comprehension)
    ]
    gone_through = {loop.iter.id for loop in loops if isinstance(loop.iter, ast.Name)}
    for rank, name in enumerate(names):
        fading = FADING**rank * (1.0 if name in parameters else 0.95)
        yield name, 0.6 * fading
        yield f"not {name}", 0.6 * fading
        yield f"{name} is None", 0.5 * fading
        yield f"{name} is not None", 0.5 * fading
        for kind in _kinds(source):
            yield f"isinstance({name}, {kind})", 0.4 * fading
        for kind in ("list", "(list, tuple)") if name in gone_through else ():
            yield f"isinstance({name}, {kind})", 0.5
        for number in numbers:
            for operator in ("==", "!=", "<", ">", ">="):
                yield f"{name} {operator} {number}", 0.3 * fading
        for other in names[rank + 1 :]:
            for operator in ("==", "!=", "<", ">", "<=", ">=", "in", "not in"):
                yield f"{name} {operator} {other}", 0.3 * fading


def _names(source: Source, node: ast.AST) -> list[str]:
    """The variables of a function, first those that are read in the branches between which a condition decides."""
    branches = _under(source, node)
    read = {
        item.id
        for branch in branches
        for statement in branch
        for item in ast.walk(statement)
        if isinstance(item, ast.Name)
    }
    return sorted(local_names(source, node), key=lambda name: name not in read)


def _under(source: Source, node: ast.AST) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """What is done where a condition holds, and where it does not."""
    parent = source.parents.get(node)
    return (parent.body, parent.orelse) if isinstance(parent, ast.If) else ([], [])


def _put_in(source: Source, node: ast.AST) -> Iterator[tuple[str, float]]:
    """Is something in what it is put in otherwise?"""
    for branch, asked_for in zip(_under(source, node), ("not in", "in"), strict=True):
        for item in (item for statement in branch for item in ast.walk(statement)):
            match item:
                case ast.Call(
                    func=ast.Attribute(value=held, attr="add" | "append"), args=[ast.Name(id=name)]
                ):
                    yield f"{name} {asked_for} {source.code(held)}", 0.8
                case ast.Assign(targets=[ast.Subscript(value=held, slice=ast.Name(id=name))]):
                    yield f"{name} {asked_for} {source.code(held)}", 0.7
                case _:
                    pass


def _used(source: Source, node: ast.AST) -> Iterator[tuple[str, float]]:
    """Attributes that the function reads of what it holds, those under the condition first: what is asked for is used then."""
    function = source.function(node)
    under = [statement for branch in _under(source, node) for statement in branch]
    for weight, places in ((0.8, under), (0.35, [function] if function else [])):
        read = [
            item
            for place in places
            for item in ast.walk(place)
            if isinstance(item, ast.Attribute) and isinstance(item.ctx, ast.Load)
        ]
        held = [item for item in read if isinstance(item.value, ast.Name) and not _is_called(source, item)]
        for text in [*dict.fromkeys(source.code(item) for item in held)][:MOST_NAMES]:
            yield text, weight
            yield f"not {text}", 0.35


def _turned_round(source: Source, node: ast.AST) -> Iterator[tuple[str, float]]:
    """Is a number below zero whose sign is taken away under the condition?"""
    for item in (item for statement in _under(source, node)[0] for item in ast.walk(statement)):
        match item:
            case (
                ast.UnaryOp(op=ast.USub(), operand=ast.Name(id=name))
                | ast.Call(func=ast.Name(id="abs"), args=[ast.Name(id=name)])
            ):
                yield f"{name} < 0", 0.8
            case _:
                pass


def _held(source: Source, node: ast.AST) -> Iterator[tuple[str, float]]:
    """Variables compared with what the object holds of itself, as far as the function reads it."""
    function = source.function(node)
    read = (
        item
        for item in ast.walk(function or node)
        if isinstance(item, ast.Attribute) and isinstance(item.ctx, ast.Load)
    )
    own = (
        item
        for item in read
        if isinstance(item.value, ast.Name) and item.value.id == "self" and not _is_called(source, item)
    )
    for rank, text in enumerate([*dict.fromkeys(source.code(item) for item in own)][:MOST_NAMES]):
        for name in local_names(source, node)[:MOST_NAMES]:
            for form in ("{} != {}", "{} == {}", "{} > {}", "{} < {}", "{} in {}", "not isinstance({}, {})"):
                yield form.format(name, text), 0.3 * FADING**rank


def lengths(source: Source, node: ast.If) -> Iterator[tuple[str, float]]:
    """Is a variable just so long? The number may stand nowhere: of many, the tests let few through, and the lower come first."""
    leaving = isinstance(node.body[-1], ast.Raise | ast.Return | ast.Continue | ast.Break)
    for rank, name in enumerate(local_names(source, node)[:MOST_LONG]):
        for number in range(1, LONGEST + 1):
            yield (
                f"len({name}) {'!=' if leaving else '=='} {number}",
                0.25 * FADING**rank * FADING ** (number / 10),
            )


def _is_called(source: Source, node: ast.AST) -> bool:
    parent = source.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node


def _kept(source: Source, function: Function | None) -> Iterator[tuple[str, float]]:
    """What the object was given and nothing reads: it may be what is asked for."""
    owner = source.class_of(function)
    for name in _unread_attributes(source, owner) if owner else ():
        yield f"self.{name}", 0.9
        yield f"not self.{name}", 0.7


def _idle(source: Source, node: ast.AST) -> Iterator[tuple[str, float]]:
    """What nothing in the function reads, parameters first: by itself and beside each other variable."""
    function, names = source.function(node), _names(source, node)
    for name in unread(function) if function else ():
        yield name, 0.8
        yield f"not {name}", 0.8
        for other in [item for item in names if item != name][:MOST_NAMES]:
            for form in (
                "{} and {}",
                "not {} and {}",
                "{} and not {}",
                "not {} and not {}",
                "{} & {}",
                "{} in {}",
                "{} == {}",
            ):
                yield form.format(other, name), 0.4


@lru_cache(maxsize=256)
def _unread_attributes(source: Source, owner: ast.ClassDef) -> tuple[str, ...]:
    """Attributes that a class sets and the file does not read."""
    read = {
        node.attr
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }
    set_ = (
        node
        for node in ast.walk(owner)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    )
    return tuple(
        dict.fromkeys(
            item.attr
            for item in set_
            if isinstance(item.value, ast.Name) and item.value.id == "self" and item.attr not in read
        )
    )


@lru_cache(maxsize=1024)
def _constants(function: Function) -> list[str]:
    """What the function compares with, as it is written."""
    compared = [
        comparator
        for node in ast.walk(function)
        if isinstance(node, ast.Compare)
        for comparator in (node.left, *node.comparators)
    ]
    return list(
        dict.fromkeys(
            repr(item.value) for item in compared if isinstance(item, ast.Constant) and item.value is not None
        )
    )


@lru_cache(maxsize=256)
def _kinds(source: Source) -> tuple[str, ...]:
    """The types that the file's isinstance calls name."""
    found: dict[str, None] = {}
    for node in ast.walk(source.tree):
        match node:
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name(id=name)]):
                found[name] = None
            case _:
                pass
    return tuple(found)[:4]
