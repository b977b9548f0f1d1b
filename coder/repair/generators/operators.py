"""Templates for operators, their grouping and negation, and off-by-one errors."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from coder.core.ports import TextChange
from coder.python.source import PythonSource, dump_node, find_nodes
from coder.repair.generators.site import (
    ATOMIC_EXPRESSIONS,
    Rewrite,
    RewriteSite,
    local_names,
    module_names,
    self_attribute_names,
)

# Wrong operators: arithmetic, comparison, boolean.

ARITHMETIC: dict[type[ast.operator], tuple[str, tuple[str, ...]]] = {
    ast.Add: ("+", ("-", "*", "|")),
    ast.Sub: ("-", ("+", "*", "//", "%")),
    ast.Mult: ("*", ("+", "**", "/", "//", "%", "-")),
    ast.Div: ("/", ("//", "*", "%")),
    ast.FloorDiv: ("//", ("/", "%", "*")),
    ast.Mod: ("%", ("//", "/", "*")),
    ast.Pow: ("**", ("*",)),
    ast.BitAnd: ("&", ("|", "-", "^")),
    ast.BitOr: ("|", ("&", "+", "^")),
    ast.BitXor: ("^", ("&", "|", "**")),
    ast.LShift: ("<<", (">>",)),
    ast.RShift: (">>", ("<<",)),
}
COMPARISON: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=", ">", ">=", "!=", "==")),
    ast.LtE: ("<=", ("<", ">=", ">", "==", "!=")),
    ast.Gt: (">", (">=", "<", "<=", "!=", "==")),
    ast.GtE: (">=", (">", "<=", "<", "==", "!=")),
    ast.Eq: ("==", ("!=", "<=", ">=", "<", ">", "is", "in")),
    ast.NotEq: ("!=", ("==", "<", ">", "<=", ">=", "is not", "not in")),
    ast.In: ("in", ("not in", "==")),
    ast.NotIn: ("not in", ("in", "!=")),
    ast.Is: ("is", ("is not", "==")),
    ast.IsNot: ("is not", ("is", "!=")),
}
NON_COMMUTATIVE = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift)
"""Operators whose operand order matters."""
FLAG_TEST_WEIGHT = 0.4
"""Weight of replacing `&` in a condition: `if flags & FLAG` is an idiom."""
ORDER_COMPARISONS, STRING_ORDER_WEIGHT = ("<", "<=", ">", ">="), 0.2
"""Order comparisons, and their weight where strings are compared for equality."""
FRACTION_FACTOR = 0.6
"""Weight factor of `/` for a value whose remainder is computed elsewhere in the function."""
RANK_DECAY = 0.85
"""Weight factor for each further alternative of an operator."""


def arithmetic(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace an arithmetic operator, swap its operands, round up or towards zero, or divide by 100."""
    yield from _round_or_scale(site)
    match site.node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC and not _is_string_formatting(
            site.node
        ):
            old, others = ARITHMETIC[type(op)]
            likelihood = FLAG_TEST_WEIGHT if isinstance(op, ast.BitAnd) and _is_tested(site) else 0.9
            for rank, new in enumerate(others):
                weight = (
                    likelihood
                    * RANK_DECAY**rank
                    * (FRACTION_FACTOR if new == "/" and _has_remainder(site, left) else 1.0)
                )
                yield from _replace_operator(site, left, right, old=old, new=new, weight=weight)
            if isinstance(op, NON_COMMUTATIVE):
                yield from site.swap_expressions(
                    left, right, weight=0.6, summary=f"swap the operands of `{old}`"
                )
            for rewrite in (
                _replace_operator(site, left, right, old=old, new="/", weight=0.4)
                if isinstance(op, ast.FloorDiv)
                else ()
            ):
                (start, end), (change,) = site.span(site.node), rewrite.changes
                code = f"{site.source.text[start : change.start]}/{site.source.text[change.end : end]}"
                yield from site.replace(
                    site.node, f"int({code})", weight=rewrite.weight, summary="round towards zero"
                )
        case ast.AugAssign(target=target, op=op, value=value) if type(op) in ARITHMETIC:
            old, others = ARITHMETIC[type(op)]
            for rank, new in enumerate((*others, "")):
                yield from _replace_operator(
                    site, target, value, old=f"{old}=", new=f"{new}=", weight=0.9 * RANK_DECAY**rank
                )


def _has_remainder(site: RewriteSite, value: ast.expr) -> bool:
    """Tell whether the function computes a remainder of the same value."""
    same = dump_node(value)
    nodes = ast.walk(site.function) if site.function else ()
    return any(
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and dump_node(node.left) == same
        for node in nodes
    )


def _round_or_scale(site: RewriteSite) -> Iterator[Rewrite]:
    code = site.text_of
    match site.node:
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
            operand = code(left) if isinstance(left, ATOMIC_EXPRESSIONS) else f"({code(left)})"
            yield from site.replace(
                site.node, f"-(-{operand} // {code(right)})", weight=0.4, summary="round up"
            )
        case ast.BinOp(op=ast.Mult()) if not isinstance(site.parent, ast.BinOp) or isinstance(
            site.parent.op, ast.Add | ast.Sub
        ):
            yield from site.replace(
                site.node, f"{code(site.node)} / 100", weight=0.25, summary="divide by 100"
            )


def _is_tested(site: RewriteSite) -> bool:
    return is_condition(site.source, site.node) or (
        isinstance(site.parent, ast.UnaryOp) and isinstance(site.parent.op, ast.Not)
    )


def comparison(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace a comparison operator, or swap the operands of `in`."""
    if not isinstance(site.node, ast.Compare):
        return
    left = site.node.left
    for op, right in zip(site.node.ops, site.node.comparators, strict=True):
        old, others = COMPARISON[type(op)]
        has_identity = not any(_has_no_identity(operand) for operand in (left, right))
        for rank, new in enumerate(new for new in others if has_identity or not new.startswith("is")):
            likelihood = (
                STRING_ORDER_WEIGHT
                if old in ("==", "!=") and new in ORDER_COMPARISONS and any(map(_is_text, (left, right)))
                else 0.95
            )
            yield from _replace_operator(
                site, left, right, old=old, new=new, weight=likelihood * RANK_DECAY**rank
            )
        if isinstance(op, ast.In | ast.NotIn):
            yield from site.swap_expressions(left, right, weight=0.3, summary=f"swap the sides of `{old}`")
        left = right


def _has_no_identity(node: ast.expr) -> bool:
    """Tell whether a node is a number or string literal: identity of literals depends on the interpreter."""
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float | str | bytes)
        and not isinstance(node.value, bool)
    )


def boolean(site: RewriteSite) -> Iterator[Rewrite]:
    """Swap `and` and `or`, or drop an operand."""
    node = site.node
    if not isinstance(node, ast.BoolOp):
        return
    old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    changes: list[TextChange] = []
    for left, right in zip(node.values, node.values[1:], strict=False):
        rewrite = next(_replace_operator(site, left, right, old=old, new=new, weight=0.9), None)
        changes += rewrite.changes if rewrite else ()
    if changes:
        yield Rewrite(tuple(changes), 0.9, f"combine with `{new}` instead of `{old}`")
    for change in changes if len(changes) > 1 else ():
        yield Rewrite((change,), 0.5, f"combine with `{new}` instead of `{old}`")
    yield from _compare_with_each(site, node)
    for dropped in node.values:
        remaining = f" {old} ".join(site.text_of(value) for value in node.values if value is not dropped)
        yield from site.replace(
            node, remaining, weight=0.35, summary=f"drop the condition `{_abbreviate(site.text_of(dropped))}`"
        )


def _compare_with_each(site: RewriteSite, node: ast.BoolOp) -> Iterator[Rewrite]:
    """Repeat a comparison for each value: `x == 1 or x == 2` for `x == 1 or 2`."""
    match node.values:
        case [ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op]), *others] if all(
            isinstance(other, ast.Constant) for other in others
        ):
            prefix = f"{site.text_of(left)} {'==' if isinstance(op, ast.Eq) else '!='} "
            starts = [site.span(other)[0] for other in others]
            yield Rewrite(
                tuple(TextChange(start=start, end=start, text=prefix) for start in starts),
                1.2,
                "repeat the comparison for each value",
            )


def _replace_operator(
    site: RewriteSite, left: ast.AST, right: ast.AST, *, old: str, new: str, weight: float
) -> Iterator[Rewrite]:
    """Change the operator between two nodes."""
    start, end = site.span(left)[1], site.span(right)[0]
    pattern = re.escape(old).replace(r"\ ", r"\s+")
    match = re.search(rf"\b{pattern}\b" if old[0].isalpha() else pattern, site.source.text[start:end])
    if match and "#" not in site.source.text[start : start + match.start()]:
        change = TextChange(start=start + match.start(), end=start + match.end(), text=new)
        yield Rewrite((change,), weight, f"use `{new}` instead of `{old}`")


def _is_string_formatting(node: ast.BinOp) -> bool:
    return (
        isinstance(node.op, ast.Mod)
        and isinstance(node.left, ast.Constant | ast.JoinedStr)
        and not _is_number(node.left)
    )


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _abbreviate(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) <= 40 else f"{line[:37]}..."


# Off-by-one errors: at an index, a bound, a count.

COUNTING = frozenset({"len", "range", "enumerate", "round", "islice", "index", "find", "count", "sum"})


def boundary(site: RewriteSite) -> Iterator[Rewrite]:
    """Swap `n + 1`, `n - 1` and `n`, or change an integer literal by one."""
    node = site.node
    if not isinstance(node, ast.expr) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return
    yield from _count_from_one(site, node)
    likelihood = _counting_likelihood(site)
    if likelihood == 0.0:
        return
    code = site.text_of(node)
    match node:
        case ast.Constant(value=bool()):
            return
        case ast.Constant(value=int() as value):
            for new in (
                (value + 1, value - 1) if value or not isinstance(site.parent, ast.UnaryOp) else (value + 1,)
            ):
                yield from site.replace(
                    node, str(new), weight=0.85 * likelihood, summary=f"use {new} instead of {value}"
                )
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=ast.Constant(value=1)):
            yield from site.replace(
                node,
                site.text_of(left),
                weight=0.9 * likelihood,
                summary=f"drop the `{code[len(site.text_of(left)) :].strip()}`",
            )
        case ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript() | ast.BinOp() if _may_be_count(node):
            weight = 0.7 if _is_count(node) else 0.45
            for offset in ("+ 1", "- 1"):
                yield from site.replace(
                    node, f"{code} {offset}", weight=weight * likelihood, summary=f"use `{code} {offset}`"
                )


def _count_from_one(site: RewriteSite, node: ast.expr) -> Iterator[Rewrite]:
    match site.parent:
        case ast.Call(func=ast.Name(id="range"), args=[only]) if only is node:
            code = site.text_of(node)
            for bounds, weight in ((f"1, {code} + 1", 0.6), (f"1, {code}", 0.5)):
                yield from site.replace(
                    node, bounds, weight=weight, summary=f"count from 1 in `range({bounds})`"
                )


def _counting_likelihood(site: RewriteSite) -> float:
    """Return how likely a place is to involve counting, from 0 to 1."""
    match site.parent:
        case ast.Slice() | ast.Compare():
            return 1.0
        case ast.Subscript(slice=index):
            return 1.0 if index is site.node else 0.0
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=arguments) if (
            site.node in arguments
        ):
            return 1.0 if name in COUNTING else 0.55
        case ast.UnaryOp(op=ast.USub()) as negative if isinstance(
            site.source.parents.get(negative), ast.Subscript
        ):
            return 0.5  # `[-1]` is seldom written for `[-2]`
        case (
            ast.BinOp(op=ast.Add() | ast.Sub() | ast.FloorDiv() | ast.Mod() | ast.Mult())
            | ast.UnaryOp(op=ast.USub())
        ):
            return 0.8
        case ast.Return() | ast.Assign() | ast.AugAssign() | ast.keyword() | ast.IfExp() | ast.Tuple():
            return 0.65
    return 0.0


def _may_be_count(node: ast.expr) -> bool:
    match node:
        case ast.BinOp(op=op):
            return isinstance(op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv)
        case ast.Name(id=name):
            return name not in ("self", "cls", "None", "True", "False") and not name[:1].isupper()
    return True


def _is_count(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in COUNTING
        case ast.Name(id=name):
            return len(name) == 1 or any(
                part in name
                for part in ("count", "end", "index", "last", "len", "num", "pos", "size", "start", "stop")
            )
        case ast.BinOp():
            return True
    return False


# Missing modulo operations: calendars, clocks, alphabets, ring buffers.

COMMON_MODULI = ("2", "10", "7", "12", "24", "26", "60", "256", "360")
MOST_MODULI = 12


def wraparound(site: RewriteSite) -> Iterator[Rewrite]:
    """Take a sum or difference modulo a length, a constant of the file, or a common cycle."""
    node = site.node
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult)):
        return
    code = site.text_of(node)
    if any(letter in code for letter in "'\"[{\n") and not isinstance(site.parent, ast.Subscript):
        return
    for text, weight in _moduli(site)[:MOST_MODULI]:
        yield from site.replace(
            node, f"({code}) % {text}", weight=weight, summary=f"take the result modulo {text}"
        )


def _moduli(site: RewriteSite) -> list[tuple[str, float]]:
    weights = {text: 0.35 for text in _lengths(site)}
    weights |= {text: 0.3 for text in _constants(site.source)}
    for text in COMMON_MODULI:
        weights.setdefault(text, 0.15)
    return sorted(weights.items(), key=lambda pair: -pair[1])


def _lengths(site: RewriteSite) -> list[str]:
    """Return lengths that the class or function computes already, then those of what it indexes."""
    scope = next(
        (ancestor for ancestor in site.source.ancestors(site.node) if isinstance(ancestor, ast.ClassDef)),
        site.function or site.source.tree,
    )
    computed = [
        site.text_of(node)
        for node in find_nodes(scope, ast.Call)
        if isinstance(node.func, ast.Name) and node.func.id == "len"
    ]
    readable = {
        *local_names(site.source, site.node),
        *(f"self.{name}" for name in self_attribute_names(site.source, site.node)),
    }
    indexed = [
        f"len({site.text_of(node.value)})"
        for node in find_nodes(scope, ast.Subscript)
        if site.text_of(node.value) in readable
    ]
    return [text for text in dict.fromkeys([*computed, *indexed]) if text[4:-1] in readable][:5]


@lru_cache(maxsize=256)
def _constants(source: PythonSource) -> tuple[str, ...]:
    """Return numbers by which the file divides, and its upper-case integer constants."""
    texts: dict[str, None] = {}
    for node in ast.walk(source.tree):
        match node:
            case ast.BinOp(op=ast.Mod() | ast.FloorDiv(), right=ast.Constant(value=int() as number)):
                texts[str(number)] = None
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int())) if name.isupper():
                texts[name] = None
    return tuple(texts)[:6]


# Inverted conditions.


def negation(site: RewriteSite) -> Iterator[Rewrite]:
    """Add or drop a `not`, or test for None instead of truth; comparisons have operators of their own."""
    node = site.node
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield from site.replace(node, site.text_of(node.operand), weight=0.85, summary="drop a `not`")
        yield from _test_membership(site, node, node.operand, "not in")
        if isinstance(node.operand, ATOMIC_EXPRESSIONS):
            yield from site.replace(
                node,
                f"{site.text_of(node.operand)} is None",
                weight=0.4,
                summary="test for None, not for truth",
            )
        return
    if not is_condition(site.source, node) or not isinstance(node, ast.expr):
        yield from _default_only_for_none(site)
        return
    yield from _test_membership(site, node, node, "in")
    code = site.text_of(node)
    if not isinstance(node, ast.Compare):
        negated = f"not {code}" if isinstance(node, ATOMIC_EXPRESSIONS) else f"not ({code})"
        yield from site.replace(
            node, negated, weight=0.85 if not is_returned(site) else 0.4, summary="negate the condition"
        )
    match node:
        case ast.Name() | ast.Attribute() if not is_returned(site):
            yield from site.replace(
                node, f"{code} is not None", weight=0.45, summary="test for None, not for truth"
            )
        case ast.Compare(left=left, ops=[ast.Is() as op], comparators=[ast.Constant(value=None)]):
            yield from site.replace(
                node,
                f"not {site.text_of(left)}",
                weight=0.35,
                summary=f"test for truth, not with `{operator_name(op)}`",
            )
        case ast.Compare(left=left, ops=[ast.IsNot() as op], comparators=[ast.Constant(value=None)]):
            yield from site.replace(
                node,
                site.text_of(left),
                weight=0.35,
                summary=f"test for truth, not with `{operator_name(op)}`",
            )


def _test_membership(site: RewriteSite, node: ast.expr, tested: ast.expr, operator: str) -> Iterator[Rewrite]:
    """Test membership: `key in x` for `x.get(key)`, whose value may be empty or zero."""
    match tested:
        case ast.Call(func=ast.Attribute(value=holder, attr="get"), args=[key], keywords=[]):
            text = f"{site.text_of(key)} {operator} {site.text_of(holder)}"
            yield from site.replace(node, text, weight=0.5, summary=f"use `{operator}` instead of `get`")


def _default_only_for_none(site: RewriteSite) -> Iterator[Rewrite]:
    """Keep empty and zero values: `b if a is None else a` for `a or b`."""
    match site.node:
        case ast.BoolOp(
            op=ast.Or(), values=[ast.Name() | ast.Attribute() as preferred, ast.expr() as fallback]
        ):
            code, other = site.text_of(preferred), site.text_of(fallback)
            yield from site.replace(
                site.node,
                f"{other} if {code} is None else {code}",
                weight=0.6,
                summary=f"keep `{code}` unless it is None",
            )


def is_condition(source: PythonSource, node: ast.AST) -> bool:
    """Tell whether the truth value of a node is tested."""
    match source.parents.get(node):
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
            return test is node
        case ast.comprehension(ifs=conditions):
            return node in conditions
        case ast.BoolOp() as parent:
            return is_condition(source, parent)
        case ast.Return():
            return isinstance(node, ast.Compare | ast.BoolOp | ast.Call | ast.Name | ast.Attribute)
    return False


def is_returned(site: RewriteSite) -> bool:
    """Tell whether the node is a return value."""
    return isinstance(site.parent, ast.Return)


def operator_name(op: ast.cmpop) -> str:
    """Return the operator `is` or `is not` as text."""
    return "is" if isinstance(op, ast.Is) else "is not"


# Parentheses that are missing, superfluous, or around the wrong operands.


def grouping(site: RewriteSite) -> Iterator[Rewrite]:
    """Regroup operands: `(a + b) * c` for `a + b * c`, `f(a) * b` for `f(a * b)`."""
    yield from _move_out_of_call(site)
    match site.node:
        case ast.BinOp(left=left, right=ast.BinOp(left=middle, right=last)) as node:
            yield from _evaluate_leftmost_first(site, node)
            yield from _regroup_operands(site, node, left, middle, last, leftwards=True)
        case ast.BinOp(left=ast.BinOp(left=first, right=middle), right=last) as node:
            yield from _regroup_operands(site, node, first, middle, last, leftwards=False)
        case ast.BoolOp(values=[*_, ast.BoolOp(values=[middle, *_])]) as node:
            # In `a or b and c`: group the last outer value with the first inner one.
            yield from _regroup_conditions(site, node, node.values[-2], middle)


def _move_out_of_call(site: RewriteSite) -> Iterator[Rewrite]:
    """Move an operation on the last argument out of the call, and out of the calls around it."""
    node, call, text = site.node, site.parent, site.source.text
    if not isinstance(node, ast.BinOp):
        return
    operator = _operator_between(text, site.span(node.left)[1], site.span(node.right)[0])
    start, end = site.span(node)
    weight = 0.45
    while (
        operator
        and isinstance(call, ast.Call)
        and not call.keywords
        and text[end : site.span(call)[1]].strip(" )") == ""
    ):
        call_start, close = site.span(call)
        new = (
            f"{text[call_start:start]}{site.text_of(node.left)}{text[end:close]}"
            f" {operator} {_parenthesize(site, node.right)}"
        )
        yield from site.replace(call, new, weight=weight, summary="move the operation out of the call")
        call, weight = site.source.parents.get(call, site.source.tree), weight * 0.8


def _evaluate_leftmost_first(site: RewriteSite, node: ast.BinOp) -> Iterator[Rewrite]:
    """Evaluate the leftmost operation first: `(a - b) * c / d` for `a - b * c / d`."""
    part = node.right
    while isinstance(part, ast.BinOp):
        part = part.left
    start, end = site.span(node)[0], site.span(part)[1]
    if site.source.text[site.span(node.left)[1] : end].count("(") == site.text_of(part).count("("):
        changes = TextChange(start=start, end=start, text="("), TextChange(start=end, end=end, text=")")
        yield Rewrite(changes, 0.4, "add parentheses around the first operation")


def _regroup_operands(
    site: RewriteSite, node: ast.BinOp, first: ast.expr, middle: ast.expr, last: ast.expr, *, leftwards: bool
) -> Iterator[Rewrite]:
    text = site.source.text
    before = _operator_between(text, site.span(first)[1], site.span(middle)[0])
    after = _operator_between(text, site.span(middle)[1], site.span(last)[0])
    first_code, middle_code, last_code = (_parenthesize(site, part) for part in (first, middle, last))
    if before and after:
        new = (
            f"({first_code} {before} {middle_code}) {after} {last_code}"
            if leftwards
            else f"{first_code} {before} ({middle_code} {after} {last_code})"
        )
        yield from site.replace(node, new, weight=0.45, summary="regroup the operands")


def _regroup_conditions(
    site: RewriteSite, node: ast.BoolOp, left: ast.expr, right: ast.expr
) -> Iterator[Rewrite]:
    start, end = site.span(left)[0], site.span(right)[1]
    span, text = site.span(node), site.source.text
    if text[start:end].count("(") == text[start:end].count(")"):
        new = f"{text[span[0] : start]}({text[start:end]}){text[end : span[1]]}"
        yield from site.replace(node, new, weight=0.4, summary="regroup the conditions")


def _operator_between(text: str, start: int, end: int) -> str:
    """Return the text between two operands, without parentheses."""
    return text[start:end].replace("(", "").replace(")", "").strip()


def _parenthesize(site: RewriteSite, part: ast.expr) -> str:
    code = site.text_of(part)
    return (
        f"({code})"
        if isinstance(part, ast.BinOp | ast.BoolOp | ast.IfExp | ast.Compare | ast.Lambda)
        else code
    )


# Combined flags: one too few or one too many.

FLAG = re.compile(r"(?:\w+\.)+[A-Z][A-Z0-9_]*|[A-Z][A-Z0-9]*_[A-Z0-9_]+")
"""Matches `re.I`, `os.O_RDONLY`, `FLG_OPEN`."""
FLAG_PREFIX = re.compile(r"(?:\w+\.)+|[A-Z][A-Z0-9]*_")
"""The common prefix of flags that may be combined."""
MOST_FLAGS = 12
ADD_WEIGHT, DROP_WEIGHT, FIRST_FLAG_WEIGHT = 0.4, 0.4, 0.25


def flag(site: RewriteSite) -> Iterator[Rewrite]:
    """Add or drop a flag of `A_X | A_Y`; combine a single flag with another one of its kind."""
    node, parent = site.node, site.parent
    if not isinstance(node, ast.expr) or (isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.BitOr)):
        return
    present = _flags(site.source, node)
    combined = isinstance(node, ast.BinOp)
    if not present or not (combined or isinstance(parent, ast.Call | ast.keyword | ast.Return | ast.Assign)):
        return
    others = [name for name in _combinable(site.source).get(_kind(present[0]), ()) if name not in present]
    weight = ADD_WEIGHT if combined else FIRST_FLAG_WEIGHT
    for rank, name in enumerate(others[:MOST_FLAGS]):
        new = f"{site.text_of(node)} | {name}"
        yield from site.replace(node, new, weight=weight * 0.95**rank, summary=f"add the flag `{name}`")
    for dropped in present if combined else ():
        remaining = " | ".join(name for name in present if name != dropped)
        yield from site.replace(node, remaining, weight=DROP_WEIGHT, summary=f"drop the flag `{dropped}`")


def _flags(source: PythonSource, node: ast.expr) -> list[str]:
    """Return the flags that an expression combines, all of one kind; empty for any other expression."""
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            left_flags, right_flags = _flags(source, left), _flags(source, right)
            return (
                [*left_flags, *right_flags]
                if left_flags and right_flags and _kind(left_flags[0]) == _kind(right_flags[0])
                else []
            )
        case ast.Name() | ast.Attribute() if isinstance(node.ctx, ast.Load) and FLAG.fullmatch(
            name := source.text_of(node)
        ):
            return [name]
    return []


def _kind(name: str) -> str:
    prefix = FLAG_PREFIX.match(name)
    return prefix[0] if prefix else ""


@lru_cache(maxsize=256)
def _combinable(source: PythonSource) -> dict[str, tuple[str, ...]]:
    """Return the file's flags by kind, for the kinds that it combines."""
    expressions = [*find_nodes(source.tree, ast.expr)]
    combined_kinds = {
        _kind(flags[0])
        for node in expressions
        if isinstance(node, ast.BinOp) and (flags := _flags(source, node))
    }
    occurrences = [
        name
        for node in expressions
        if isinstance(node, ast.Name | ast.Attribute)
        for name in _flags(source, node)
    ]
    names = dict.fromkeys([*occurrences, *(name for name in module_names(source) if FLAG.fullmatch(name))])
    return {kind: tuple(name for name in names if _kind(name) == kind) for kind in combined_kinds}
