"""Templates that need scope or position: operators, names, arguments, conditions, copied code."""

import ast
import builtins
import importlib
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise

from coder.core.ports import TextChange
from coder.core.verdict import Failure
from coder.python.source import Function, PythonSource, find_nodes, first_statement, is_docstring
from coder.repair.rules import (
    ARITHMETIC,
    COMPARISONS,
    OPTIONS,
    RULES,
    SIMILAR_FUNCTIONS,
    is_count,
    is_value,
)
from coder.repair.site import (
    Rewrite,
    RewriteSite,
    abbreviate,
    attribute_names,
    fragments,
    local_names,
    module_names,
    name_similarity,
    names_beside,
    nearest_fragments,
    parameter_names,
    self_attributes,
    short_strings,
    similar_names,
    unread_parameters,
)

Template = Callable[[RewriteSite], Iterator[Rewrite]]
MOST_COPIED = 12
"""Pieces of code that are copied to a place, nearest first."""


def rewrites_by_family(site: RewriteSite) -> Iterator[tuple[str, Rewrite]]:
    """Yield what all rules and templates make of a node, each with its family, likeliest first."""
    for rule in RULES:
        for rewrite in rule.rewrite(site):
            yield rule.family, rewrite
    for template in TEMPLATES:
        for rewrite in template(site):
            yield template.__name__, rewrite


# Operators.


def comparison(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace a comparison operator, or swap the operands of `in`."""
    if not isinstance(site.node, ast.Compare):
        return
    left = site.node.left
    for operator, right in zip(site.node.ops, site.node.comparators, strict=True):
        old, others = COMPARISONS[type(operator)]
        for new in others:
            yield from _replace_operator(site, left, right, old, new)
        if isinstance(operator, ast.In | ast.NotIn):
            yield from site.swap(left, right, f"swap the sides of `{old}`")
        left = right


def arithmetic(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace an arithmetic operator, also of an augmented assignment."""
    match site.node:
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in ARITHMETIC:
            is_format = isinstance(left, ast.Constant | ast.JoinedStr) and isinstance(operator, ast.Mod)
            old, others = ARITHMETIC[type(operator)]
            for new in () if is_format else others:
                yield from _replace_operator(site, left, right, old, new)
        case ast.AugAssign(target=target, op=operator, value=value) if type(operator) in ARITHMETIC:
            old, others = ARITHMETIC[type(operator)]
            for new in (*others, ""):
                yield from _replace_operator(site, target, value, f"{old}=", f"{new}=")
        case ast.Assign(
            targets=[target], value=ast.UnaryOp(op=ast.UAdd() | ast.USub() as sign, operand=operand)
        ):
            start, end = site.source.span(target)[1], site.source.span(operand)[0]
            text = " += " if isinstance(sign, ast.UAdd) else " -= "
            yield from site.replace_span(start, end, text, "move the sign before the `=`")


def boolean(site: RewriteSite) -> Iterator[Rewrite]:
    """Swap `and` and `or`, or drop an operand."""
    node = site.node
    if not isinstance(node, ast.BoolOp):
        return
    old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    swapped = [
        rewrite
        for left, right in pairwise(node.values)
        for rewrite in _replace_operator(site, left, right, old, new)
    ]
    if swapped:
        changes = tuple(change for rewrite in swapped for change in rewrite.changes)
        yield Rewrite(changes, swapped[0].summary)
    for dropped in node.values:
        rest = f" {old} ".join(site.text_of(value) for value in node.values if value is not dropped)
        yield from site.replace(node, rest, f"drop the condition `{abbreviate(site.text_of(dropped))}`")
    match node.values:
        case [ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as operator]), *others] if all(
            isinstance(other, ast.Constant) for other in others
        ):
            prefix = f"{site.text_of(left)} {COMPARISONS[type(operator)][0]} "
            starts = [site.source.span(other)[0] for other in others]
            inserted = tuple(TextChange(start=start, end=start, text=prefix) for start in starts)
            yield Rewrite(inserted, "repeat the comparison for each value")


def _replace_operator(
    site: RewriteSite, left: ast.AST, right: ast.AST, old: str, new: str
) -> Iterator[Rewrite]:
    start, end = site.source.span(left)[1], site.source.span(right)[0]
    pattern = re.escape(old).replace(r"\ ", r"\s+")
    found = re.search(rf"\b{pattern}\b" if old[0].isalpha() else pattern, site.source.text[start:end])
    if found and "#" not in site.source.text[start : start + found.start()]:
        summary = f"use `{new}` instead of `{old}`"
        yield from site.replace_span(start + found.start(), start + found.end(), new, summary)


MODULI = ("2", "7", "10", "12", "24", "26", "60", "256")


def wraparound(site: RewriteSite) -> Iterator[Rewrite]:
    """Take a sum or difference modulo a length, a constant of the file, or a common cycle."""
    match site.node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub()) if not isinstance(
            left, ast.Constant | ast.JoinedStr
        ):
            scope = site.source.find_ancestor(site.node, ast.ClassDef) or site.function or site.source.tree
            calls = (site.text_of(node) for node in find_nodes(scope, ast.Call))
            lengths = [text for text in dict.fromkeys(calls) if text.startswith("len(")]
            indexed = [site.text_of(node.value) for node in find_nodes(scope, ast.Subscript)]
            lengths += [f"len({text})" for text in dict.fromkeys(indexed) if text.startswith("self.")]
            constants = [name for name in module_names(site.source) if name.isupper()]
            for modulus in [*dict.fromkeys([*lengths[:4], *constants[:4], *MODULI])]:
                yield from site.replace(site.node, f"({site.text_of(site.node)}) % {modulus}")


# Literals.


def constant(site: RewriteSite) -> Iterator[Rewrite]:
    """Use another number that is common or occurs nearby, the other boolean, an empty value, a name."""
    node, parent = site.node, site.parent
    if not isinstance(node, ast.Constant) or isinstance(
        parent, ast.Expr | ast.JoinedStr | ast.FormattedValue
    ):
        return
    value = node.value
    texts: list[str] = []
    if isinstance(value, bool):
        texts = [str(not value), "None"]
        match parent:
            case ast.Assign(targets=[target]):
                texts.append(f"not {site.text_of(target)}")
    elif isinstance(value, int):
        nearby = [number for number in _integers(site.function or site.source.tree) if number != value]
        asserted = _asserted_numbers(site.failures, value)
        near = (value + 1, value - 1, 0, 1, 2, -1, -value, value * 10, value // 10)
        texts = [str(number) for number in (*asserted, *near, *nearby)]
    elif isinstance(value, float):
        numbers = (*_asserted_numbers(site.failures, value), value * 10, value / 10, value + 1, value - 1)
        texts = [repr(float(number)) for number in (*numbers, 0.0, 1.0)]
    elif value is None:
        texts = ["0", "''", "[]", "{}", "False", "True"]
    elif isinstance(value, str):
        texts = [repr(other) for other in similar_names(value, short_strings(site.source), least=0.4, most=6)]
        texts += ["''" if value else "' '"]
    names = [*unread_parameters(site.function), *local_names(site.source, node)]
    if not isinstance(parent, ast.Assign) and not isinstance(value, bool):
        texts += [name for name in dict.fromkeys(names)][:8]
        texts += (
            [f"self.{name}" for name in self_attributes(site.source, node)[:6]] if value is not None else []
        )
    for text in dict.fromkeys(texts):
        yield from site.replace(node, text)


@lru_cache(maxsize=1024)
def _integers(scope: ast.AST) -> list[int]:
    numbers = (node.value for node in find_nodes(scope, ast.Constant) if type(node.value) is int)
    return sorted({*numbers})[:12]


def _asserted_numbers(failures: tuple[Failure, ...], value: float) -> list[float]:
    """Return a number adjusted by the difference of the values that assertions found to differ."""
    pairs = [
        (float(left), float(right))
        for failure in failures
        for left, right in NUMBERS.findall(failure.message)
    ]
    adjusted = [value + sign * (left - right) for left, right in pairs for sign in (1, -1)]
    whole = isinstance(value, int)
    return [int(number) if whole else number for number in adjusted if not whole or number == int(number)]


NUMBERS = re.compile(r"(?:^|assert )(-?\d+(?:\.\d+)?) (?:==|!=) (-?\d+(?:\.\d+)?)\s*$", re.MULTILINE)


# Names.

UNDEFINED = re.compile(
    r"name '(\w+)' is not defined|(?:cannot access )?local variable '(\w+)'|has no attribute '(\w+)'"
    r"|cannot import name '(\w+)'"
)


def names_in_messages(failures: tuple[Failure, ...]) -> frozenset[str]:
    matches = (match for failure in failures for match in UNDEFINED.finditer(failure.message))
    return frozenset(name for match in matches for name in match.groups() if name)


def variable(site: RewriteSite) -> Iterator[Rewrite]:
    """Use another variable: one that nothing reads, a similar one, the attribute of the same name."""
    node = site.node
    if not isinstance(node, ast.Name):
        return
    names = [name for name in local_names(site.source, node) if name != node.id]
    if not isinstance(node.ctx, ast.Load):
        names = [name for name in names if not site.is_callee]
        beside = site.parent.elts if isinstance(site.parent, ast.Tuple | ast.List) else []
        names = [name for name in names if name not in {*map(site.text_of, beside)}]
    attributes = self_attributes(site.source, node)
    receiving = _receiving_parameter(site)
    unread = unread_parameters(site.function)
    names.sort(key=lambda name: -name_similarity(name, node.id))
    first = [name for name in (receiving, *unread) if name in names]
    pool = (*module_names(site.source), *dir(builtins)) if site.is_callee else module_names(site.source)
    other = [*similar_names(node.id, pool, most=5)] if isinstance(node.ctx, ast.Load) else []
    own = [f"self.{node.id}"] if node.id in attributes else []
    if node.id in names_in_messages(site.failures):
        first = [*own, *other, *first]
    if not site.is_callee or node.id in local_names(site.source, node):
        first += [*own, *names]
    if isinstance(node.ctx, ast.Load) and not site.is_callee:
        other += [f"self.{name}" for name in attributes[:6]]
    for name in dict.fromkeys([*first, *other]):
        yield from site.replace(node, name)


def _receiving_parameter(site: RewriteSite) -> str:
    """Return the name of the parameter that receives the node's value; empty if unknown."""
    match site.parent:
        case ast.keyword(arg=str(name)):
            return name
        case ast.Call(args=arguments) as call if site.node in arguments:
            parameters = _parameters_of(site.source, call)
            position = arguments.index(site.node)
            return parameters[position] if position < len(parameters) else ""
    return ""


def _parameters_of(source: PythonSource, call: ast.Call) -> tuple[str, ...]:
    """Return the parameters of the function or class that the file defines under the name that is called."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            for function in source.functions:
                owner = source.owner_class(function)
                is_constructor = function.name == "__init__" and owner is not None and owner.name == name
                if is_constructor or function.name == name:
                    return parameter_names(function)
    return ()


def attribute(site: RewriteSite) -> Iterator[Rewrite]:
    """Use a similar attribute, another one of self or of the same name, or the variable of the same name."""
    node = site.node
    if not isinstance(node, ast.Attribute):
        return
    names = [*similar_names(node.attr, attribute_names(site.source), least=0.45)]
    _, end = site.source.span(node)
    if isinstance(node.value, ast.Name) and node.value.id == "self":
        names += [name for name in self_attributes(site.source, node) if name not in names]
        if node.attr in local_names(site.source, node):
            yield from site.replace(node, node.attr)
    elif isinstance(node.value, ast.Name):
        names += names_beside(site.source).get(node.attr, ())
    for name in list(dict.fromkeys(names))[:16]:
        yield from site.replace_span(
            end - len(node.attr), end, name, f"use `{name}` instead of `{node.attr}`"
        )


def undefined_name(site: RewriteSite) -> Iterator[Rewrite]:
    node = site.node
    if not isinstance(node, ast.Name) or node.id not in names_in_messages(site.failures):
        return
    first = next(
        (
            statement
            for statement in site.source.tree.body
            if not is_docstring(statement)
            and not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__")
        ),
        None,
    )
    if first is not None:
        start = site.source.span(first)[0]
        for line in _standard_imports(node.id):
            text = f"{line}{site.source.line_end}"
            yield from site.replace_span(start, start, text, f"import `{node.id}`")


STANDARD_MODULES = (
    "collections", "contextlib", "copy", "dataclasses", "datetime", "enum", "functools", "itertools", "json",
    "math", "operator", "os", "pathlib", "random", "re", "shutil", "string", "subprocess", "sys", "textwrap",
    "time", "typing", "warnings",
)  # fmt: skip


def _standard_imports(name: str) -> Iterator[str]:
    if name in STANDARD_MODULES:
        yield f"import {name}"
    for module in STANDARD_MODULES:
        if name in getattr(importlib.import_module(module), "__all__", ()):
            yield f"from {module} import {name}"


# Calls.


def similar_function(site: RewriteSite) -> Iterator[Rewrite]:
    """Call a function that is taken for this one, or one of the module with a similar name."""
    match site.node:
        case ast.Call(func=ast.Name(id=name) as called):
            start, end = site.source.span(called)
        case ast.Call(func=ast.Attribute(attr=name) as called):
            end = site.source.span(called)[1]
            start = end - len(name)
        case _:
            return
    others = [other for group in SIMILAR_FUNCTIONS if name in group for other in group if other != name]
    if isinstance(called, ast.Name):
        others += similar_names(name, module_names(site.source), most=5)
    for other in dict.fromkeys(others):
        yield from site.replace_span(start, end, other, f"call `{other}` instead of `{name}`")


def argument_order(site: RewriteSite) -> Iterator[Rewrite]:
    """Swap two arguments, or the two elements of a pair."""
    match site.node:
        case ast.Call(args=arguments):
            summary = "swap two arguments"
        case ast.Tuple(elts=arguments) | ast.List(elts=arguments) if len(arguments) == 2:
            summary = "swap two elements"
        case ast.DictComp(key=first, value=second):
            arguments, summary = [first, second], "swap key and value"
        case _:
            return
    plain = [argument for argument in arguments if not isinstance(argument, ast.Starred)]
    for distance in range(1, len(plain)):
        for first, second in zip(plain, plain[distance:], strict=False):
            yield from site.swap(first, second, summary)


def argument_missing(site: RewriteSite) -> Iterator[Rewrite]:
    """Pass a parameter of the callee by its name, an option, what other calls pass; or drop an argument."""
    node = site.node
    if not isinstance(node, ast.Call) or any(isinstance(part, ast.GeneratorExp) for part in node.args):
        return
    arguments: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
    taken = {keyword.arg for keyword in node.keywords}
    passed = {argument.id for argument in node.args if isinstance(argument, ast.Name)}
    names, attributes = local_names(site.source, node), self_attributes(site.source, node)
    texts: dict[str, None] = {}
    for parameter in _parameters_of(site.source, node)[len(node.args) :]:
        if parameter not in taken:
            texts |= {f"{parameter}={parameter}": None} if parameter in names else {}
            owned = (name for name in (parameter, f"_{parameter}") if name in attributes)
            texts |= {f"{parameter}=self.{name}": None for name in owned}
    texts |= {
        f"{name}={name}": None for name in unread_parameters(site.function) if name not in taken | passed
    }
    texts |= dict.fromkeys(_arguments_elsewhere(site.source, _callee_name(node)))
    texts |= dict.fromkeys(OPTIONS.get(_callee_name(node), ()))
    end = site.source.span(arguments[-1])[1] if arguments else site.source.span(node)[1] - 1
    for text in texts:
        keyword = text.partition("=")[0]
        if keyword not in taken and ("=" in text or not node.keywords):
            yield from site.replace_span(
                end, end, f", {text}" if arguments else text, f"pass `{text}` to `{_callee_name(node)}`"
            )
    for before, argument in pairwise(arguments):
        start, stop = site.source.span(before)[1], site.source.span(argument)[1]
        yield from site.replace_span(
            start, stop, "", f"drop the argument `{abbreviate(site.text_of(argument))}`"
        )


def _callee_name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


@lru_cache(maxsize=1024)
def _arguments_elsewhere(source: PythonSource, name: str) -> tuple[str, ...]:
    """Return keyword arguments with literal values that other calls of the file pass to a function."""
    calls = (call for call in find_nodes(source.tree, ast.Call) if name and _callee_name(call) == name)
    keywords = (keyword for call in calls for keyword in call.keywords if keyword.arg)
    texts = (source.text_of(keyword) for keyword in keywords if isinstance(keyword.value, ast.Constant))
    return tuple(dict.fromkeys(texts))[:6]


# Conditions.


def condition(site: RewriteSite) -> Iterator[Rewrite]:
    """Add another condition, from the same function or the file, or about None, emptiness and type."""
    node = site.node
    if not site.is_condition or isinstance(site.parent, ast.BoolOp | ast.Return | ast.UnaryOp):
        return
    code = site.text_of(node)
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        for text in _possible_conditions(site):
            yield from site.replace(node, text, f"check `{abbreviate(text)}`")
        return
    joined = f"({code})" if isinstance(node, ast.BoolOp | ast.IfExp | ast.Lambda) else code
    read = {name.id for name in find_nodes(node, ast.Name)}
    for text in _possible_conditions(site):
        if text == code or f"not {text}" == code:
            continue
        other = f"({text})" if " and " in text or " or " in text else text
        forms = [
            f"{other} and {joined}",
            f"{joined} and {other}",
            f"{joined} or {other}",
            f"{other} or {joined}",
        ]
        for form in forms if read else forms[:2]:
            yield from site.replace(node, form, f"also check `{abbreviate(text)}`")


def _possible_conditions(site: RewriteSite) -> list[str]:
    """Return conditions for a place: simple ones of its names, then those of the file, nearest first."""
    node = site.node
    names = [*unread_parameters(site.function), *local_names(site.source, node)]
    inside = {name.id for name in find_nodes(site.parent, ast.Name)}
    names = sorted(dict.fromkeys(names), key=lambda name: name not in inside)[:8]
    texts = [
        text for name in names[:4] for text in (name, f"not {name}", f"{name} is not None", f"{name} is None")
    ]
    pieces = [
        fragment.text
        for fragment in nearest_fragments(site, (ast.Compare, ast.Call, ast.BoolOp, ast.UnaryOp))
        if RewriteSite(site.source, fragment.node).is_condition
    ][:MOST_COPIED]
    attributes = dict.fromkeys(
        site.text_of(part)
        for part in find_nodes(site.function, ast.Attribute)
        if isinstance(part.ctx, ast.Load) and isinstance(part.value, ast.Name)
    )
    for text in [*attributes][:6]:
        texts += [text, f"not {text}"]
    pairs = [(left, right) for left in names[:5] for right in names[:5] if left != right]
    compared = [f"{left} {operator} {right}" for operator in ("==", "<", "in", "!=") for left, right in pairs]
    lengths = [f"{name} == {number}" for name in names[:4] for number in (0, 1)]
    return [*dict.fromkeys([*pieces, *texts, *lengths, *compared])]


def result_condition(site: RewriteSite) -> Iterator[Rewrite]:
    """Return a condition instead of a constant truth value."""
    match site.node, site.parent:
        case ast.Constant(value=bool()), ast.Return():
            for text in _possible_conditions(site):
                yield from site.replace(site.node, text, f"return `{abbreviate(text)}`")


# Statements.


def deletion(site: RewriteSite) -> Iterator[Rewrite]:
    """Remove a simple statement."""
    node = site.node
    removable = ast.Assign | ast.AugAssign | ast.Expr | ast.Return | ast.Raise | ast.Break | ast.Continue
    if isinstance(node, removable) and site.function and not is_docstring(node):
        summary = f"remove `{abbreviate(site.text_of(node).split(chr(10))[0])}`"
        start, end = site.source.span(node)
        if len(site.source.enclosing_block(node)) == 1 or site.source.indent(node).strip():
            yield from site.replace_span(start, end, "pass", summary)
        else:
            start, end = site.source.line_span(node)
            yield from site.replace_span(start, end, "", summary)


def offset(site: RewriteSite) -> Iterator[Rewrite]:
    """Add or subtract another variable where a position or a number stands."""
    if is_count(site) and isinstance(site.node, ast.Name):
        others = [name for name in local_names(site.source, site.node) if name != site.node.id][:8]
        for other in others:
            yield from site.replace(site.node, f"{site.node.id} - {other}")
            yield from site.replace(site.node, f"{site.node.id} + {other}")


def indentation(site: RewriteSite) -> Iterator[Rewrite]:
    """Move the last statement out of a block, or a statement into the block before it."""
    node = site.node
    if not isinstance(node, ast.stmt) or site.function is None or site.source.indent(node).strip():
        return
    parent, block = site.parent, site.source.enclosing_block(node)
    blocks = ast.For | ast.While | ast.If | ast.With
    place = block.index(node)
    code, start = site.text_of(node), site.source.line_span(node)[0]
    end = site.source.span(node)[1]
    if isinstance(parent, blocks) and block[-1] is node and place and not getattr(parent, "orelse", []):
        text = code.replace(f"\n{site.source.indent(node)}", f"\n{site.source.indent(parent)}")
        yield from site.replace_span(
            start, end, f"{site.source.indent(parent)}{text}", "move it out of the block"
        )
    before = block[place - 1] if place else None
    if isinstance(before, blocks) and not getattr(before, "orelse", []):
        indent = site.source.indent(before.body[-1])
        text = code.replace(f"\n{site.source.indent(node)}", f"\n{indent}")
        yield from site.replace_span(start, end, f"{indent}{text}", "move it into the block before")
    following = block[place + 1] if place + 1 < len(block) else None
    if following is not None and isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.If):
        yield from site.swap(node, following, "swap two statements")


def returned(site: RewriteSite) -> Iterator[Rewrite]:
    """Return the value of a discarded call, another variable, or a variable at the function's end."""
    node, function = site.node, site.function
    if not isinstance(node, ast.stmt) or function is None or node is function:
        return
    start, end = site.source.span(node)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield from site.replace_span(start, start, "return ", "return the result of the call")
        called = node.value.func
        if isinstance(called, ast.Attribute):
            name = site.text_of(called.value)
            yield from site.replace_span(start, start, f"{name} = ", f"assign the result to `{name}`")
        if isinstance(called, ast.Name) and called.id.endswith(("Error", "Exception")):
            yield from site.replace_span(start, start, "raise ", f"raise the {called.id}")
    names = local_names(site.source, node)
    if isinstance(node, ast.Return):
        for value in (*names, "True", "False", "None", "[]", *(f"[{name}]" for name in names)):
            yield from site.replace_span(start, end, f"return {value}", f"return `{value}`")
    elif function.body[-1] is node and not isinstance(node, ast.Raise):
        constants = {part.value for part in find_nodes(function, ast.Return) if part.value}
        booleans = {part.value for part in constants if isinstance(part, ast.Constant)} & {True, False}
        nested = [node.name] if isinstance(node, Function) else []
        for value in (*nested, *(str(not value) for value in booleans), *reversed(names), "self"):
            yield from site.insert(node, [f"return {value}"], f"return `{value}`", after=True)


def copied_statement(site: RewriteSite) -> Iterator[Rewrite]:
    """Insert a statement that occurs elsewhere in the file."""
    node = site.node
    if not isinstance(node, ast.stmt) or site.function is None or node is site.function or is_docstring(node):
        return
    kinds = (ast.Assign, ast.AugAssign, ast.Expr, ast.Continue, ast.Break, ast.Return)
    around = site.source.text_of(site.function)
    for fragment in nearest_fragments(site, kinds)[: 2 * MOST_COPIED]:
        if isinstance(fragment.node, ast.stmt) and (
            fragment.function is not site.function or fragment.text not in around
        ):
            summary = f"add `{abbreviate(fragment.text)}` as elsewhere"
            if isinstance(node, ast.Pass):
                start, end = site.source.span(node)
                yield from site.replace_span(start, end, fragment.text, summary)
            else:
                yield from site.insert(node, [fragment.text], summary)


def value_elsewhere(site: RewriteSite) -> Iterator[Rewrite]:
    """Assign or return the value that is assigned to the same target, or returned, elsewhere in the file."""
    node = site.node
    if not isinstance(node, ast.Assign | ast.Return) or node.value is None or site.function is None:
        return
    target = site.text_of(node.targets[0]) if isinstance(node, ast.Assign) else "return"
    for fragment in nearest_fragments(site, type(node)):
        other = fragment.node
        if isinstance(other, ast.Assign | ast.Return) and other.value is not None:
            own = site.text_of(other.targets[0]) if isinstance(other, ast.Assign) else "return"
            if own == target:
                yield from site.replace(node.value, site.text_of(other.value))


def similar_expression(site: RewriteSite) -> Iterator[Rewrite]:
    """Use a similar expression of the same kind from elsewhere in the file."""
    node = site.node
    kinds = (ast.Call, ast.Attribute, ast.Subscript, ast.Compare, ast.BoolOp, ast.BinOp)
    if not isinstance(node, kinds) or site.is_callee:
        return
    code = site.text_of(node)
    if not 6 <= len(code) <= 100 or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return
    nearest = nearest_fragments(site, type(node))[:100]
    texts = tuple(fragment.text for fragment in nearest if code not in fragment.text)
    for text in similar_names(code, texts, least=0.6, most=MOST_COPIED):
        yield from site.replace(node, text, f"use `{abbreviate(text)}` as elsewhere")


def wrapped_elsewhere(site: RewriteSite) -> Iterator[Rewrite]:
    """Pass a value through a function, perhaps a parameter, that another place uses so."""
    if not is_value(site):
        return
    code = site.text_of(site.node)
    texts = [*_wrappings(site.source).get(code, ())[:4]]
    texts += [
        f"{name}({code})" for name in _called_parameters(site.function) if name != code.partition("(")[0]
    ]
    for text in dict.fromkeys(texts):
        yield from site.replace(site.node, text, f"use `{abbreviate(text)}` as elsewhere")


@lru_cache(maxsize=256)
def _called_parameters(function: Function | None) -> tuple[str, ...]:
    """Return the parameters that a function calls with one argument."""
    called = {
        call.func.id
        for call in find_nodes(function, ast.Call)
        if isinstance(call.func, ast.Name) and len(call.args) == 1 and not call.keywords
    }
    return tuple(name for name in (parameter_names(function) if function else ()) if name in called)


@lru_cache(maxsize=256)
def _wrappings(source: PythonSource) -> dict[str, tuple[str, ...]]:
    """Return calls of the file by the text of their only argument."""
    found: dict[str, dict[str, None]] = {}
    for fragment in fragments(source):
        match fragment.node:
            case ast.Call(args=[only], keywords=[]):
                found.setdefault(source.text_of(only), {})[fragment.text] = None
    return {text: tuple(calls) for text, calls in found.items()}


# Definitions.


def mutable_default(site: RewriteSite) -> Iterator[Rewrite]:
    """Create a parameter's mutable or computed default anew in each call."""
    node = site.node
    if not isinstance(node, Function) or (first := first_statement(node)) is None:
        return
    arguments = [*node.args.posonlyargs, *node.args.args]
    for argument, default in zip(arguments[::-1], node.args.defaults[::-1], strict=False):
        if (
            isinstance(default, ast.List | ast.Dict | ast.Set | ast.Call)
            and not site.source.indent(first).strip()
        ):
            start, end = site.source.span(default)
            place, indent = site.source.span(first)[0], site.source.indent(first)
            end_of_line = site.source.line_end
            lines = f"if {argument.arg} is None:{end_of_line}{indent}    {argument.arg} = "
            text = f"{lines}{site.text_of(default)}{end_of_line}{indent}"
            changes = (
                TextChange(start=start, end=end, text="None"),
                TextChange(start=place, end=place, text=text),
            )
            yield Rewrite(changes, f"create the default of `{argument.arg}` in each call")


def class_attribute(site: RewriteSite) -> Iterator[Rewrite]:
    """Set a mutable class attribute in the constructor: `self.items = []` for `items = []`."""
    match site.node, site.parent:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.List() | ast.Dict() | ast.Set() as value), (
            ast.ClassDef() as owner
        ):
            line = f"self.{name} = {site.text_of(value)}"
            constructors = (
                part for part in owner.body if isinstance(part, Function) and part.name == "__init__"
            )
            constructor = next(constructors, None)
            if constructor is not None and (first := first_statement(constructor)) is not None:
                yield from RewriteSite(site.source, first).insert(
                    first, [line], f"set `{line}` in the constructor"
                )
            elif constructor is None and not owner.bases:
                start, end = site.source.span(site.node)
                indent = site.source.indent(site.node)
                text = f"def __init__(self):{site.source.line_end}{indent}    {line}"
                yield from site.replace_span(start, end, text, f"set `{line}` in the constructor")


TEMPLATES: tuple[Template, ...] = (
    comparison,
    arithmetic,
    boolean,
    wraparound,
    constant,
    variable,
    attribute,
    undefined_name,
    similar_function,
    argument_order,
    argument_missing,
    condition,
    result_condition,
    deletion,
    offset,
    indentation,
    returned,
    copied_statement,
    value_elsewhere,
    similar_expression,
    wrapped_elsewhere,
    mutable_default,
    class_attribute,
)
