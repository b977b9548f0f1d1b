"""Missing or misplaced guards: None, empty, out of bounds."""

import ast
import re
from collections.abc import Iterator

from coder.core.trials import Change
from coder.repair.scope import arguments_of, local_names
from coder.repair.site import Rewrite, Site
from coder.repair.source import Function, is_docstring
from coder.repair.templates.negation import is_condition

EXITS = ("return None", "return []", "return 0", "return False", "return ''")


def inserted_guard(site: Site) -> Iterator[Rewrite]:
    """Leave the function, or go on with the loop, before a statement that could not bear None or nothing."""
    node, function = site.node, site.function
    if (
        not isinstance(node, ast.stmt)
        or function is None
        or node is function
        or is_docstring(node)
        or isinstance(node, ast.Return | ast.Raise)
    ):
        return
    header = site.source.code(node).split("\n")[0]
    # The indented line is four columns deeper, whatever the file does elsewhere: it is a block of its own.
    for name in [one for one in local_names(site.source, node) if re.search(rf"\b{re.escape(one)}\b", header)][:4]:
        for condition, weight in ((f"{name} is None", _none(site)), (f"not {name}", 0.3)):
            for rank, leave in enumerate(_exits(site, function)):
                lines = [f"if {condition}:", f"    {leave}"]
                yield from site.before(node, lines, weight=weight * 0.85**rank, summary=f"stop where `{condition}`")


def default_value(site: Site) -> Iterator[Rewrite]:
    """Give a parameter that is None something empty at the function's start."""
    node, function = site.node, site.function
    if function is None or not isinstance(node, ast.stmt) or node not in function.body or is_docstring(node):
        return
    first = next((one for one in function.body if not is_docstring(one)), None)
    if node is not first:
        return
    for name in arguments_of(function)[:5]:
        for value in ("[]", "{}", "''", "0"):
            lines = [f"if {name} is None:", f"    {name} = {value}"]
            yield from site.before(node, lines, weight=0.5 * _none(site), summary=f"let `{name}` default to `{value}`")


def condition(site: Site) -> Iterator[Rewrite]:
    """Ask for one thing more, or allow for one thing more, in a condition."""
    node = site.node
    if not is_condition(site.source, node) or isinstance(site.parent, ast.BoolOp | ast.Return) or not isinstance(node, ast.expr):
        return
    code = site.source.code(node)
    code = f"({code})" if isinstance(node, ast.BoolOp | ast.IfExp | ast.Lambda) else code
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
            yield from site.replace(node, new, weight=weight * used * 0.96**rank, summary=f"look at `{name}` as well")


def dropped_guard(site: Site) -> Iterator[Rewrite]:
    """Do always what was done under a condition; go on where a loop was left, and the other way round."""
    match site.node:
        case ast.If(orelse=[], test=test):
            yield from site.replace(test, "True", weight=0.12, summary="drop a condition")
        case ast.Break() | ast.Continue() as jump:
            start, end = site.source.span(jump)
            new = "continue" if isinstance(jump, ast.Break) else "break"
            yield Rewrite((Change(start=start, end=end, text=new),), 0.7, f"{new} instead of {site.source.code(jump)}")
        case _:
            pass


def _exits(site: Site, function: Function) -> list[str]:
    """Ways to leave: those that the function has already, then the usual ones."""
    own = [site.source.code(one) for one in ast.walk(function) if isinstance(one, ast.Return)]
    plain = [text for text in dict.fromkeys(own) if "\n" not in text and len(text) < 30]
    looping = any(isinstance(one, ast.For | ast.While) for one in site.source.around(site.node) if one is not function)
    return [*(["continue"] if looping else []), *dict.fromkeys([*plain[:2], *EXITS])][:5]


def _none(site: Site) -> float:
    """How much the failures speak of None."""
    said = any("NoneType" in failure.message for failure in site.failures)
    return 0.6 if said else 0.25
