"""Wrong names: another variable in scope, another attribute of the same object."""

import ast
from collections.abc import Iterator

from coder.repair.context.scope import (
    attribute_names,
    local_names,
    module_names,
    most_similar_names,
    name_similarity,
    parameter_names,
    parameters_never_read,
    self_attribute_names,
    short_string_literals,
)
from coder.repair.context.site import Rewrite, RewriteSite
from coder.repair.generators.calls.arguments import find_callee

MAX_ATTRIBUTES = 8
SAME_NAME_WEIGHT = 1.2
"""Weight of a variable named like the parameter it is passed to."""
TESTED_NAME_WEIGHT = 1.1
"""Weight of swapping a tested variable with one that is read under the condition, if the tested one is not
read there."""
UNREAD_PARAMETER_FACTOR = 1.3
"""Weight factor of a parameter that nothing in the function reads."""


def variable(site: RewriteSite) -> Iterator[Rewrite]:
    """Use another variable of the function, or a variable for an attribute of self."""
    node, candidates = site.node, local_names(site.source, site.node)
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Load()) if (
            name in candidates and not is_callee(site)
        ):
            yield from site.replace_expression(
                node, name, weight=0.5, summary=f"use `{name}`, not the attribute"
            )
        case _:
            pass
    if not isinstance(node, ast.Name) or node.id in ("self", "cls"):
        return
    if is_callee(site):
        yield from _call_other_name(site, node, candidates)
        return
    is_load = isinstance(node.ctx, ast.Load)
    receiving, unread_names, related = (
        _receiving_parameter(site),
        parameters_never_read(site.function),
        _names_under_test(site, node) | _tested_names(site, node),
    )
    for rank, name in enumerate(candidates):
        if name != node.id:
            weight = (0.75 if is_load else 0.4) * (0.7 + 0.3 * name_similarity(name, node.id)) * 0.97**rank
            weight = (
                SAME_NAME_WEIGHT if name == receiving else TESTED_NAME_WEIGHT if name in related else weight
            )
            weight *= UNREAD_PARAMETER_FACTOR if is_load and name in unread_names else 1.0
            yield from site.replace_expression(
                node, name, weight=weight, summary=f"use `{name}` instead of `{node.id}`"
            )
    if is_load:
        for rank, name in enumerate(self_attribute_names(site.source, node)[:MAX_ATTRIBUTES]):
            weight = 0.8 if name == node.id else 0.25 * 0.95**rank
            yield from site.replace_expression(
                node, f"self.{name}", weight=weight, summary=f"use `self.{name}` instead of `{node.id}`"
            )
        for name, alike in most_similar_names(
            node.id, module_names(site.source), max_count=5, min_similarity=0.5
        ):
            yield from site.replace_expression(
                node, name, weight=0.5 * alike, summary=f"use `{name}` instead of `{node.id}`"
            )


def _call_other_name(site: RewriteSite, node: ast.Name, names: tuple[str, ...]) -> Iterator[Rewrite]:
    """Call another variable, or an unread parameter instead of any function."""
    unread_names = parameters_never_read(site.function)
    for rank, name in enumerate(names if node.id in names else unread_names):
        if name != node.id:
            weight = (
                0.5
                * (0.7 + 0.3 * name_similarity(name, node.id))
                * 0.97**rank
                * (UNREAD_PARAMETER_FACTOR if name in unread_names else 1.0)
            )
            yield from site.replace_expression(
                node, name, weight=weight, summary=f"call `{name}` instead of `{node.id}`"
            )


def _receiving_parameter(site: RewriteSite) -> str:
    """Return the name of the parameter that receives the node's value; empty if unknown."""
    match site.parent:
        case ast.keyword(arg=str(name)):
            return name
        case ast.Call(args=arguments) as call if site.node in arguments and (
            callee := find_callee(site, call)
        ):
            position, parameters = arguments.index(site.node), parameter_names(callee)
            return parameters[position] if position < len(parameters) else ""
        case _:
            return ""


def _names_under_test(site: RewriteSite, name: ast.Name) -> frozenset[str]:
    """Return names read under a condition that tests `name`; empty if `name` itself is read there."""
    test: ast.AST = name
    match site.parent:
        case (
            ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]) as comparison
        ) if left is name:
            test = comparison
        case _:
            pass
    match site.source.parents.get(test):
        case ast.If(test=condition, body=body) if condition is test:
            parts = [part for statement in body for part in ast.walk(statement)]
        case _:
            return frozenset()
    read = frozenset(
        descendant.id
        for descendant in parts
        if isinstance(descendant, ast.Name) and isinstance(descendant.ctx, ast.Load)
    )
    return frozenset() if name.id in read else read


def _tested_names(site: RewriteSite, name: ast.Name) -> frozenset[str]:
    """Return the name tested in `name if other is not None else ...`."""
    match site.parent:
        case ast.IfExp(
            test=ast.Name(id=tested) | ast.Compare(left=ast.Name(id=tested), ops=[ast.IsNot()]), body=body
        ) if body is name:
            return frozenset({tested})
        case _:
            return frozenset()


def own_class(site: RewriteSite) -> Iterator[Rewrite]:
    """Use the class of the object instead of the class that defines the method: a subclass may differ."""
    node, function = site.node, site.function
    owner = site.source.owner_class(function)
    if owner is None or function is None or not isinstance(node, ast.Name) or node.id != owner.name:
        return
    first = function.args.args[0].arg if function.args.args else ""
    for text in {"self": ("type(self)", "self.__class__"), "cls": ("cls",)}.get(first, ()):
        yield from site.replace_expression(
            node, text, weight=0.5, summary=f"use `{text}` instead of `{node.id}`"
        )


def attribute(site: RewriteSite) -> Iterator[Rewrite]:
    """Use another attribute: of self, or a similar one that the file uses."""
    node = site.node
    if (
        isinstance(node, ast.Name)
        and node.id == "self"
        and isinstance(site.parent, ast.Call)
        and not is_callee(site)
    ):
        for rank, name in enumerate(self_attribute_names(site.source, node)[:MAX_ATTRIBUTES]):
            yield from site.replace_expression(
                node,
                f"self.{name}",
                weight=0.3 * 0.95**rank,
                summary=f"pass `self.{name}` instead of the object",
            )
    if not isinstance(node, ast.Attribute):
        return
    weights = {
        name: 0.65 * alike
        for name, alike in most_similar_names(
            node.attr, attribute_names(site.source), max_count=8, min_similarity=0.45
        )
    }
    if isinstance(node.value, ast.Name) and node.value.id == "self":
        for name in self_attribute_names(site.source, node)[:14]:
            weights[name] = max(weights.get(name, 0.0), 0.25 if is_callee(site) else 0.5)
        for name in local_names(site.source, node)[:8] if not is_callee(site) else ():
            if name != node.attr:
                yield from site.replace_expression(
                    node, name, weight=0.2, summary=f"use `{name}`, not the attribute"
                )
    for name, weight in weights.items():
        yield from site.rename_attribute(
            node, name, weight=weight, summary=f"use `{name}` instead of `{node.attr}`"
        )


def key(site: RewriteSite) -> Iterator[Rewrite]:
    """Use a similar string key of the file."""
    node = site.node
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value and _is_key(site)):
        return
    for name, alike in most_similar_names(
        node.value, short_string_literals(site.source), max_count=5, min_similarity=0.4
    ):
        yield from site.replace_expression(
            node, repr(name), weight=0.6 * alike, summary=f"use {name!r} instead of {node.value!r}"
        )


def against_itself(site: RewriteSite) -> Iterator[Rewrite]:
    """Fix self-references: `self.x == other.x` for `self.x == self.x`.

    Also `self._x` in a property `x` that reads itself.
    """
    match site.node:
        case ast.Compare(
            left=ast.Attribute(value=ast.Name(id=name)) as left,
            comparators=[ast.Attribute(value=owner) as right],
        ):
            if site.source.text_of(left) == site.source.text_of(right):
                for other in (local for local in local_names(site.source, site.node) if local != name):
                    yield from site.replace_expression(
                        owner, other, weight=1.2, summary=f"compare with `{other}`"
                    )
        case ast.Attribute(value=ast.Name(id="self"), attr=name) as node if (
            site.function and name == site.function.name
        ):
            if site.function.decorator_list and not is_callee(site):
                yield from site.rename_attribute(
                    node,
                    f"_{name}",
                    weight=0.8,
                    summary=f"use `_{name}`, which backs the property `{name}`",
                )
        case _:
            pass


def quoting(site: RewriteSite) -> Iterator[Rewrite]:
    """Quote a key: `'name'` for `name`."""
    node = site.node
    match site.parent:
        case ast.Dict(keys=keys) if node in keys:
            pass
        case ast.Subscript(slice=index) if index is node:
            pass
        case _:
            return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from site.replace_expression(
            node, repr(node.id), weight=0.4, summary=f"use the string {node.id!r}, not the variable"
        )


def is_callee(site: RewriteSite) -> bool:
    """Tell whether the node is a callee rather than a value."""
    return isinstance(site.parent, ast.Call) and site.parent.func is site.node


def _is_key(site: RewriteSite) -> bool:
    match site.parent:
        case ast.Subscript(slice=index):
            return index is site.node
        case ast.Call(func=ast.Attribute(attr="get" | "pop" | "setdefault")) | ast.Dict() | ast.Compare():
            return True
        case _:
            return False
