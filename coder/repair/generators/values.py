"""Templates for values: constants, literals, indices, slices, comprehensions, similar expressions."""

import ast
import re
from bisect import bisect
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache
from heapq import nlargest

from coder.core.ports import TextChange
from coder.core.verdict import Failure
from coder.python.source import PythonSource, find_nodes, is_docstring, parse_expression
from coder.repair.generators.donor_code import donor_conditions, names_bound_in, names_in_scope, proximity_of
from coder.repair.generators.names import find_in_messages
from coder.repair.generators.operators import is_condition
from coder.repair.generators.site import (
    ATOMIC_EXPRESSIONS,
    Rewrite,
    RewriteSite,
    local_names,
    parameters_never_read,
    replace_span,
    self_attribute_names,
)

# Wrong literals: numbers, booleans, None.

MAX_NEARBY_INTEGERS = 12
EMPTY = ("0", "''", "[]", "{}", "()", "False", "True")


def constant(site: RewriteSite) -> Iterator[Rewrite]:
    """Use another number that is common or occurs nearby, the other boolean, or an empty value for None."""
    node = site.node
    if not isinstance(node, ast.Constant):
        return
    match node.value:
        case bool() as value:
            yield from _replace_literal(site, str(not value), 0.9)
            is_identity_test = isinstance(site.parent, ast.Compare) and isinstance(
                site.parent.ops[-1], ast.Is | ast.IsNot
            )
            yield from _replace_literal(site, "None", 0.8 if is_identity_test else 0.25)
        case int() as value:
            yield from _other_integers(site, value)
        case float() as value:
            for number in (
                value * 10,
                value / 10,
                value + 1,
                value - 1,
                value * 2,
                value / 2,
                0.0,
                1.0,
                -value,
            ):
                yield from _replace_literal(site, repr(number), 0.4)
        case None:
            for text in EMPTY:
                yield from _replace_literal(site, text, 0.3)
        case str() as value if not isinstance(site.parent, ast.Expr | ast.JoinedStr | ast.FormattedValue):
            yield from _replace_literal(site, "''" if value else "' '", 0.3)


def initial(site: RewriteSite) -> Iterator[Rewrite]:
    """Change an initial value: 0 or 1, an empty value of another type, an infinity."""
    match site.node:
        case (
            ast.Assign(targets=[ast.Name() | ast.Attribute()], value=value)
            | ast.AnnAssign(value=ast.expr() as value)
        ):
            pass
        case _:
            return
    match value:
        case ast.Constant(value=bool() | str() | None):
            return
        case ast.Constant(value=int() as number):
            for new in (1 - number if number in (0, 1) else 0, -1, "float('inf')", "float('-inf')", "None"):
                yield from site.replace(
                    value, str(new), weight=0.7 if isinstance(new, int) else 0.3, summary=f"start with {new}"
                )
        case ast.List(elts=[]) | ast.Dict(keys=[]) | ast.Tuple(elts=[]):
            for new in ("[]", "{}", "set()", "()", "''", "0", "None"):
                yield from site.replace(value, new, weight=0.35, summary=f"start with `{new}`")
        case ast.Call(func=ast.Name(id=name), args=[], keywords=[]):
            for new in ("list", "dict", "set", "tuple", "str", "int"):
                if name in ("list", "dict", "set", "tuple", "str", "int", "deque"):
                    yield from site.replace(value, f"{new}()", weight=0.3, summary=f"start with `{new}()`")


def _other_integers(site: RewriteSite, value: int) -> Iterator[Rewrite]:
    weights = {
        0: 0.6,
        1: 0.6,
        2: 0.45,
        -1: 0.4,
        -value: 0.4,
        value * 10: 0.35,
        value // 10: 0.25,
        value * 2: 0.3,
        value // 2: 0.25,
    }
    weights |= {
        number: 0.4
        for number in _smallest_integers(site.function or site.source.tree)
        if number not in weights
    }
    # `boundary` offers +1 and -1 where counting is likely; this offers them anywhere.
    weights |= {
        value + 1: max(weights.get(value + 1, 0), 0.5),
        value - 1: max(weights.get(value - 1, 0), 0.5),
    }
    for number, weight in weights.items():
        yield from _replace_literal(site, str(number), weight)


@lru_cache(maxsize=1024)
def _smallest_integers(scope: ast.AST) -> list[int]:
    return sorted({node.value for node in find_nodes(scope, ast.Constant) if type(node.value) is int})[
        :MAX_NEARBY_INTEGERS
    ]


def _replace_literal(site: RewriteSite, new: str, weight: float) -> Iterator[Rewrite]:
    if isinstance(site.parent, ast.stmt) and is_docstring(site.parent):
        return
    node = site.node
    yield from site.replace(node, new, weight=weight, summary=f"use {new} instead of {site.text_of(node)}")


# Constants in place of a variable, and numbers that an assertion asks for.

NUMBER_COMPARISON = re.compile(
    r"(?:^|assert )(-?\d+(?:\.\d+)?) (?:==|!=) (-?\d+(?:\.\d+)?)\s*$", re.MULTILINE
)
MOST_NAMES = 10
UNREAD_PARAMETER_WEIGHT = 0.8
"""Weight of a parameter that nothing reads."""
SAME_NAME_WEIGHT = 0.9
"""Weight of a variable whose name is the text of the literal."""


def named_value(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace a constant with a variable or an attribute; a constant condition is left to `unconditional`."""
    node = site.node
    if not isinstance(node, ast.Constant) or isinstance(site.parent, ast.Expr | ast.JoinedStr | ast.If):
        return
    weight, unused_parameters = _position_weight(site), parameters_never_read(site.function)
    for rank, name in enumerate(local_names(site.source, node)[:MOST_NAMES]):
        if (
            name_weight := UNREAD_PARAMETER_WEIGHT
            if name in unused_parameters
            else SAME_NAME_WEIGHT
            if name == node.value
            else weight * 0.95**rank
        ):
            summary = f"use `{name}` instead of {site.text_of(node)[:20]}"
            yield from site.replace(node, name, weight=name_weight, summary=summary)
    if isinstance(site.parent, ast.Call | ast.keyword):
        for rank, name in enumerate(self_attribute_names(site.source, node)[:MOST_NAMES]):
            summary = f"use `self.{name}` instead of {site.text_of(node)[:20]}"
            yield from site.replace(node, f"self.{name}", weight=0.3 * 0.95**rank, summary=summary)


def asserted_number(site: RewriteSite) -> Iterator[Rewrite]:
    """Adjust a number by the difference or the ratio of the seen and the expected value of an assertion."""
    node = site.node
    if (
        not isinstance(node, ast.Constant)
        or isinstance(node.value, bool)
        or not isinstance(node.value, int | float)
    ):
        return
    weights: dict[float, float] = {}
    for left, right in differing_numbers(site.failures):
        for actual, expected in ((left, right), (right, left)):
            weights[node.value + expected - actual] = 0.4
            if node.value == actual:
                weights[expected] = 0.45
            if actual and node.value and (node.value * expected / actual) % 1 == 0:
                weights.setdefault(node.value * expected / actual, 0.35)
    for number, weight in weights.items():
        text = (
            str(int(number)) if number == int(number) and isinstance(node.value, int) else repr(float(number))
        )
        yield from site.replace(
            node, text, weight=weight, summary=f"use {text} instead of {site.text_of(node)}"
        )


def differing_numbers(failures: tuple[Failure, ...]) -> list[tuple[float, float]]:
    """Return pairs of numbers that assertions found to differ."""
    return [
        (float(left), float(right))
        for failure in failures
        for left, right in NUMBER_COMPARISON.findall(failure.message)
    ]


def _position_weight(site: RewriteSite) -> float:
    match site.parent:
        case ast.Call(args=arguments):
            return 0.4 if site.node in arguments else 0.0
        case ast.keyword():
            return 0.4
        case ast.Compare() | ast.BinOp() | ast.Subscript() | ast.Slice():
            return 0.3
        case ast.Return() | ast.Assign(targets=[ast.Name() | ast.Attribute() | ast.Subscript()]):
            return 0.25
    return 0.0


# Indices in the wrong order, missing, or superfluous.


def index_order(site: RewriteSite) -> Iterator[Rewrite]:
    """Swap two indices: `grid[y][x]` for `grid[x][y]`, and `grid[y, x]` for `grid[x, y]`."""
    match site.node:
        case ast.Subscript(slice=ast.Tuple(elts=[first, second])):
            yield from site.swap_expressions(first, second, weight=0.6, summary="swap two indices")
        case ast.Subscript(value=ast.Subscript(slice=first), slice=second) if not isinstance(
            first, ast.Slice | ast.Tuple
        ):
            if not isinstance(second, ast.Slice | ast.Tuple):
                yield from site.swap_expressions(first, second, weight=0.6, summary="swap two indices")


def element(site: RewriteSite) -> Iterator[Rewrite]:
    """Add or remove an index: `x[0]` or `x[-1]` for `x`, and `x` for `x[i]`."""
    node = site.node
    match node, site.parent:
        case ast.Subscript(slice=ast.Constant() | ast.Name() | ast.UnaryOp(), ctx=ast.Load()), _:
            yield from site.replace(
                node, site.text_of(node.value), weight=0.3, summary="use the whole value, not one element"
            )
    match node, site.parent:
        case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()), ast.Call(args=arguments) if (
            node in arguments
        ):
            weight = 0.3 if len(arguments) == 1 else 0.2
        case ast.Name(ctx=ast.Load()) | ast.Attribute(
            ctx=ast.Load()
        ) | ast.Call(), ast.Return() | ast.Assign() | ast.Compare():
            weight = 0.2
        case _:
            return
    for index, position, likelihood in (("0", "first", 1.0), ("-1", "last", 0.8)):
        yield from site.replace(
            node,
            f"{site.text_of(node)}[{index}]",
            weight=weight * likelihood,
            summary=f"use the {position} element",
        )


# Wrong slice bounds, missing and superfluous slices, the wrong end of a sequence.

TOO_MANY_VALUES = re.compile(r"too many values to unpack \(expected (\d+)")

NEUTRAL_ELEMENTS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "0"),
    ast.Sub: ("-", "0"),
    ast.Mult: ("*", "1"),
}
INITIAL_VALUES = {
    "append": "[]",
    "extend": "[]",
    "insert": "[]",
    "add": "set()",
    "update": "{}",
    "setdefault": "{}",
    "get": "{}",
}
"""Initial value of a missing entry, by the method that is called on it."""


def slicing(site: RewriteSite) -> Iterator[Rewrite]:
    """Drop, add or move a slice bound; use `[-1]` for `[0]`; reverse the step."""
    node = site.node
    if not (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)):
        return
    value = site.text_of(node.value)
    match node.slice:
        case ast.Slice() as bounds:
            for text, weight in _other_bounds(site, bounds):
                yield from site.replace(
                    node,
                    f"{value}[{text}]",
                    weight=weight,
                    summary=f"use `[{text}]` instead of `[{_slice_text(site, bounds)}]`",
                )
            yield from site.replace(node, value, weight=0.3, summary=f"use all of `{value[:40]}`")
        case ast.Constant(value=0):
            yield from site.replace(
                node.slice, "-1", weight=0.7, summary="use the last element instead of the first"
            )
            if any(failure.type == "IndexError" for failure in site.failures):
                yield from site.replace(node.slice, ":1", weight=0.6, summary="use at most the first element")
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
            yield from site.replace(
                node.slice, "0", weight=0.7, summary="use the first element instead of the last"
            )


def slice_missing(site: RewriteSite) -> Iterator[Rewrite]:
    """Drop the first or last element of a sequence, or reverse it."""
    node = site.node
    match node, site.parent:
        case ast.Name() | ast.Attribute(), ast.For(iter=iterable) | ast.comprehension(
            iter=iterable
        ) | ast.Return(value=iterable) if iterable is node:
            pass
        case ast.Name() | ast.Attribute(), ast.Call(args=arguments) if node in arguments:
            pass
        case _:
            return
    for text, weight in (("[1:]", 0.35), ("[:-1]", 0.35), ("[::-1]", 0.3)):
        yield from site.replace(
            node, f"{site.text_of(node)}{text}", weight=weight, summary=f"slice with `{text}`"
        )


def unpacked(site: RewriteSite) -> Iterator[Rewrite]:
    """Slice before unpacking: `a, b = x[:2]` for `a, b = x` if there were too many values."""
    match site.node:
        case ast.Assign(targets=[ast.Tuple(elts=names) | ast.List(elts=names)], value=value):
            count = len(names)
        case _:
            return
    if str(count) in find_in_messages(site.failures, TOO_MANY_VALUES):
        code = site.text_of(value)
        operand = code if isinstance(value, ATOMIC_EXPRESSIONS) else f"({code})"
        for text, weight in ((f"[:{count}]", 0.9), (f"[-{count}:]", 0.5)):
            yield from site.replace(value, f"{operand}{text}", weight=weight, summary=f"slice with `{text}`")


def lookup(site: RewriteSite) -> Iterator[Rewrite]:
    """Allow for a missing key after a KeyError: `x.get(key)`, `x.setdefault(key, [])`."""
    node = site.node
    is_key_missing = any(failure.type == "KeyError" for failure in site.failures)
    if is_key_missing:
        yield from _initialize_entry(site)
    if (
        is_key_missing
        and isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and not isinstance(node.slice, ast.Slice)
    ):
        value, key = site.text_of(node.value), site.text_of(node.slice)
        for default, weight in (("", 0.6), (", 0", 0.4), (", []", 0.3), (", ''", 0.3)):
            yield from site.replace(
                node,
                f"{value}.get({key}{default})",
                weight=weight,
                summary=f"allow `{key[:30]}` to be missing",
            )


def _initialize_entry(site: RewriteSite) -> Iterator[Rewrite]:
    """Initialize what is counted or collected under a key."""
    match site.node, site.parent:
        case ast.AugAssign(target=ast.Subscript(value=table, slice=key), op=op, value=value), _ if (
            type(op) in NEUTRAL_ELEMENTS
        ):
            start, end = site.span(site.node)[0], site.span(value)[0]
            sign, neutral = NEUTRAL_ELEMENTS[type(op)]
            table_code, key_code = site.text_of(table), site.text_of(key)
            text = f"{table_code}[{key_code}] = {table_code}.get({key_code}, {neutral}) {sign} "
            yield replace_span(
                start, end, text, weight=0.9, summary=f"start with {neutral} if `{key_code[:30]}` is missing"
            )
        case ast.Subscript(value=table, slice=key), ast.Attribute(attr=method) if method in INITIAL_VALUES:
            arguments = f"{site.text_of(key)}, {INITIAL_VALUES[method]}"
            text = f"{site.text_of(table)}.setdefault({arguments})"
            yield from site.replace(
                site.node,
                text,
                weight=0.9,
                summary=f"start with `{INITIAL_VALUES[method]}` if the key is missing",
            )


def _other_bounds(site: RewriteSite, bounds: ast.Slice) -> Iterator[tuple[str, float]]:
    lower, upper, step = (
        site.text_of(part) if part else "" for part in (bounds.lower, bounds.upper, bounds.step)
    )
    tail = f":{step}" if step else ""
    if lower:
        yield f":{upper}{tail}", 0.5
        yield f":{lower}{tail}", 0.55 if not upper else 0.3
    if upper:
        yield f"{lower}:{tail}", 0.5
        yield f"{upper}:{tail}", 0.55 if not lower else 0.3
    if lower and upper:
        yield f"{upper}:{lower}{tail}", 0.3
    if not lower:
        yield f"1:{upper}{tail}", 0.5
    if not upper:
        yield f"{lower}:-1{tail}", 0.5
    if step:
        reversed_step = step[1:] if step.startswith("-") else f"-{step}"
        yield f"{lower}:{upper}:{reversed_step}", 0.4
        yield f"{lower}:{upper}", 0.4
    elif not lower and not upper:
        yield "::-1", 0.4


def _slice_text(site: RewriteSite, bounds: ast.Slice) -> str:
    lower, upper, step = (
        site.text_of(part) if part else "" for part in (bounds.lower, bounds.upper, bounds.step)
    )
    return f"{lower}:{upper}" + (f":{step}" if step else "")


# Missing filters in comprehensions, swapped loops, and clean-up of split strings.

ELEMENTWISE_PARENTS = (ast.Subscript, ast.Attribute, ast.comprehension)
"""Parents that use the parts of a split string one by one: the clean-up belongs there."""


def sifted(site: RewriteSite) -> Iterator[Rewrite]:
    """Filter a comprehension or swap its loops; clean up the parts of `s.split(',')`."""
    match site.node:
        case (
            ast.ListComp(generators=[loop])
            | ast.SetComp(generators=[loop])
            | ast.GeneratorExp(generators=[loop])
        ) if not loop.ifs:
            if isinstance(loop.target, ast.Name):
                end = site.span(loop.iter)[1]
                for text, weight in (
                    (loop.target.id, 0.35),
                    (f"{loop.target.id} is not None", 0.3),
                    (f"{loop.target.id}.strip()", 0.2),
                ):
                    yield replace_span(end, end, f" if {text}", weight=weight, summary=f"filter by `{text}`")
        case (
            ast.ListComp(generators=[outer, inner])
            | ast.SetComp(generators=[outer, inner])
            | ast.GeneratorExp(generators=[outer, inner])
        ):
            places = [site.span(part) for part in (outer.target, outer.iter, inner.target, inner.iter)]
            texts = [site.source.text[start:end] for start, end in (*places[2:], *places[:2])]
            changes = (
                TextChange(start=start, end=end, text=text)
                for (start, end), text in zip(places, texts, strict=True)
            )
            yield Rewrite(tuple(changes), 0.6, "swap the order of the loops")
        case ast.Call(func=ast.Attribute(attr="split"), args=[_]) as call if not isinstance(
            site.parent, ELEMENTWISE_PARENTS
        ):
            code = site.text_of(call)
            for part, rest, weight in (
                ("part.strip()", "", 0.3),
                ("part", " if part", 0.3),
                ("part.strip()", " if part.strip()", 0.12),
            ):
                text = f"[{part} for part in {code}{rest}]"
                yield from site.replace(
                    call, text, weight=weight, summary=f"use `{part}` for each{rest and ' non-empty'} part"
                )


# Similar expressions of the same file: conditions, calls, and other parts.

MOST_SIMILAR = 12
MOST_EXPRESSIONS = 6
MIN_SIMILARITY = 0.6
MAX_COMPARED_PER_SIDE = 50
"""Number of expressions to compare on each side of the current one: a table holds thousands."""
COPYABLE_TYPES = (ast.Call, ast.BinOp, ast.Subscript, ast.Compare, ast.Attribute)


def other_condition(site: RewriteSite) -> Iterator[Rewrite]:
    """Use a condition from elsewhere in the file: instead of this one, or combined with it."""
    node = site.node
    if (
        not is_condition(site.source, node)
        or isinstance(site.parent, ast.BoolOp | ast.Return)
        or not isinstance(node, ast.expr)
    ):
        return
    function = site.function
    visible_names = names_in_scope(site.source, function)
    code = site.text_of(node)
    own_text = f"({code})" if isinstance(node, ast.BoolOp | ast.IfExp | ast.Lambda | ast.NamedExpr) else code
    weights: dict[str, float] = {}
    for piece in donor_conditions(site.source):
        if piece.names <= visible_names and piece.text not in (code, own_text) and "\n" not in piece.text:
            proximity = proximity_of(piece, function, site.source.owner_class(function))
            weights[piece.text] = max(
                weights.get(piece.text, 0.0), proximity * (1.0 if piece.names & _names_read(node) else 0.6)
            )
    for other in sorted(weights, key=lambda text: (-weights[text], text))[:MOST_SIMILAR]:
        weight, other_text = weights[other], _parenthesize(other)
        yield from site.replace(node, other, weight=0.3 * weight, summary=f"check `{other[:40]}`")
        for new, rank in (
            (f"{own_text} and {other_text}", 0.33),
            (f"{other_text} or {own_text}", 0.31),
            (f"{other_text} and {own_text}", 0.3),
            (f"{own_text} or {other_text}", 0.3),
        ):
            yield from site.replace(node, new, weight=rank * weight, summary=f"also check `{other[:40]}`")


LONGEST = 100
"""Characters of an expression that is replaced by a similar one."""
LONGEST_SIMILAR = LONGEST * 3 // 2
"""Characters of expressions that can be similar to such a one."""


def similar(site: RewriteSite) -> Iterator[Rewrite]:
    """Use a similar expression of the same kind from elsewhere in the file."""
    node = site.node
    if not isinstance(node, COPYABLE_TYPES) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return
    code = site.text_of(node)
    if not 6 <= len(code) <= LONGEST or (isinstance(site.parent, ast.Call) and site.parent.func is node):
        return
    visible_names = names_in_scope(site.source, site.function)
    scored: dict[str, float] = {}
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(code)
    lines, texts = _expressions(site.source)[type(node)]
    position = bisect(lines, getattr(node, "lineno", 0))
    for text, names in texts[max(0, position - MAX_COMPARED_PER_SIDE) : position + MAX_COMPARED_PER_SIDE]:
        if text != code and names <= visible_names and abs(len(text) - len(code)) <= 0.5 * len(code):
            matcher.set_seq1(text)
            least = (
                nlargest(MOST_EXPRESSIONS, scored.values())[-1]
                if len(scored) >= MOST_EXPRESSIONS
                else MIN_SIMILARITY
            )
            if matcher.quick_ratio() >= least and (ratio := matcher.ratio()) >= least:
                scored[text] = ratio
    for text in sorted(scored, key=lambda text: (-scored[text], text))[:MOST_EXPRESSIONS]:
        yield from site.replace(
            node, text, weight=0.4 * scored[text], summary=f"use `{text[:40]}` as elsewhere"
        )


@lru_cache(maxsize=256)
def _expressions(
    source: PythonSource,
) -> dict[type[ast.AST], tuple[list[int], list[tuple[str, frozenset[str]]]]]:
    """Return the file's expressions by node type: their first lines, and their texts.

    Each text comes with the local names that it reads.
    """
    nodes_by_text: dict[type[ast.AST], dict[str, ast.expr]] = {kind: {} for kind in COPYABLE_TYPES}
    for node in ast.walk(source.tree):
        if (
            isinstance(node, COPYABLE_TYPES)
            and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
            and node.lineno == node.end_lineno
            and (node.end_col_offset or 0) - node.col_offset <= LONGEST_SIMILAR * 4  # bytes
        ):
            nodes_by_text[type(node)].setdefault(source.text_of(node), node)
    result = {}
    for kind, texts in nodes_by_text.items():
        ordered = sorted(texts.items(), key=lambda pair: pair[1].lineno)
        names = [
            (text, _names_read(node) & names_bound_in(source, source.enclosing_function(node)))
            for text, node in ordered
        ]
        result[kind] = ([node.lineno for _, node in ordered], names)
    return result


def _names_read(node: ast.AST) -> frozenset[str]:
    return frozenset(descendant.id for descendant in find_nodes(node, ast.Name))


def _parenthesize(text: str) -> str:
    return f"({text})" if isinstance(parse_expression(text), ast.BoolOp | ast.IfExp | ast.Lambda) else text
