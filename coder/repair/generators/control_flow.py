"""Templates for control flow: branches, guards, loops, exceptions, recursion."""

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise, product

from coder.core.ports import TextChange
from coder.core.verdict import Failure
from coder.python.source import Function, PythonSource, find_nodes, first_statement, is_docstring, own_nodes
from coder.repair.generators.conditions import has_timeout, length_conditions, possible_conditions
from coder.repair.generators.donor_code import BUILTIN_NAMES, names_in_scope
from coder.repair.generators.names import UNKNOWN_ATTRIBUTE, find_in_messages
from coder.repair.generators.operators import ARITHMETIC, is_condition
from coder.repair.generators.site import (
    Rewrite,
    RewriteSite,
    assigned_names,
    local_names,
    module_names,
    parameter_names,
    replace_span,
    self_attribute_names,
)

# Swapped branches and wrong assignments.

MOST_BRANCHES = 4


def branch(site: RewriteSite) -> Iterator[Rewrite]:
    """Swap the branches of a conditional expression, or `if` with `while` or `elif`."""
    match site.node:
        case ast.IfExp(body=body, orelse=other):
            yield from site.swap_expressions(
                body, other, weight=0.7, summary="swap the branches of a conditional expression"
            )
        case ast.If() as node:
            start, _ = site.span(node)
            if site.source.text.startswith("elif", start):
                yield replace_span(start, start + 4, "if", weight=0.3, summary="use `if` instead of `elif`")
            elif site.source.text.startswith("if", start) and not node.orelse:
                yield replace_span(
                    start, start + 2, "while", weight=0.25, summary="use `while` instead of `if`"
                )
        case ast.While(orelse=[]) as node:
            start, _ = site.span(node)
            yield replace_span(start, start + 5, "if", weight=0.2, summary="use `if` instead of `while`")


def branch_order(site: RewriteSite) -> Iterator[Rewrite]:
    """Move a later condition or exception handler to the front."""
    match site.node:
        case ast.If() as first:
            chain = [first]
            while (
                len(chain) < MOST_BRANCHES
                and len(chain[-1].orelse) == 1
                and isinstance(other := chain[-1].orelse[0], ast.If)
            ):
                chain.append(other)
            for distance, other in enumerate(chain[1:]):
                if site.source.text.startswith("elif", site.span(other)[0]):
                    yield from _swap_branches(site, first, other, 0.5 * 0.8**distance)
        case ast.Try(handlers=[_, _, *_] as handlers):
            for handler, following in pairwise(handlers):
                yield from site.swap_expressions(
                    handler, following, weight=0.5, summary="reorder the exception handlers"
                )


def _swap_branches(site: RewriteSite, first: ast.If, other: ast.If, weight: float) -> Iterator[Rewrite]:
    places = [
        site.span(first.test),
        _block_span(site, first.body),
        site.span(other.test),
        _block_span(site, other.body),
    ]
    texts = [site.source.text[start:end] for start, end in (*places[2:], *places[:2])]
    changes = tuple(
        TextChange(start=start, end=end, text=text) for (start, end), text in zip(places, texts, strict=True)
    )
    yield Rewrite(changes, weight, f"check `{texts[0][:40]}` first")


def _block_span(site: RewriteSite, block: list[ast.stmt]) -> tuple[int, int]:
    return site.span(block[0])[0], site.span(block[-1])[1]


def _method_parameters(site: RewriteSite) -> tuple[str, ...]:
    """Return the parameters of a method: the attribute of the same name may be meant."""
    return parameter_names(site.function) if site.function and site.source.owner_class(site.function) else ()


def target(site: RewriteSite) -> Iterator[Rewrite]:
    """Change an assignment: augment it, assign to the attribute, or assign the result of a call."""
    match site.node:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() | ast.Subscript() as target], value=value):
            start, end = site.span(target)[1], site.span(value)[0]
            match value:
                case ast.UnaryOp(op=ast.UAdd() | ast.USub() as sign, operand=operand):
                    change = TextChange(
                        start=start,
                        end=site.span(operand)[0],
                        text=" += " if isinstance(sign, ast.UAdd) else " -= ",
                    )
                    yield Rewrite((change,), 0.7, "move the sign before the `=`")
            if site.source.text[start:end].strip() == "=":
                for operator, weight in (("+=", 0.45), ("-=", 0.2), ("*=", 0.2), ("|=", 0.2)):
                    yield replace_span(
                        start, end, f" {operator} ", weight=weight, summary=f"assign with `{operator}`"
                    )
            if isinstance(target, ast.Name) and target.id in {
                *self_attribute_names(site.source, target),
                *_method_parameters(site),
            }:
                yield from site.replace(
                    target, f"self.{target.id}", weight=0.7, summary=f"assign to `self.{target.id}`"
                )
        case (
            ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute() as value))) as node
        ):
            start, _ = site.span(node)
            name = site.text_of(value)
            yield replace_span(
                start, start, f"{name} = ", weight=0.4, summary=f"assign the result of the call to `{name}`"
            )


# Constant truth values in place of a condition: `if True:`, `return True`, `seen = True`.

MOST_CONDITIONS = 120
BRANCH, RESULT, STORED = 0.8, 0.35, 0.3


def unconditional(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace a constant truth value with a condition, or toggle a flag instead of setting it."""
    node = site.node
    if not (isinstance(node, ast.Constant) and isinstance(node.value, bool)):
        return
    match site.parent:
        case ast.If(test=test) | ast.IfExp(test=test) if test is node:
            weight = BRANCH
        case ast.Return():
            weight = RESULT
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]):
            weight = STORED
            flag = site.text_of(target)
            yield from site.replace(node, f"not {flag}", weight=0.6, summary=f"toggle `{flag}`")
        case _:
            return
    length_tests = length_conditions(site.source, site.parent) if isinstance(site.parent, ast.If) else ()
    for text, likelihood in (*possible_conditions(site.source, node)[:MOST_CONDITIONS], *length_tests):
        yield from site.replace(node, text, weight=weight * likelihood, summary=f"check `{text[:40]}`")


# Missing or misplaced guards: None, empty, out of bounds.

MAX_ATTRIBUTES, MOST_PARTS, LONGEST = 4, 4, 30
NO_LENGTH_ERROR = re.compile(r"(object of type '\w+' has no len)")
BINARY_METHODS = frozenset(
    {
        "__eq__",
        "__ne__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
        "__add__",
        "__sub__",
        "__mul__",
        "__and__",
        "__or__",
    }
)
EXITS = ("return None", "return []", "return 0", "return False", "return ''")


def inserted_guard(site: RewriteSite) -> Iterator[Rewrite]:
    """Return early, or continue the loop, before a statement that cannot handle None or an empty value."""
    node, function = site.node, site.function
    if function and isinstance(node, ast.stmt) and node is function.body[0]:
        yield from _reject_other_types(site, node, function)
    if (
        not isinstance(node, ast.stmt)
        or function is None
        or node is function
        or is_docstring(node)
        or isinstance(node, ast.Raise)
        or (isinstance(node, ast.Return) and not isinstance(node.value, ast.Call | ast.BinOp | ast.Subscript))
    ):
        return
    # Four columns are right whatever the file uses elsewhere: the block is new.
    for condition, weight in _failure_conditions(site, node):
        for rank, exit_statement in enumerate(_exit_statements(site, function)):
            lines = [f"if {condition}:", f"    {exit_statement}"]
            yield from site.insert_before(
                node, lines, weight=weight * 0.85**rank, summary=f"exit early if `{condition}`"
            )


def _reject_other_types(site: RewriteSite, node: ast.stmt, function: Function) -> Iterator[Rewrite]:
    """Return NotImplemented in an operator method for operands of other types."""
    owner, parameters = site.source.owner_class(function), parameter_names(function)
    if owner and len(parameters) == 1 and function.name in BINARY_METHODS:
        lines = [f"if not isinstance({parameters[0]}, {owner.name}):", "    return NotImplemented"]
        yield from site.insert_before(
            node, lines, weight=0.8, summary=f"return NotImplemented for operands other than {owner.name}"
        )


def default_value(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace a parameter that is None with an empty value at the start of the function."""
    node, function = site.node, site.function
    if function is None or not isinstance(node, ast.stmt) or node not in function.body or is_docstring(node):
        return
    first = first_statement(function)
    if node is not first:
        return
    for name in parameter_names(function)[:5]:
        for value, likelihood in (("[]", 0.5), ("{}", 0.35), ("''", 0.35), ("0", 0.3)):
            lines = [f"if {name} is None:", f"    {name} = {value}"]
            yield from site.insert_before(
                node, lines, weight=likelihood * _none_weight(site), summary=f"default `{name}` to `{value}`"
            )


def condition(site: RewriteSite) -> Iterator[Rewrite]:
    """Add another conjunct or disjunct to a condition."""
    node = site.node
    if (
        not is_condition(site.source, node)
        or isinstance(site.parent, ast.BoolOp | ast.Return)
        or not isinstance(node, ast.expr)
    ):
        return
    code = site.text_of(node)
    code = f"({code})" if isinstance(node, ast.BoolOp | ast.IfExp | ast.Lambda) else code
    for extra in _missing_attribute_tests(site, node):
        yield from site.replace(node, f"{extra} and {code}", weight=0.45, summary=f"also check `{extra}`")
        yield from site.replace(node, f"{code} or {extra}", weight=0.3, summary=f"also check `{extra}`")
    for rank, name in enumerate(local_names(site.source, node)):
        use_factor = 1.0 if re.search(rf"\b{re.escape(name)}\b", code) else 0.7
        for new, weight in (
            (f"{name} is not None and {code}", 0.4),
            (f"{name} is None or {code}", 0.35),
            (f"{name} and {code}", 0.35),
            (f"not {name} or {code}", 0.3),
            (f"{code} and not {name}", 0.25),
            (f"{code} or {name}", 0.25),
        ):
            yield from site.replace(
                node, new, weight=weight * use_factor * 0.96**rank, summary=f"also check `{name}`"
            )
    for rank, text in enumerate(
        [text for text in _read_attributes(site.source, site.function) if text not in code][:MOST_PARTS]
    ):
        for new in (
            f"{code} and not {text}",
            f"{code} and {text}",
            f"{code} or {text}",
            f"not {text} and {code}",
        ):
            yield from site.replace(node, new, weight=0.22 * 0.96**rank, summary=f"also check `{text}`")


def _missing_attribute_tests(site: RewriteSite, node: ast.AST) -> Iterator[str]:
    """Yield `hasattr` tests for attributes that a failure reports missing."""
    missing = {
        *find_in_messages(site.failures, UNKNOWN_ATTRIBUTE),
        *("__len__" for match in find_in_messages(site.failures, NO_LENGTH_ERROR) if match),
    }
    for name in local_names(site.source, node)[:MAX_ATTRIBUTES] if missing else ():
        yield from (f"hasattr({name}, {attribute!r})" for attribute in sorted(missing))


def _length_tests(node: ast.stmt) -> Iterator[str]:
    """Yield tests whether a sequence is too short for the index it is accessed with."""
    for descendant in own_nodes(node):
        match descendant:
            case ast.Subscript(
                value=ast.Name() | ast.Attribute() as sequence, slice=ast.Constant(value=int(index))
            ):
                yield f"len({ast.unparse(sequence)}) < {index + 1}"
            case ast.Subscript(
                value=ast.Name() | ast.Attribute() as sequence,
                slice=ast.UnaryOp(ast.USub(), ast.Constant(value=int(index))),
            ):
                yield f"len({ast.unparse(sequence)}) < {index}"


@lru_cache(maxsize=1024)
def _read_attributes(source: PythonSource, function: Function | None) -> tuple[str, ...]:
    """Return the attributes of names that the function reads, most read first."""
    counted: Counter[str] = Counter()
    for node in ast.walk(function) if function else ():
        match node:
            case ast.Call(func=ast.Attribute() as called):
                counted[source.text_of(called)] -= 1
            case ast.Attribute(value=ast.Name(), ctx=ast.Load()):
                counted[source.text_of(node)] += 1
    return tuple(text for text, count in counted.most_common() if count > 0)


def dropped_guard(site: RewriteSite) -> Iterator[Rewrite]:
    """Drop a condition, or swap `break` and `continue`."""
    match site.node:
        case ast.If(orelse=[], test=test):
            yield from site.replace(test, "True", weight=0.12, summary="drop a condition")
        case ast.Break() | ast.Continue() as jump:
            start, end = site.span(jump)
            new = "continue" if isinstance(jump, ast.Break) else "break"
            yield replace_span(
                start, end, new, weight=0.7, summary=f"use `{new}` instead of `{site.text_of(jump)}`"
            )


def _failure_conditions(site: RewriteSite, node: ast.stmt) -> Iterator[tuple[str, float]]:
    """Yield conditions under which a statement may fail: a name is None, or a name or attribute is empty."""
    header = site.text_of(node).split("\n")[0]
    yield from ((f"not {test}", 0.35) for test in _missing_attribute_tests(site, node))
    yield from (
        (text, 0.5)
        for text in dict.fromkeys(_length_tests(node))
        if any(failure.type == "IndexError" for failure in site.failures)
    )
    for name in [
        descendant
        for descendant in local_names(site.source, node)
        if re.search(rf"\b{re.escape(descendant)}\b", header)
    ][:4]:
        yield f"{name} is None", _none_weight(site)
        yield f"not {name}", 0.7 if any(map(_is_caused_by_empty_value, site.failures)) else 0.3
    accesses = [
        descendant
        for descendant in own_nodes(node)
        if isinstance(descendant, ast.Attribute) or (isinstance(descendant, ast.Call) and not descendant.args)
    ]
    texts = [
        site.text_of(descendant)
        for descendant in accesses
        if not isinstance(getattr(descendant, "ctx", None), ast.Store | ast.Del)
    ]
    attributes = [f"self.{name}" for name in self_attribute_names(site.source, node)[:MAX_ATTRIBUTES]]
    for text in [
        descendant
        for descendant in dict.fromkeys([*texts, *attributes])
        if len(descendant) < LONGEST and "\n" not in descendant
    ][:MOST_PARTS]:
        yield f"not {text}", 0.22


def _exit_statements(site: RewriteSite, function: Function) -> list[str]:
    """Return statements that leave: the function's own, common ones, its first parameter."""
    in_loop = any(
        isinstance(ancestor, ast.For | ast.While)
        for ancestor in site.source.ancestors(site.node)
        if ancestor is not function
    )
    excluded = (
        "return 0" if _is_predicate(function) else "return False"
    )  # 0 == False: offer only the likelier one
    exits = [ancestor for ancestor in EXITS if ancestor != excluded]
    common = [
        *(["continue"] if in_loop else []),
        *dict.fromkeys([*_return_statements(site.source, function)[:2], *exits]),
    ][:5]
    return [*common, *(f"return {name}" for name in parameter_names(function)[:1])]


@lru_cache(maxsize=1024)
def _is_predicate(function: Function) -> bool:
    """Tell whether a function returns booleans, as far as it returns anything."""
    returned = [node.value for node in find_nodes(function, ast.Return) if node.value]
    boolean = [
        isinstance(value, ast.Compare | ast.BoolOp)
        or (isinstance(value, ast.Constant) and isinstance(value.value, bool))
        for value in returned
    ]
    return any(boolean) or not returned or function.name.startswith(("is_", "has_", "can_"))


@lru_cache(maxsize=1024)
def _return_statements(source: PythonSource, function: Function) -> tuple[str, ...]:
    statements = dict.fromkeys(source.text_of(node) for node in find_nodes(function, ast.Return))
    return tuple(text for text in statements if "\n" not in text and len(text) < LONGEST)


def _is_caused_by_empty_value(failure: Failure) -> bool:
    """Tell whether a failure is typical of an empty value."""
    return failure.type in ("ZeroDivisionError", "IndexError", "StopIteration") or "empty" in failure.message


def _none_weight(site: RewriteSite) -> float:
    """Return the weight of a guard against None: higher if the failures mention NoneType."""
    mentions_none = any("NoneType" in failure.message for failure in site.failures)
    return 0.6 if mentions_none else 0.25


# Missing progress in endless loops: counting, removing, following a link, storing a result.


def kept(site: RewriteSite) -> Iterator[Rewrite]:
    """Store a computed value: `x += 1` for a statement `x + 1`, `x = 1` for `x == 1`."""
    code = site.text_of
    match site.node:
        case ast.Expr(value=ast.BinOp(left=ast.Name() | ast.Attribute() as target, op=op, right=value)) if (
            type(op) in ARITHMETIC
        ):
            text = f"{code(target)} {ARITHMETIC[type(op)][0]}= {code(value)}"
            yield from site.replace(site.node, text, weight=1.0, summary=f"use `{text[:40]}`")
        case ast.Expr(
            value=ast.Compare(
                left=ast.Name() | ast.Attribute() as target, ops=[ast.Eq()], comparators=[value]
            )
        ):
            yield from site.replace(
                site.node,
                f"{code(target)} = {code(value)}",
                weight=1.0,
                summary=f"assign to `{code(target)}` instead of comparing",
            )


def advanced(site: RewriteSite) -> Iterator[Rewrite]:
    """Make a loop progress, if a test timed out: pop an element, follow a link, count."""
    loop = site.source.find_ancestor(site.node, ast.While)
    if loop is None or not has_timeout(site.failures):
        return
    condition_names = {node.id for node in find_nodes(loop.test, ast.Name)}
    match site.node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=0), ctx=ast.Load()) if (
            name in condition_names
        ):
            yield from site.replace(site.node, f"{name}.pop(0)", weight=0.9, summary="pop the element")
        case ast.Subscript(
            value=ast.Name(id=name), slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))
        ) if name in condition_names:
            yield from site.replace(site.node, f"{name}.pop()", weight=0.9, summary="pop the element")
        case ast.If(orelse=[]) as branch:
            names = {node.id for node in find_nodes(branch.test, ast.Name)} - {*assigned_names(loop)}
            yield from _add_else(site, branch, sorted(names))
        case ast.stmt() as last if last is loop.body[-1]:
            for name in sorted(condition_names - {*assigned_names(loop)}):
                for link in _links(site):
                    yield from site.insert_after(
                        last, [f"{name} = {name}.{link}"], weight=0.6, summary=f"advance to `{name}.{link}`"
                    )


def _add_else(site: RewriteSite, branch: ast.If, names: list[str]) -> Iterator[Rewrite]:
    """Add an `else` that counts a variable of the condition which the loop never changes."""
    last = branch.body[-1]
    indent, inner_indent, (_, end) = (
        site.source.indent(branch),
        site.source.indent(last),
        site.span(last),
    )
    for name in names if not indent.strip() and not inner_indent.strip() else ():
        for rank, line in enumerate((f"{name} += 1", f"{name} -= 1")):
            text = f"{site.source.line_end}{indent}else:{site.source.line_end}{inner_indent}{line}"
            yield replace_span(end, end, text, weight=0.6 * 0.7**rank, summary=f"add `else: {line}`")


def _links(site: RewriteSite) -> list[str]:
    """Return attributes by which the file moves from one object to the next."""
    followed = dict.fromkeys(
        node.value.attr
        for node in find_nodes(site.source.tree, ast.Assign)
        if isinstance(node.value, ast.Attribute)
        and [ast.unparse(target) for target in node.targets] == [ast.unparse(node.value.value)]
    )
    common = (
        node.attr for node in find_nodes(site.source.tree, ast.Attribute) if node.attr in ("next", "parent")
    )
    return [*dict.fromkeys([*followed, *common])]


# Wrong iterables: a number for a range, elements for indices, a generator that is consumed once.

NOT_STR_ERROR = re.compile(r"(expected str instance|expected a bytes-like object)")
INT_NOT_ITERABLE = re.compile(r"('int' object is not iterable)")
INDEX_TYPE_ERROR = re.compile(r"(indices must be integers|cannot unpack non-iterable)")
WEIGHT_WITH_EVIDENCE, WEIGHT_WITHOUT_EVIDENCE = 1.2, 0.3


def iterated(site: RewriteSite) -> Iterator[Rewrite]:
    """Change an iterable: `range(n)`, `range(len(x))`, `enumerate(x)`, a list for a generator.

    Also keeps the order of a set, and converts the elements of a join to str.
    """
    node, code = site.node, site.text_of
    match node, site.parent:
        case ast.Call(func=ast.Attribute(attr="join"), args=[iterable]), _ if find_in_messages(
            site.failures, NOT_STR_ERROR
        ):
            yield from _convert_to_str(site, iterable)
        case ast.Call(func=ast.Name(id="set"), args=[iterable]), _:
            weight = 0.5 if isinstance(site.parent, ast.For | ast.comprehension | ast.Call) else 0.25
            yield from site.replace(
                node,
                f"dict.fromkeys({code(iterable)})",
                weight=weight,
                summary="preserve the order with `dict.fromkeys`",
            )
        case ast.GeneratorExp(), ast.Call():
            pass
        case ast.GeneratorExp(), _:
            start, end = site.span(node)
            changes = (
                TextChange(start=start, end=start + 1, text="["),
                TextChange(start=end - 1, end=end, text="]"),
            )
            yield Rewrite(changes, 0.4, "use a list instead of a generator")
        case _, ast.For(iter=loop_iterable) | ast.comprehension(iter=loop_iterable) if loop_iterable is node:
            yield from _iterate_over_indices(site, code(loop_iterable))


def _convert_to_str(site: RewriteSite, iterable: ast.expr) -> Iterator[Rewrite]:
    code = site.text_of
    if isinstance(iterable, ast.GeneratorExp | ast.ListComp):
        yield from site.replace(
            iterable.elt,
            f"str({code(iterable.elt)})",
            weight=WEIGHT_WITH_EVIDENCE,
            summary="convert elements to str",
        )
    else:
        yield from site.replace(
            iterable,
            f"map(str, {code(iterable)})",
            weight=WEIGHT_WITH_EVIDENCE,
            summary="convert elements to str",
        )


def _iterate_over_indices(site: RewriteSite, code: str) -> Iterator[Rewrite]:
    if code.startswith(("range(", "enumerate(")):
        return
    unpacks_pairs = isinstance(getattr(site.parent, "target", None), ast.Tuple)
    if find_in_messages(site.failures, INT_NOT_ITERABLE):
        yield from site.replace(
            site.node,
            f"range({code})",
            weight=WEIGHT_WITH_EVIDENCE,
            summary=f"iterate over `range({code[:30]})`",
        )
    has_index_error = bool(find_in_messages(site.failures, INDEX_TYPE_ERROR))
    new, weight = (
        f"enumerate({code})" if unpacks_pairs else f"range(len({code}))",
        WEIGHT_WITH_EVIDENCE if has_index_error else WEIGHT_WITHOUT_EVIDENCE,
    )
    if unpacks_pairs or has_index_error or _is_index(site):
        yield from site.replace(
            site.node, new, weight=weight, summary=f"iterate over the indices of `{code[:30]}`"
        )


def _is_index(site: RewriteSite) -> bool:
    """Tell whether the variable of a loop is used as an index."""
    name = getattr(getattr(site.parent, "target", None), "id", "")
    loop = (
        site.parent if isinstance(site.parent, ast.For) else site.source.parents.get(site.parent, site.parent)
    )
    return any(
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name) and node.slice.id == name
        for node in ast.walk(loop)
    )


# Missing and superfluous keywords: await, yield from, super().

COROUTINE_MENTION = re.compile(r"\b(coroutine)\b")
"""Failure messages that mention a coroutine: its result was meant."""


def awaiting(site: RewriteSite) -> Iterator[Rewrite]:
    """Add or remove `await` on a call in a coroutine."""
    node = site.node
    if isinstance(node, ast.Await):
        yield from site.replace(node, site.text_of(node.value), weight=0.3, summary="do not await")
    elif (
        isinstance(node, ast.Call)
        and isinstance(site.function, ast.AsyncFunctionDef)
        and not isinstance(site.parent, ast.Await)
    ):
        weight = 1.4 if find_in_messages(site.failures, COROUTINE_MENTION) else 0.7
        yield from site.replace(
            node,
            f"await {site.text_of(node)}",
            weight=weight,
            summary=f"await `{site.text_of(node.func)[:40]}`",
        )


def yielding(site: RewriteSite) -> Iterator[Rewrite]:
    """Swap `yield` and `yield from`, or yield instead of returning."""
    node = site.node
    match node:
        case ast.Yield(value=ast.expr() as value):
            yield from site.replace(
                node, f"yield from {site.text_of(value)}", weight=0.6, summary="yield each element"
            )
        case ast.YieldFrom(value=value):
            yield from site.replace(
                node, f"yield {site.text_of(value)}", weight=0.6, summary="yield the whole value"
            )
        case ast.Return(value=ast.expr()):
            start, _ = site.span(node)
            yield replace_span(
                start, start + len("return"), "yield", weight=0.2, summary="yield instead of returning"
            )


def super_call(site: RewriteSite) -> Iterator[Rewrite]:
    """Call the same method of the parent class first, if the method of a subclass does not."""
    node, function = site.node, site.function
    owner = site.source.owner_class(function)
    if (
        function is None
        or owner is None
        or not owner.bases
        or not isinstance(node, ast.stmt)
        or node not in function.body
    ):
        return
    first = first_statement(function)
    if node is not first or any(
        isinstance(descendant, ast.Name) and descendant.id == "super" for descendant in ast.walk(function)
    ):
        return
    names = [argument.arg for argument in [*function.args.posonlyargs, *function.args.args][1:]]
    accepted = {
        name for parent in _parent_methods(site, owner, function.name) for name in parameter_names(parent)
    }
    for arguments in dict.fromkeys(
        [", ".join(name for name in names if name in accepted or not accepted), ", ".join(names), ""]
    ):
        call = f"super().{function.name}({arguments})"
        weight = 0.6 if function.name == "__init__" else 0.25
        weight = (
            1.3
            if _parent_attributes(site, owner) & find_in_messages(site.failures, UNKNOWN_ATTRIBUTE)
            else weight
        )
        yield from site.insert_before(
            node, [call], weight=weight, summary=f"call `super().{function.name}` first"
        )


def _parent_methods(site: RewriteSite, owner: ast.ClassDef, name: str) -> list[Function]:
    """Return the methods of a name in the class's parents, as far as the file shows them."""
    parents = {base.id for base in owner.bases if isinstance(base, ast.Name)}
    methods = [function for function in site.source.functions if function.name == name]
    return [
        method for method in methods if (class_ := site.source.owner_class(method)) and class_.name in parents
    ]


def _parent_attributes(site: RewriteSite, owner: ast.ClassDef) -> frozenset[str]:
    """Return the attributes that the parents' constructors set, as far as the file shows them."""
    constructors = _parent_methods(site, owner, "__init__")
    return frozenset(
        name
        for constructor in constructors
        for name in re.findall(r"\bself\.(\w+)(?:: [^=\n]+)? = ", site.text_of(constructor))
    )


# Exceptions of the wrong type, raised or caught.

SIMILAR_EXCEPTIONS = (
    "ValueError",
    "TypeError",
    "KeyError",
    "IndexError",
    "AttributeError",
    "LookupError",
    "RuntimeError",
    "StopIteration",
)
EXPECTED_EXCEPTION = re.compile(r"(?:raises|assertRaises(?:Regex)?)\(\s*(?:\d+\s+)?\(?([A-Za-z_][\w.]*)")
"""Patterns of the exception that tests expect."""


def exception_type(site: RewriteSite) -> Iterator[Rewrite]:
    """Raise the exception the test expects, or another one; catch another type."""
    match site.node:
        case ast.Raise(exc=ast.Call(func=ast.Name() as name)) | ast.Raise(exc=ast.Name() as name):
            expected = [
                expected_name for expected_name in expected_exceptions(site) if expected_name != name.id
            ]
            others = (
                [
                    neighbour
                    for neighbour in SIMILAR_EXCEPTIONS
                    if neighbour != name.id and neighbour not in expected
                ]
                if _is_builtin(name.id)
                else []
            )
            for weight, names in ((0.9, expected), (0.6, others)):
                for rank, other in enumerate(names):
                    yield from site.replace(
                        name, other, weight=weight * 0.9**rank, summary=f"raise {other} instead of {name.id}"
                    )
        case ast.Try(handlers=handlers):
            for handler in handlers:
                yield from _change_handler(site, handler)


def expected_exceptions(site: RewriteSite) -> list[str]:
    """Return the exceptions that the failing tests expect, if another one was raised."""
    raised = {failure.type for failure in site.failures}
    expected = (
        name.rpartition(".")[2]
        for failure in site.failures
        for name in EXPECTED_EXCEPTION.findall(failure.text)
    )
    readable = names_in_scope(site.source, site.function)
    return [name for name in dict.fromkeys(expected) if name in readable and name not in raised]


def _change_handler(site: RewriteSite, handler: ast.ExceptHandler) -> Iterator[Rewrite]:
    if handler.type is None:
        return
    old = site.text_of(handler.type)
    names = [site.text_of(elt) for elt in handler.type.elts] if isinstance(handler.type, ast.Tuple) else [old]
    escaped = [
        failure.type
        for failure in site.failures
        if _is_builtin(failure.type) and failure.type not in (*names, "AssertionError")
    ]
    for other in dict.fromkeys(escaped):
        yield from site.replace(
            handler.type, f"({', '.join([*names, other])})", weight=0.6, summary=f"also catch {other}"
        )
    for rank, other in enumerate(
        neighbour for neighbour in dict.fromkeys([*escaped, *SIMILAR_EXCEPTIONS]) if neighbour not in names
    ):
        yield from site.replace(
            handler.type, other, weight=0.5 * 0.85**rank, summary=f"catch {other} instead of {old}"
        )


def _is_builtin(name: str) -> bool:
    builtin = getattr(builtins, name, None)
    return isinstance(builtin, type) and issubclass(builtin, Exception)


# Exceptions that a test expects and that are missing or of another type.

NOT_RAISED = re.compile(
    r"DID NOT RAISE (?:any of \()?(?:<class ')?([\w.]+)|\b(\w+) not raised", re.IGNORECASE
)
"""Patterns of reports of a missing exception, by pytest, unittest and hand-written tests."""
EXPECTED_MESSAGE = re.compile(r"\bmatch=r?(['\"])([^'\"\n]{1,80})\1")
MESSAGE_MISMATCH = re.compile(
    r"^\"([^\"\n]{1,80})\" does not match \"|Expected regex: '([^'\n]{1,80})'", re.MULTILINE
)
"""Patterns of reports of an exception with another message, by pytest and unittest."""
MOST_NAMES = 3
INVALID_VALUE_CONDITIONS = (
    ("not {}", 0.4),
    ("{} is None", 0.4),
    ("{} < 0", 0.35),
    ("{} <= 0", 0.25),
    ("{0} is not None and {0} < 0", 0.25),
)
"""Conditions under which a parameter is invalid."""


def raising(site: RewriteSite) -> Iterator[Rewrite]:
    """Raise the expected exception in place of `pass` or a return, or for an invalid parameter."""
    node, function = site.node, site.function
    if function is None or not isinstance(node, ast.stmt) or is_docstring(node):
        return
    for name in (
        _unused_classes(site.source)
        if isinstance(node, ast.Pass) and _is_exception_missing(site.failures)
        else ()
    ):
        yield from site.replace(
            node, f"raise {name}({_split_words(name)!r})", weight=0.5, summary=f"raise {name}"
        )
    for name, error in _raise_statements(site.source, site.failures):
        caught = next(
            (
                ancestor
                for ancestor in site.source.ancestors(node)
                if isinstance(ancestor, ast.ExceptHandler | Function)
            ),
            None,
        )
        cause = f" from {caught.name}" if isinstance(caught, ast.ExceptHandler) and caught.name else ""
        if isinstance(node, ast.Pass | ast.Return):
            weight = 0.8 if isinstance(node, ast.Pass) or isinstance(caught, ast.ExceptHandler) else 0.35
            yield from site.replace(node, error + cause, weight=weight, summary=f"raise {name}")
        if node is first_statement(function):
            for parameter, (template, weight) in product(
                parameter_names(function)[:MOST_NAMES], INVALID_VALUE_CONDITIONS
            ):
                condition = template.format(parameter)
                lines = [f"if {condition}:", f"    {error}"]
                yield from site.insert_before(
                    node, lines, weight=weight, summary=f"raise {name} if `{condition}`"
                )


def converted(site: RewriteSite) -> Iterator[Rewrite]:
    """Convert the exception that a statement raises to the one the test expects."""
    node = site.node
    if not isinstance(
        node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return
    ) or is_docstring(node):
        return
    code, indent, line_end = site.text_of(node), site.source.indent(node), site.source.line_end
    if indent.strip() or '"""' in code or "'''" in code:
        return
    names = names_in_scope(site.source, site.function)
    caught = "error" if "error" not in names else "caught"
    for failure in site.failures:
        if failure.type in names and any(map(site.contains_frame, failure.frames)):
            for name in expected_exceptions(site):
                lines = ["try:", *(f"    {line}" for line in code.split(f"{line_end}{indent}"))]
                lines += [
                    f"except {failure.type} as {caught}:",
                    f"    raise {name}(str({caught})) from {caught}",
                ]
                start, end = site.span(node)
                change = TextChange(start=start, end=end, text=f"{line_end}{indent}".join(lines))
                yield Rewrite((change,), 0.8, f"raise {name} instead of {failure.type}")


def _raise_statements(source: PythonSource, failures: tuple[Failure, ...]) -> Iterator[tuple[str, str]]:
    """Yield missing exceptions with a `raise` statement, with the expected message if known."""
    message = next(iter(_expected_messages(failures)), None)
    for name in _missing_exceptions(source, failures):
        yield name, f"raise {name}({message!r})" if message else f"raise {name}()"


def _expected_messages(failures: tuple[Failure, ...]) -> list[str]:
    """Return the expected messages that are plain text apart from escapes."""
    texts = dict.fromkeys(text for failure in failures for _, text in EXPECTED_MESSAGE.findall(failure.text))
    texts |= dict.fromkeys(
        next(filter(None, match.groups()))
        for failure in failures
        for match in MESSAGE_MISMATCH.finditer(failure.message)
    )
    plain = [re.sub(r"\\(\W)", r"\1", text) for text in texts]
    return [text for text in plain if not re.search(r"[\\*+?\[\](){}|^$]", text)]


def _is_exception_missing(failures: tuple[Failure, ...]) -> bool:
    return any(NOT_RAISED.search(failure.message) for failure in failures)


def _unused_classes(source: PythonSource) -> list[str]:
    """Return classes that the module imports and does not use."""
    used = {descendant.id for descendant in find_nodes(source.tree, ast.Name)}
    imported = [
        alias.asname or alias.name
        for node in source.tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    return [name for name in imported if name not in used and name[:1].isupper() and not name.isupper()]


def _split_words(name: str) -> str:
    return " ".join(re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)).lower()


def _missing_exceptions(source: PythonSource, failures: tuple[Failure, ...]) -> list[str]:
    qualified = [
        match[1] or match[2] for failure in failures for match in NOT_RAISED.finditer(failure.message)
    ]
    qualified += [
        name
        for failure in failures
        if MESSAGE_MISMATCH.search(failure.message)
        for name in EXPECTED_EXCEPTION.findall(failure.text)
    ]
    names = dict.fromkeys(name.rpartition(".")[2] for name in qualified)
    return [name for name in names if name in BUILTIN_NAMES or name in module_names(source)]


# Missing base cases, visited checks and memoization in recursive searches.

BASE_CONDITIONS = ("not {}", "{} <= 0", "{} <= 1", "{} == 0", "{} == 1")
BASE_RESULTS = ("{}", "0", "1", "None", "[]", "True", "False")
MOST_PARAMETERS = 3


def base_case(site: RewriteSite) -> Iterator[Rewrite]:
    """Add a base case or a visited check after a RecursionError or a timeout, or memoize."""
    node, function = site.node, site.function
    if function is None or not isinstance(node, ast.stmt) or is_docstring(node):
        return
    yield from _memoize(site, function, node)
    timed_out = has_timeout(site.failures)
    if not timed_out and not any(failure.type == "RecursionError" for failure in site.failures):
        return
    calls = [
        descendant
        for descendant in find_nodes(node, ast.Call)
        if (_is_recursive_call(descendant, function) or (timed_out and _adds_element(descendant)))
    ]
    yield from _skip_visited(site, node) if calls else ()
    if node is first_statement(function):
        guards = product(
            parameter_names(function)[:MOST_PARAMETERS], enumerate(BASE_CONDITIONS), enumerate(BASE_RESULTS)
        )
        for name, (place, end), (rank, value) in guards:
            lines = [f"if {end.format(name)}:", f"    return {value.format(name)}"]
            yield from site.insert_before(
                node,
                lines,
                weight=0.6 * 0.95**place * 0.93**rank,
                summary=f"return early if `{end.format(name)}`",
            )


def _skip_visited(site: RewriteSite, node: ast.stmt) -> Iterator[Rewrite]:
    """Guard a statement in a loop with a test that the loop variable is not in a known collection."""
    loop, indent = site.parent, site.source.indent(node)
    if (
        not isinstance(loop, ast.For)
        or not isinstance(loop.target, ast.Name)
        or indent.strip()
        or "\n" in site.text_of(node)
    ):
        return
    collections = _filled_collections(site.function) - _filled_collections(node)
    for rank, collection in enumerate(
        name for name in local_names(site.source, node) if name != loop.target.id
    ):
        text = (
            f"if {loop.target.id} not in {collection}:{site.source.line_end}{indent}    {site.text_of(node)}"
        )
        weight = (0.9 if collection in collections else 0.3) * 0.95**rank
        yield from site.replace(node, text, weight=weight, summary=f"skip what is already in `{collection}`")


def _filled_collections(node: ast.AST | None) -> set[str]:
    calls = (
        (descendant.func for descendant in find_nodes(node, ast.Call) if _adds_element(descendant))
        if node
        else ()
    )
    return {
        func.value.id
        for func in calls
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name)
    }


def _memoize(site: RewriteSite, function: Function, node: ast.stmt) -> Iterator[Rewrite]:
    """Store a result that is looked up before: `seen[key] = value` before `return value`."""
    match node:
        case ast.Return(value=ast.Name(id=value)):
            pass
        case _:
            return
    for descendant in ast.walk(function):
        match descendant:
            case ast.Compare(
                left=key, ops=[ast.In() | ast.NotIn()], comparators=[ast.Name() | ast.Attribute() as table]
            ):
                entry = f"{site.text_of(table)}[{site.text_of(key)}]"
                if f"return {entry}" in site.text_of(function) and f"{entry} = " not in site.text_of(
                    function
                ):
                    yield from site.insert_before(
                        node, [f"{entry} = {value}"], weight=0.8, summary=f"store the result in `{entry}`"
                    )


def _adds_element(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in (
        "add",
        "append",
        "appendleft",
        "put",
        "push",
    )


def _is_recursive_call(call: ast.Call, function: Function) -> bool:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name == function.name
    return False
