"""Templates for names: wrong, undefined, moved, bound late."""

import ast
import builtins
import importlib
import re
import sys
from collections.abc import Iterator, Sequence

from coder.core.paths import is_test_path
from coder.core.ports import TextChange
from coder.core.verdict import Failure
from coder.python.source import Function, PythonSource, find_nodes, is_docstring
from coder.repair.generators.site import (
    SUCCESSORS,
    Rewrite,
    RewriteSite,
    assigned_names,
    attribute_names,
    find_callee,
    import_changes,
    insert_import_line,
    local_names,
    module_names,
    most_similar_names,
    name_similarity,
    parameter_names,
    parameters_never_read,
    replace_span,
    self_attribute_names,
    short_string_literals,
    standard_library_index,
)

# Wrong names: another variable in scope, another attribute of the same object.

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
            yield from site.replace(node, name, weight=0.5, summary=f"use `{name}`, not the attribute")
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
            yield from site.replace(node, name, weight=weight, summary=f"use `{name}` instead of `{node.id}`")
    if is_load:
        for rank, name in enumerate(self_attribute_names(site.source, node)[:MAX_ATTRIBUTES]):
            weight = 0.8 if name == node.id else 0.25 * 0.95**rank
            yield from site.replace(
                node, f"self.{name}", weight=weight, summary=f"use `self.{name}` instead of `{node.id}`"
            )
        for name, alike in most_similar_names(
            node.id, module_names(site.source), max_count=5, min_similarity=0.5
        ):
            yield from site.replace(
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
            yield from site.replace(
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
    return ""


def _names_under_test(site: RewriteSite, name: ast.Name) -> frozenset[str]:
    """Return names read under a condition that tests `name`; empty if `name` itself is read there."""
    test: ast.AST = name
    match site.parent:
        case (
            ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]) as comparison
        ) if left is name:
            test = comparison
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
    return frozenset()


def own_class(site: RewriteSite) -> Iterator[Rewrite]:
    """Use the class of the object instead of the class that defines the method: a subclass may differ."""
    node, function = site.node, site.function
    owner = site.source.owner_class(function)
    if owner is None or function is None or not isinstance(node, ast.Name) or node.id != owner.name:
        return
    first = function.args.args[0].arg if function.args.args else ""
    for text in {"self": ("type(self)", "self.__class__"), "cls": ("cls",)}.get(first, ()):
        yield from site.replace(node, text, weight=0.5, summary=f"use `{text}` instead of `{node.id}`")


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
            yield from site.replace(
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
                yield from site.replace(node, name, weight=0.2, summary=f"use `{name}`, not the attribute")
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
        yield from site.replace(
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
            if site.text_of(left) == site.text_of(right):
                for other in (local for local in local_names(site.source, site.node) if local != name):
                    yield from site.replace(owner, other, weight=1.2, summary=f"compare with `{other}`")
        case ast.Attribute(value=ast.Name(id="self"), attr=name) as node if (
            site.function and name == site.function.name
        ):
            if site.function.decorator_list and not is_callee(site):
                yield from site.rename_attribute(
                    node, f"_{name}", weight=0.8, summary=f"use `_{name}`, which backs the property `{name}`"
                )


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
        yield from site.replace(
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
    return False


# Corrections suggested by the exception: of a name, an attribute, a key or an import.

UNDEFINED_NAME = re.compile(r"name '(\w+)' is not defined|local variable '(\w+)'|free variable '(\w+)'")
UNKNOWN_ATTRIBUTE = re.compile(r"has no attribute '(\w+)'")
UNKNOWN_IMPORT = re.compile(r"cannot import name '(\w+)'")
MOST_PLACES = 6
BUILTIN_METHODS = tuple(
    name for kind in (str, list, dict, set, bytes, int) for name in dir(kind) if not name.startswith("__")
)
PYTHON_2_NAMES = {
    "basestring": "str",
    "long": "int",
    "raw_input": "input",
    "unichr": "chr",
    "unicode": "str",
    "xrange": "range",
}
"""Current names of Python 2 built-ins."""


def undefined_name(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace an undefined name with a similar one, its current name, or `self.name`, or import it."""
    unknown = find_in_messages(site.failures, UNDEFINED_NAME)
    match site.node:
        case ast.Name() as node if node.id in unknown:
            yield from _replace_undefined(site, node)
        case ast.FunctionDef() | ast.AsyncFunctionDef() as function if unknown:
            for descendant in (
                descendant for part in _definition_expressions(function) for descendant in ast.walk(part)
            ):
                if isinstance(descendant, ast.Name) and descendant.id in unknown:
                    yield from _replace_undefined(site, descendant)


def _definition_expressions(function: Function) -> Iterator[ast.expr]:
    """Yield the decorators and annotations of a function; its defaults are sites of their own."""
    signature = function.args
    parameters = [
        *signature.posonlyargs,
        *signature.args,
        *signature.kwonlyargs,
        *filter(None, (signature.vararg, signature.kwarg)),
    ]
    yield from function.decorator_list
    yield from filter(None, (function.returns, *(parameter.annotation for parameter in parameters)))


def _replace_undefined(site: RewriteSite, node: ast.Name) -> Iterator[Rewrite]:
    if node.id in self_attribute_names(site.source, node):
        yield from site.replace(node, f"self.{node.id}", weight=2.0, summary=f"use `self.{node.id}`")
    pool = (*local_names(site.source, node), *module_names(site.source), *dir(builtins))
    for name, alike in most_similar_names(node.id, pool, max_count=5, min_similarity=0.5):
        yield Rewrite(
            _rename_everywhere(site.source, node, name),
            1.2 + alike,
            f"use `{name}` instead of the undefined `{node.id}`",
        )
    if new := PYTHON_2_NAMES.get(node.id):
        yield Rewrite(_rename_everywhere(site.source, node, new), 2.0, f"use `{new}` instead of `{node.id}`")
    for change in import_changes(site.source, node.id):
        yield Rewrite((change,), 2.0, f"import `{node.id}`")


def _rename_everywhere(source: PythonSource, node: ast.Name, name: str) -> tuple[TextChange, ...]:
    """Rename an undefined name wherever the file reads it, unless the file defines it somewhere."""
    occurrences = [other_node for other_node in find_nodes(source.tree, ast.Name) if other_node.id == node.id]
    defined_names = {
        getattr(other_node, name, None)
        for other_node in ast.walk(source.tree)
        for name in ("arg", "name", "asname")
    }
    targets = (
        occurrences
        if all(isinstance(other_node.ctx, ast.Load) for other_node in occurrences)
        and node.id not in defined_names
        else [node]
    )
    return tuple(
        TextChange(start=start, end=end, text=name) for start, end in sorted(map(source.span, targets))
    )


def unknown_attribute(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace an unknown attribute with a similar one, here or wherever the file accesses it."""
    node = site.node
    if isinstance(node, ast.Attribute) and node.attr in find_in_messages(site.failures, UNKNOWN_ATTRIBUTE):
        pool = (*self_attribute_names(site.source, node), *attribute_names(site.source), *BUILTIN_METHODS)
        for name, alike in most_similar_names(node.attr, pool, max_count=8, min_similarity=0.5):
            summary = f"use `{name}` instead of the unknown `{node.attr}`"
            ends = _attribute_ends(site.source, node.attr)
            if 1 < len(ends) <= MOST_PLACES:
                changes = tuple(TextChange(start=end - len(node.attr), end=end, text=name) for end in ends)
                yield Rewrite(changes, 1.0 + alike, f"{summary}, {len(ends)} times")
            else:
                yield from site.rename_attribute(node, name, weight=1.0 + alike, summary=summary)
        if isinstance(site.parent, ast.Attribute):
            yield from site.replace(
                node, site.text_of(node.value), weight=1.2, summary=f"drop the attribute `{node.attr}`"
            )


def _attribute_ends(source: PythonSource, name: str) -> list[int]:
    """Return the end offsets of an attribute that the file only reads.

    Empty if something defines it, since other objects may have it.
    """
    accesses = [node for node in find_nodes(source.tree, ast.Attribute) if node.attr == name]
    is_defined = name in BUILTIN_METHODS or any(function.name == name for function in source.functions)
    return (
        []
        if is_defined or not all(isinstance(access.ctx, ast.Load) for access in accesses)
        else sorted(source.span(access)[1] for access in accesses)
    )


def unknown_key(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace a missing key with a similar string of the file."""
    node = site.node
    missing = {failure.message.strip("'\"") for failure in site.failures if failure.type == "KeyError"}
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in missing:
        for name, alike in most_similar_names(
            node.value, short_string_literals(site.source), max_count=5, min_similarity=0.5
        ):
            yield from site.replace(
                node,
                repr(name),
                weight=1.0 + alike,
                summary=f"use the key {name!r} instead of {node.value!r}",
            )


def unknown_import(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace an unknown imported name with a similar one that the module uses."""
    node = site.node
    if not isinstance(node, ast.ImportFrom):
        return
    missing = find_in_messages(site.failures, UNKNOWN_IMPORT)
    for alias in node.names:
        if alias.name in missing:
            start, end = site.span(alias)
            used = tuple(descendant.id for descendant in find_nodes(site.source.tree, ast.Name))
            for name, alike in most_similar_names(alias.name, used, max_count=5, min_similarity=0.5):
                yield replace_span(
                    start, end, name, weight=1.0 + alike, summary=f"import `{name}` instead of `{alias.name}`"
                )


def find_in_messages(failures: tuple[Failure, ...], pattern: re.Pattern[str]) -> frozenset[str]:
    return frozenset(
        name
        for failure in failures
        for match in pattern.finditer(failure.message)
        for name in match.groups()
        if name
    )


# Definitions with another name than the one tests use.

MIN_SIMILARITY = 0.6


def demanded(site: RewriteSite) -> Iterator[Rewrite]:
    """Rename a definition to the similar name that a test uses, wherever the file mentions it."""
    for name in defined_names(site.node) if site.node in site.source.top_level else ():
        for test_name in names_missing_in_tests(site.failures):
            ratio = name_similarity(name, test_name)
            if ratio >= MIN_SIMILARITY and test_name != name and not _is_defined(site.source, test_name):
                spans = sorted(_name_spans(site.source, site.node, name))
                changes = tuple(TextChange(start=start, end=end, text=test_name) for start, end in spans)
                yield Rewrite(changes, 1.0 + ratio, f"rename `{name}` to `{test_name}`, as tests expect")


def names_missing_in_tests(failures: Sequence[Failure]) -> tuple[str, ...]:
    """Return the names that tests themselves, not the code under test, found missing."""
    failures_in_tests = tuple(
        failure for failure in failures if failure.frames and is_test_path(failure.frames[-1].path)
    )
    return tuple(
        sorted(
            find_in_messages(failures_in_tests, UNKNOWN_IMPORT)
            | find_in_messages(failures_in_tests, UNKNOWN_ATTRIBUTE)
        )
    )


def defined_names(node: ast.AST) -> tuple[str, ...]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return (name,)
    return ()


def _is_defined(source: PythonSource, name: str) -> bool:
    return any(name in defined_names(node) for node in source.top_level)


def _name_spans(source: PythonSource, definition: ast.AST, name: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of a definition's name: of variables, or of attributes for a class member."""
    is_member = isinstance(source.parents.get(definition), ast.ClassDef)
    if isinstance(definition, Function | ast.ClassDef):
        start, end = source.span(definition)
        header = re.compile(rf"\b(?:def|class)\s+({name})\b").search(source.text, start, end)
        if header:
            yield header.span(1)
    for node in ast.walk(source.tree):
        match node:
            case ast.Attribute(attr=attribute) if is_member and attribute == name:
                _, end = source.span(node)
                yield end - len(name), end
            case ast.Name(id=variable) if variable == name and (
                not is_member or source.parents.get(node) is definition
            ):
                yield source.span(node)
            case ast.Constant(value=text) if text == name and not is_member and _is_public_list(source, node):
                start, end = source.span(node)
                yield start + 1, end - 1


def _is_public_list(source: PythonSource, text: ast.Constant) -> bool:
    match [*source.ancestors(text)][:2]:
        case [ast.List() | ast.Tuple(), ast.Assign(targets=[ast.Name(id="__all__")])]:
            return True
    return False


# Methods of other languages, an older Python, or another collection type.

PYTHON_EQUIVALENTS = {
    "push": ("append",),
    "add": ("append",),
    "append": ("add", "appendleft"),
    "push_back": ("append",),
    "addAll": ("extend", "update"),
    "concat": ("extend",),
    "iteritems": ("items",),
    "itervalues": ("values",),
    "iterkeys": ("keys",),
    "trim": ("strip",),
    "toLowerCase": ("lower",),
    "toUpperCase": ("upper",),
    "startsWith": ("startswith",),
    "endsWith": ("endswith",),
    "indexOf": ("find", "index"),
    "next": ("__next__",),
    "sub": ("replace",),
    "seconds": ("total_seconds",),
}
LENGTH_NAMES = frozenset({"len", "length", "size", "count"})
UNCALLED_SUPER = re.compile(r"type object '(super)' has no attribute")
FOREIGN_METHOD_WEIGHT = 1.4


def vocabulary(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace an unknown method: `x.append(y)` for `x.push(y)`, `len(x)` for `x.length`."""
    unknown = find_in_messages(site.failures, UNKNOWN_ATTRIBUTE)
    code = site.text_of
    match site.node, site.parent:
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=[]), _ if (
            name in LENGTH_NAMES & unknown
        ):
            yield from site.replace(
                site.node,
                f"len({code(value)})",
                weight=FOREIGN_METHOD_WEIGHT,
                summary=f"call `len`, not `{name}`",
            )
        case ast.Call(
            func=ast.Attribute(value=value, attr="has_key" | "contains" | "includes" as name), args=[argument]
        ), _ if name in unknown:
            yield from site.replace(
                site.node,
                f"{code(argument)} in {code(value)}",
                weight=FOREIGN_METHOD_WEIGHT,
                summary=f"use `in` instead of `{name}`",
            )
        case ast.Attribute(value=value, attr=name), parent if (
            name in LENGTH_NAMES & unknown and not isinstance(parent, ast.Call)
        ):
            yield from site.replace(
                site.node,
                f"len({code(value)})",
                weight=FOREIGN_METHOD_WEIGHT,
                summary=f"call `len`, not `{name}`",
            )
        case ast.Attribute(attr=name) as node, ast.Call(func=callee) if callee is node and name in unknown:
            for rank, other in enumerate(PYTHON_EQUIVALENTS.get(name, ())):
                yield from site.rename_attribute(
                    node,
                    other,
                    weight=FOREIGN_METHOD_WEIGHT * 0.9**rank,
                    summary=f"call `{other}`, not `{name}`",
                )
        case ast.Name(id="super"), ast.Attribute() if find_in_messages(site.failures, UNCALLED_SUPER):
            _, end = site.span(site.node)
            yield replace_span(end, end, "()", weight=FOREIGN_METHOD_WEIGHT, summary="call `super`")


# Standard-library names that have moved or were renamed.

MODULE_ATTRIBUTE = re.compile(r"module '[\w.]+' has no attribute '(\w+)'")


def moved(site: RewriteSite) -> Iterator[Rewrite]:
    """Use the current location of a name: `collections.abc.Mapping` for `collections.Mapping`."""
    match site.node:
        case ast.Attribute(value=ast.Name(id=module), attr=name) if name in find_in_messages(
            site.failures, MODULE_ATTRIBUTE
        ):
            for new in _current_names(module, name):
                yield _replace_attribute(site.source, module, name, new)
        case ast.ImportFrom(module=str(module), level=0) as statement:
            missing = find_in_messages(site.failures, UNKNOWN_IMPORT)
            for alias in statement.names:
                if alias.name in missing:
                    yield from (
                        _replace_import(site.source, statement, alias, new)
                        for new in _current_names(module, alias.name)
                    )


def _current_names(module: str, name: str) -> list[str]:
    """Return the full names under which a former name of a module is found now."""
    successor = SUCCESSORS.get((module, name))
    return (
        [successor]
        if successor
        else [f"{other}.{name}" for other in standard_library_index().get(name, ()) if other != module]
    )


def _replace_attribute(source: PythonSource, module: str, name: str, new: str) -> Rewrite:
    accesses = [
        node for node in find_nodes(source.tree, ast.Attribute) if ast.unparse(node) == f"{module}.{name}"
    ]
    changes = [
        TextChange(start=start, end=end, text=new)
        for start, end in sorted(source.span(access) for access in accesses)
    ]
    home = new.rpartition(".")[0]
    imported = {
        alias.name for access in source.tree.body if isinstance(access, ast.Import) for alias in access.names
    }
    if home and home not in (*imported, "str"):
        changes.insert(0, insert_import_line(source, f"import {home}"))
    return Rewrite(tuple(changes), 2.0, f"use `{new}` instead of `{module}.{name}`")


def _replace_import(source: PythonSource, statement: ast.ImportFrom, alias: ast.alias, new: str) -> Rewrite:
    """Import a name from its current module, with other names that moved along."""
    home, _, name = new.rpartition(".")
    local_name = alias.asname or alias.name
    if home in ("", "str"):
        moving, line, summary = [alias], f"{local_name} = {new}", f"use `{new}` for `{local_name}`"
    elif name != alias.name:
        moving, line, summary = (
            [alias],
            f"from {home} import {name} as {local_name}",
            f"import `{local_name}` from `{home}`",
        )
    else:
        moving = [
            other_alias
            for other_alias in statement.names
            if other_alias is alias
            or (
                home in standard_library_index().get(other_alias.name, ())
                and other_alias.name not in _current_members(statement)
            )
        ]
        names = ", ".join(map(source.text_of, moving))
        line, summary = f"from {home} import {names}", f"import {names} from `{home}`"
    begin, end = source.span(statement)
    if len(moving) == len(statement.names):
        return replace_span(begin, end, line, weight=2.0, summary=summary)
    first = TextChange(start=begin, end=begin, text=f"{line}{source.line_end}{source.indent(statement)}")
    return Rewrite(
        (first, *(_remove_alias(source, statement.names, other_alias, moving) for other_alias in moving)),
        2.0,
        summary,
    )


def _current_members(statement: ast.ImportFrom) -> list[str]:
    """Return the current names of a standard-library module."""
    is_standard = statement.module in sys.stdlib_module_names
    return (
        dir(importlib.import_module(str(statement.module)))
        if is_standard
        else [alias.name for alias in statement.names]
    )


def _remove_alias(
    source: PythonSource, names: Sequence[ast.alias], alias: ast.alias, moving: Sequence[ast.alias]
) -> TextChange:
    """Remove one of several imported names, with a comma."""
    place = names.index(alias)
    start, end = source.span(alias)
    if all(earlier in moving for earlier in names[:place]):
        return TextChange(start=start, end=source.span(names[place + 1])[0], text="")
    return TextChange(start=source.span(names[place - 1])[1], end=end, text="")


# Late binding of loop variables, and assignments to outer variables that create local ones.

UNBOUND_LOCAL = re.compile(
    r"local variable '(\w+)' (?:where it is not associated|referenced before assignment)"
)
WEIGHT_WITH_EVIDENCE, WEIGHT_WITHOUT_EVIDENCE = 1.5, 0.3


def bound_late(site: RewriteSite) -> Iterator[Rewrite]:
    """Bind a loop variable early: `lambda i=i: i` for `lambda: i` in a loop over `i`."""
    node = site.node
    if (
        not isinstance(node, ast.Lambda | ast.FunctionDef)
        or node.args.kwonlyargs
        or node.args.vararg
        or node.args.kwarg
    ):
        return
    parameters = {argument.arg for argument in node.args.args}
    read = dict.fromkeys(
        ancestor.id for ancestor in find_nodes(node, ast.Name) if isinstance(ancestor.ctx, ast.Load)
    )
    loop_variables = {
        name
        for ancestor in site.source.ancestors(node)
        if not isinstance(ancestor, Function)
        for name in _loop_variables(ancestor)
    }
    late = [name for name in read if name in loop_variables - parameters]
    if late:
        defaults = ", ".join(f"{name}={name}" for name in late)
        yield from _add_parameters(
            site, node, defaults, f"bind {', '.join(f'`{name}`' for name in late)} early"
        )


def _add_parameters(
    site: RewriteSite, node: ast.Lambda | ast.FunctionDef, parameters: str, summary: str
) -> Iterator[Rewrite]:
    """Add parameters after the existing ones."""
    text = site.source.text
    ends = [site.span(argument)[1] for argument in (*node.args.args, *node.args.defaults)]
    if ends:
        change = TextChange(start=max(ends), end=max(ends), text=f", {parameters}")
    elif isinstance(node, ast.Lambda):
        start = site.span(node)[0] + len("lambda")
        change = TextChange(start=start, end=start, text=f" {parameters}")
    else:
        start = text.find("(", site.span(node)[0]) + 1
        change = TextChange(start=start, end=start, text=parameters)
    yield Rewrite((change,), 0.6, summary)


def _loop_variables(node: ast.AST) -> tuple[str, ...]:
    match node:
        case ast.For(target=target):
            return assigned_names(target)
        case (
            ast.ListComp(generators=loops)
            | ast.SetComp(generators=loops)
            | ast.GeneratorExp(generators=loops)
        ):
            return tuple(name for loop in loops for name in assigned_names(loop.target))
        case ast.DictComp(generators=loops):
            return tuple(name for loop in loops for name in assigned_names(loop.target))
    return ()


def outer_name(site: RewriteSite) -> Iterator[Rewrite]:
    """Declare a variable `global` or `nonlocal` in a function that assigns to it."""
    node = site.node
    if (
        not isinstance(node, ast.stmt)
        or (function := site.function) is None
        or function.body[0] is not node
        or is_docstring(node)
    ):
        return
    unbound = find_in_messages(site.failures, UNBOUND_LOCAL)
    enclosing = [
        outer_function
        for outer_function in site.source.ancestors(function)
        if isinstance(outer_function, Function)
    ]
    outer = {
        name
        for outer_function in enclosing
        for name in (
            *assigned_names(outer_function),
            *(argument.arg for argument in outer_function.args.args),
        )
    }
    for name in assigned_names(function):
        keyword = "nonlocal" if name in outer else "global" if name in module_names(site.source) else ""
        if keyword:
            weight = WEIGHT_WITH_EVIDENCE if name in unbound else WEIGHT_WITHOUT_EVIDENCE
            yield from site.insert_before(
                node, [f"{keyword} {name}"], weight=weight, summary=f"declare `{name}` {keyword}"
            )
