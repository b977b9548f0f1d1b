"""Missing or misplaced guards: None, empty, out of bounds."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from coder.core.ports import TextChange
from coder.core.verdict import Failure
from coder.python.source import Function, PythonSource, is_docstring, own_nodes
from coder.repair.context.scope import local_names, parameter_names, self_attribute_names
from coder.repair.context.site import Rewrite, RewriteSite
from coder.repair.generators.expressions.negation import is_condition
from coder.repair.generators.names.suggestions import UNKNOWN_ATTRIBUTE, find_in_messages

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
    first = next((statement for statement in function.body if not is_docstring(statement)), None)
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
    code = site.source.text_of(node)
    code = f"({code})" if isinstance(node, ast.BoolOp | ast.IfExp | ast.Lambda) else code
    for extra in _missing_attribute_tests(site, node):
        yield from site.replace_expression(
            node, f"{extra} and {code}", weight=0.45, summary=f"also check `{extra}`"
        )
        yield from site.replace_expression(
            node, f"{code} or {extra}", weight=0.3, summary=f"also check `{extra}`"
        )
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
            yield from site.replace_expression(
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
            yield from site.replace_expression(
                node, new, weight=0.22 * 0.96**rank, summary=f"also check `{text}`"
            )


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
            case _:
                pass


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
            case _:
                pass
    return tuple(text for text, count in counted.most_common() if count > 0)


def dropped_guard(site: RewriteSite) -> Iterator[Rewrite]:
    """Drop a condition, or swap `break` and `continue`."""
    match site.node:
        case ast.If(orelse=[], test=test):
            yield from site.replace_expression(test, "True", weight=0.12, summary="drop a condition")
        case ast.Break() | ast.Continue() as jump:
            start, end = site.source.span(jump)
            new = "continue" if isinstance(jump, ast.Break) else "break"
            yield Rewrite(
                (TextChange(start=start, end=end, text=new),),
                0.7,
                f"use `{new}` instead of `{site.source.text_of(jump)}`",
            )
        case _:
            pass


def _failure_conditions(site: RewriteSite, node: ast.stmt) -> Iterator[tuple[str, float]]:
    """Yield conditions under which a statement may fail: a name is None, or a name or attribute is empty."""
    header = site.source.text_of(node).split("\n")[0]
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
        site.source.text_of(descendant)
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
    returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value]
    boolean = [
        isinstance(value, ast.Compare | ast.BoolOp)
        or (isinstance(value, ast.Constant) and isinstance(value.value, bool))
        for value in returned
    ]
    return any(boolean) or not returned or function.name.startswith(("is_", "has_", "can_"))


@lru_cache(maxsize=1024)
def _return_statements(source: PythonSource, function: Function) -> tuple[str, ...]:
    statements = dict.fromkeys(
        source.text_of(node) for node in ast.walk(function) if isinstance(node, ast.Return)
    )
    return tuple(text for text in statements if "\n" not in text and len(text) < LONGEST)


def _is_caused_by_empty_value(failure: Failure) -> bool:
    """Tell whether a failure is typical of an empty value."""
    return failure.type in ("ZeroDivisionError", "IndexError", "StopIteration") or "empty" in failure.message


def _none_weight(site: RewriteSite) -> float:
    """Return the weight of a guard against None: higher if the failures mention NoneType."""
    mentions_none = any("NoneType" in failure.message for failure in site.failures)
    return 0.6 if mentions_none else 0.25
