"""Missing or misplaced guards: None, empty, out of bounds."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from coder.core.ports.repair import Change
from coder.core.values.verdict import Failure
from coder.python.source import Function, Source, is_docstring, own_nodes
from coder.repair.context.scope import arguments_of, local_names, own_attributes
from coder.repair.context.site import Rewrite, Site
from coder.repair.generators.expressions.negation import is_condition
from coder.repair.generators.names.suggestions import ATTRIBUTE, said

MOST_KEPT, MOST_PARTS, LONGEST = 4, 4, 30
SIZELESS = re.compile(r"(object of type '\w+' has no len)")
COMPARING = frozenset(
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


def inserted_guard(site: Site) -> Iterator[Rewrite]:
    """Leave the function, or go on with the loop, before a statement that could not bear None or nothing."""
    node, function = site.node, site.function
    if function and isinstance(node, ast.stmt) and node is function.body[0]:
        yield from _of_another_kind(site, node, function)
    if (
        not isinstance(node, ast.stmt)
        or function is None
        or node is function
        or is_docstring(node)
        or isinstance(node, ast.Raise)
        or (isinstance(node, ast.Return) and not isinstance(node.value, ast.Call | ast.BinOp | ast.Subscript))
    ):
        return
    # The indented line is four columns deeper, whatever the file does elsewhere: it is a block of its own.
    for condition, weight in _wanting(site, node):
        for rank, leave in enumerate(_exits(site, function)):
            lines = [f"if {condition}:", f"    {leave}"]
            yield from site.before(
                node, lines, weight=weight * 0.85**rank, summary=f"stop where `{condition}`"
            )


def _of_another_kind(site: Site, node: ast.stmt, function: Function) -> Iterator[Rewrite]:
    """Nothing is said of how an object compares with what is no such object."""
    owner, given = site.source.class_of(function), arguments_of(function)
    if owner and len(given) == 1 and function.name in COMPARING:
        lines = [f"if not isinstance({given[0]}, {owner.name}):", "    return NotImplemented"]
        yield from site.before(node, lines, weight=0.8, summary=f"leave it open for what is no {owner.name}")


def default_value(site: Site) -> Iterator[Rewrite]:
    """Give a parameter that is None something empty at the function's start."""
    node, function = site.node, site.function
    if function is None or not isinstance(node, ast.stmt) or node not in function.body or is_docstring(node):
        return
    first = next((item for item in function.body if not is_docstring(item)), None)
    if node is not first:
        return
    for name in arguments_of(function)[:5]:
        for value, likely in (("[]", 0.5), ("{}", 0.35), ("''", 0.35), ("0", 0.3)):
            lines = [f"if {name} is None:", f"    {name} = {value}"]
            yield from site.before(
                node, lines, weight=likely * _none(site), summary=f"let `{name}` default to `{value}`"
            )


def condition(site: Site) -> Iterator[Rewrite]:
    """Ask for one thing more, or allow for one thing more, in a condition."""
    node = site.node
    if (
        not is_condition(site.source, node)
        or isinstance(site.parent, ast.BoolOp | ast.Return)
        or not isinstance(node, ast.expr)
    ):
        return
    code = site.source.code(node)
    code = f"({code})" if isinstance(node, ast.BoolOp | ast.IfExp | ast.Lambda) else code
    for asked in _lacking(site, node):
        yield from site.replace(
            node, f"{asked} and {code}", weight=0.45, summary=f"look at `{asked}` as well"
        )
        yield from site.replace(node, f"{code} or {asked}", weight=0.3, summary=f"look at `{asked}` as well")
    for rank, name in enumerate(local_names(site.source, node)):
        used = 1.0 if re.search(rf"\b{re.escape(name)}\b", code) else 0.7
        for new, weight in (
            (f"{name} is not None and {code}", 0.4),
            (f"{name} is None or {code}", 0.35),
            (f"{name} and {code}", 0.35),
            (f"not {name} or {code}", 0.3),
            (f"{code} and not {name}", 0.25),
            (f"{code} or {name}", 0.25),
        ):
            yield from site.replace(
                node, new, weight=weight * used * 0.96**rank, summary=f"look at `{name}` as well"
            )
    for rank, text in enumerate(
        [text for text in _attributes(site.source, site.function) if text not in code][:MOST_PARTS]
    ):
        for new in (
            f"{code} and not {text}",
            f"{code} and {text}",
            f"{code} or {text}",
            f"not {text} and {code}",
        ):
            yield from site.replace(node, new, weight=0.22 * 0.96**rank, summary=f"look at `{text}` as well")


def _lacking(site: Site, node: ast.AST) -> Iterator[str]:
    """Whether a name has what a failure says that something lacks."""
    lacked = {*said(site.failures, ATTRIBUTE), *("__len__" for item in said(site.failures, SIZELESS) if item)}
    for name in local_names(site.source, node)[:MOST_KEPT] if lacked else ():
        yield from (f"hasattr({name}, {attribute!r})" for attribute in sorted(lacked))


def _too_short(node: ast.stmt) -> Iterator[str]:
    """Whether something is shorter than what is taken of it needs."""
    for item in own_nodes(node):
        match item:
            case ast.Subscript(
                value=ast.Name() | ast.Attribute() as whole, slice=ast.Constant(value=int(place))
            ):
                yield f"len({ast.unparse(whole)}) < {place + 1}"
            case ast.Subscript(
                value=ast.Name() | ast.Attribute() as whole,
                slice=ast.UnaryOp(ast.USub(), ast.Constant(value=int(place))),
            ):
                yield f"len({ast.unparse(whole)}) < {place}"
            case _:
                pass


@lru_cache(maxsize=1024)
def _attributes(source: Source, function: Function | None) -> tuple[str, ...]:
    """Attributes of names that the function reads, the most read first."""
    counted: Counter[str] = Counter()
    for node in ast.walk(function) if function else ():
        match node:
            case ast.Call(func=ast.Attribute() as called):
                counted[source.code(called)] -= 1
            case ast.Attribute(value=ast.Name(), ctx=ast.Load()):
                counted[source.code(node)] += 1
            case _:
                pass
    return tuple(text for text, count in counted.most_common() if count > 0)


def dropped_guard(site: Site) -> Iterator[Rewrite]:
    """Do always what was done under a condition; go on where a loop was left, and the other way round."""
    match site.node:
        case ast.If(orelse=[], test=test):
            yield from site.replace(test, "True", weight=0.12, summary="drop a condition")
        case ast.Break() | ast.Continue() as jump:
            start, end = site.source.span(jump)
            new = "continue" if isinstance(jump, ast.Break) else "break"
            yield Rewrite(
                (Change(start=start, end=end, text=new),), 0.7, f"{new} instead of {site.source.code(jump)}"
            )
        case _:
            pass


def _wanting(site: Site, node: ast.stmt) -> Iterator[tuple[str, float]]:
    """What a statement may not bear: that a name of its first line is None, or that something there, or of the object, is empty."""
    header = site.source.code(node).split("\n")[0]
    yield from ((f"not {asked}", 0.35) for asked in _lacking(site, node))
    yield from (
        (text, 0.5)
        for text in dict.fromkeys(_too_short(node))
        if any(failure.type == "IndexError" for failure in site.failures)
    )
    for name in [
        item for item in local_names(site.source, node) if re.search(rf"\b{re.escape(item)}\b", header)
    ][:4]:
        yield f"{name} is None", _none(site)
        yield f"not {name}", 0.7 if any(map(_is_of_empty, site.failures)) else 0.3
    found = [
        item
        for item in own_nodes(node)
        if isinstance(item, ast.Attribute) or (isinstance(item, ast.Call) and not item.args)
    ]
    here = [
        site.source.code(item)
        for item in found
        if not isinstance(getattr(item, "ctx", None), ast.Store | ast.Del)
    ]
    kept = [f"self.{name}" for name in own_attributes(site.source, node)[:MOST_KEPT]]
    for text in [item for item in dict.fromkeys([*here, *kept]) if len(item) < LONGEST and "\n" not in item][
        :MOST_PARTS
    ]:
        yield f"not {text}", 0.22


def _exits(site: Site, function: Function) -> list[str]:
    """Ways to leave: those that the function has already, then the usual ones, then with what was given."""
    looping = any(
        isinstance(item, ast.For | ast.While)
        for item in site.source.around(site.node)
        if item is not function
    )
    other = "return 0" if _answers(function) else "return False"  # they are equal, and one of them is meant
    exits = [item for item in EXITS if item != other]
    usual = [
        *(["continue"] if looping else []),
        *dict.fromkeys([*_returns(site.source, function)[:2], *exits]),
    ][:5]
    return [*usual, *(f"return {name}" for name in arguments_of(function)[:1])]


@lru_cache(maxsize=1024)
def _answers(function: Function) -> bool:
    """Does a function say yes or no, as far as it says anything?"""
    given = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value]
    plain = [
        isinstance(item, ast.Compare | ast.BoolOp)
        or (isinstance(item, ast.Constant) and isinstance(item.value, bool))
        for item in given
    ]
    return any(plain) or not given or function.name.startswith(("is_", "has_", "can_"))


@lru_cache(maxsize=1024)
def _returns(source: Source, function: Function) -> tuple[str, ...]:
    own = dict.fromkeys(source.code(node) for node in ast.walk(function) if isinstance(node, ast.Return))
    return tuple(text for text in own if "\n" not in text and len(text) < LONGEST)


def _is_of_empty(failure: Failure) -> bool:
    """Is it what comes of something that is empty?"""
    return failure.type in ("ZeroDivisionError", "IndexError", "StopIteration") or "empty" in failure.message


def _none(site: Site) -> float:
    """How much the failures speak of None."""
    said = any("NoneType" in failure.message for failure in site.failures)
    return 0.6 if said else 0.25
