"""Wrong names: another variable in scope, another attribute of the same object."""

import ast
from collections.abc import Iterator

from coder.repair.context.scope import (
    arguments_of,
    attributes,
    idle,
    likeness,
    local_names,
    module_names,
    most_alike,
    own_attributes,
    short_texts,
)
from coder.repair.context.site import Rewrite, Site
from coder.repair.generators.calls.arguments import callee_of

MOST_HELD = 8
NAMESAKE = 1.2
"""What speaks for a variable that has the name of the parameter which is given another."""
GUARDED = 1.1
"""What speaks for a variable that is read under a condition which asks for another one, not read there; and for that one instead of it."""
REVIVING = 1.3
"""And for a parameter that nothing in the function reads."""


def variable(site: Site) -> Iterator[Rewrite]:
    """Another variable of the function, the more alike or the more of a parameter the sooner; `size` for `self.size`."""
    node, here = site.node, local_names(site.source, site.node)
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Load()) if (
            name in here and not is_called(site)
        ):
            yield from site.replace(node, name, weight=0.5, summary=f"use `{name}`, not the attribute")
        case _:
            pass
    if not isinstance(node, ast.Name) or node.id in ("self", "cls"):
        return
    if is_called(site):
        yield from _called(site, node, here)
        return
    loads = isinstance(node.ctx, ast.Load)
    asked, unread, guarded = (
        _asked_for(site),
        idle(site.function),
        _guarded(site, node) | _guarding(site, node),
    )
    for rank, name in enumerate(here):
        if name != node.id:
            weight = (0.75 if loads else 0.4) * (0.7 + 0.3 * likeness(name, node.id)) * 0.97**rank
            weight = NAMESAKE if name == asked else GUARDED if name in guarded else weight
            weight *= REVIVING if loads and name in unread else 1.0
            yield from site.replace(node, name, weight=weight, summary=f"use `{name}` instead of `{node.id}`")
    if loads:
        for rank, name in enumerate(own_attributes(site.source, node)[:MOST_HELD]):
            weight = 0.8 if name == node.id else 0.25 * 0.95**rank
            yield from site.replace(
                node, f"self.{name}", weight=weight, summary=f"use `self.{name}` instead of `{node.id}`"
            )
        for name, alike in most_alike(node.id, module_names(site.source), count=5, least=0.5):
            yield from site.replace(
                node, name, weight=0.5 * alike, summary=f"use `{name}` instead of `{node.id}`"
            )


def _called(site: Site, node: ast.Name, here: tuple[str, ...]) -> Iterator[Rewrite]:
    """For a variable that is called another one; for any function a parameter that nothing reads."""
    unread = idle(site.function)
    for rank, name in enumerate(here if node.id in here else unread):
        if name != node.id:
            weight = (
                0.5
                * (0.7 + 0.3 * likeness(name, node.id))
                * 0.97**rank
                * (REVIVING if name in unread else 1.0)
            )
            yield from site.replace(
                node, name, weight=weight, summary=f"call `{name}` instead of `{node.id}`"
            )


def _asked_for(site: Site) -> str:
    """The name of the parameter that is given the node's value; empty where it is no argument, or this is not known."""
    match site.parent:
        case ast.keyword(arg=str(name)):
            return name
        case ast.Call(args=given) as call if site.node in given and (callee := callee_of(site, call)):
            place, taken = given.index(site.node), arguments_of(callee)
            return taken[place] if place < len(taken) else ""
        case _:
            return ""


def _guarded(site: Site, name: ast.Name) -> frozenset[str]:
    """What is read under a condition that asks whether there is a `name`; nothing where that is read there itself."""
    test: ast.AST = name
    match site.parent:
        case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]) as asked if (
            left is name
        ):
            test = asked
        case _:
            pass
    match site.source.parents.get(test):
        case ast.If(test=whole, body=body) if whole is test:
            parts = [part for statement in body for part in ast.walk(statement)]
        case _:
            return frozenset()
    read = frozenset(
        item.id for item in parts if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)
    )
    return frozenset() if name.id in read else read


def _guarding(site: Site, name: ast.Name) -> frozenset[str]:
    """What `name if other is not None else ...` asks for."""
    match site.parent:
        case ast.IfExp(
            test=ast.Name(id=asked) | ast.Compare(left=ast.Name(id=asked), ops=[ast.IsNot()]), body=body
        ) if body is name:
            return frozenset({asked})
        case _:
            return frozenset()


def own_class(site: Site) -> Iterator[Rewrite]:
    """The class of the object instead of the one in which its method is written: in a subclass it is another."""
    node, function = site.node, site.function
    owner = site.source.class_of(function)
    if owner is None or function is None or not isinstance(node, ast.Name) or node.id != owner.name:
        return
    first = function.args.args[0].arg if function.args.args else ""
    for text in {"self": ("type(self)", "self.__class__"), "cls": ("cls",)}.get(first, ()):
        yield from site.replace(node, text, weight=0.5, summary=f"use `{text}` instead of `{node.id}`")


def attribute(site: Site) -> Iterator[Rewrite]:
    """Another attribute: of self, or one alike that the file uses."""
    node = site.node
    if (
        isinstance(node, ast.Name)
        and node.id == "self"
        and isinstance(site.parent, ast.Call)
        and not is_called(site)
    ):
        for rank, name in enumerate(own_attributes(site.source, node)[:MOST_HELD]):
            yield from site.replace(
                node, f"self.{name}", weight=0.3 * 0.95**rank, summary=f"give `self.{name}`, not the object"
            )
    if not isinstance(node, ast.Attribute):
        return
    weights = {
        name: 0.65 * alike
        for name, alike in most_alike(node.attr, attributes(site.source), count=8, least=0.45)
    }
    if isinstance(node.value, ast.Name) and node.value.id == "self":
        for name in own_attributes(site.source, node)[:14]:
            weights[name] = max(weights.get(name, 0.0), 0.25 if is_called(site) else 0.5)
        for name in local_names(site.source, node)[:8] if not is_called(site) else ():
            if name != node.attr:
                yield from site.replace(node, name, weight=0.2, summary=f"use `{name}`, not the attribute")
    for name, weight in weights.items():
        yield from site.rename(node, name, weight=weight, summary=f"use `{name}` instead of `{node.attr}`")


def key(site: Site) -> Iterator[Rewrite]:
    """`i` for `j` is a name; this is another string key that the file uses, alike to the one that is there."""
    node = site.node
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value and _is_key(site)):
        return
    for name, alike in most_alike(node.value, short_texts(site.source), count=5, least=0.4):
        yield from site.replace(
            node, repr(name), weight=0.6 * alike, summary=f"use {name!r} instead of {node.value!r}"
        )


def against_itself(site: Site) -> Iterator[Rewrite]:
    """`self.x == other.x` for `self.x == self.x`; `self._x` where the property `x` asks for itself."""
    match site.node:
        case ast.Compare(
            left=ast.Attribute(value=ast.Name(id=name)) as left,
            comparators=[ast.Attribute(value=whose) as right],
        ):
            if site.source.code(left) == site.source.code(right):
                for other in (item for item in local_names(site.source, site.node) if item != name):
                    yield from site.replace(whose, other, weight=1.2, summary=f"compare with `{other}`")
        case ast.Attribute(value=ast.Name(id="self"), attr=name) as node if (
            site.function and name == site.function.name
        ):
            if site.function.decorator_list and not is_called(site):
                yield from site.rename(
                    node,
                    f"_{name}",
                    weight=0.8,
                    summary=f"use `_{name}`, what the property `{name}` stands for",
                )
        case _:
            pass


def quoting(site: Site) -> Iterator[Rewrite]:
    """`'name'` for `name` where it is a key; the other way round it is a matter of named values."""
    node = site.node
    match site.parent:
        case ast.Dict(keys=keys) if node in keys:
            pass
        case ast.Subscript(slice=index) if index is node:
            pass
        case _:
            return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from site.replace(
            node, repr(node.id), weight=0.4, summary=f"use the text {node.id!r}, not the variable"
        )


def is_called(site: Site) -> bool:
    """Is this what is called, rather than a value?"""
    return isinstance(site.parent, ast.Call) and site.parent.func is site.node


def _is_key(site: Site) -> bool:
    match site.parent:
        case ast.Subscript(slice=index):
            return index is site.node
        case ast.Call(func=ast.Attribute(attr="get" | "pop" | "setdefault")) | ast.Dict() | ast.Compare():
            return True
        case _:
            return False
