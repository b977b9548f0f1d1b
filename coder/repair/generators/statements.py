"""Templates for statements: order, nesting, assignment, return."""

import ast
import textwrap
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from coder.core.ports import TextChange
from coder.python.source import Function, PythonSource, find_nodes, first_statement, is_docstring
from coder.repair.generators.donor_code import donor_statements, names_in_scope
from coder.repair.generators.site import Rewrite, RewriteSite, local_names, replace_span, self_attribute_names

# Statements in the wrong order or block, and superfluous statements.

MOST_MANAGERS = 3
LOOPS = (ast.For, ast.While, ast.AsyncFor)


def statement_order(site: RewriteSite) -> Iterator[Rewrite]:
    node = site.node
    if (
        not isinstance(node, ast.stmt)
        or site.function is None
        or site.node is site.function
        or is_docstring(node)
    ):
        return
    block = site.source.enclosing_block(node)
    place = block.index(node)
    if place + 1 < len(block) and _are_separate(site, node, block[place + 1]):
        weight = 0.4 if not isinstance(node, ast.Return | ast.Raise) else 0.1
        yield from site.swap_expressions(node, block[place + 1], weight=weight, summary="swap two statements")


def indentation(site: RewriteSite) -> Iterator[Rewrite]:
    """Move a statement out of or into a block, or a statement of one branch behind both."""
    node = site.node
    if not isinstance(node, ast.stmt) or site.function is None or site.source.indent(node).strip():
        return
    parent = site.parent
    block = site.source.enclosing_block(node)
    if (
        isinstance(parent, (*LOOPS, ast.If, ast.With))
        and not getattr(parent, "orelse", [])
        and len(block) > 1
        and block[-1] is node
    ):
        yield from _move_statement(site, node, site.source.indent(parent), 0.5, "out of the block")
    place = block.index(node)
    before = block[place - 1] if place else None
    if isinstance(before, (*LOOPS, ast.If, ast.With)) and not getattr(before, "orelse", []):
        yield from _move_statement(
            site, node, site.source.indent(before.body[-1]), 0.35, "into the block before"
        )
    if isinstance(node, ast.If) and node.orelse:
        yield from _move_behind_branches(site, node)


def begun_again(site: RewriteSite) -> Iterator[Rewrite]:
    """Move an initialization from the start of a loop's body to before the loop."""
    match site.node, site.parent:
        case ast.Assign(targets=[ast.Name()], value=value) as node, ast.For() | ast.While() as loop if (
            loop.body[0] is node and loop.body[1:]
        ):
            is_initial_value = isinstance(value, ast.Constant | ast.List | ast.Dict | ast.Set) or (
                isinstance(value, ast.Call) and not value.args
            )
            indent = site.source.indent(loop)
            if is_initial_value and not indent.strip() and not site.source.indent(node).strip():
                start, _ = site.span(loop)
                before = TextChange(
                    start=start, end=start, text=f"{site.text_of(node)}{site.source.line_end}{indent}"
                )
                yield Rewrite(
                    (before, _remove_statement(site, node)),
                    0.6,
                    f"move `{site.text_of(node)[:40]}` before the loop",
                )


def exchanged(site: RewriteSite) -> Iterator[Rewrite]:
    """Swap in one statement: `a, b = b, a` for `a = b` followed by `b = a`."""
    node = site.node
    block = site.source.enclosing_block(node) if isinstance(node, ast.Assign) else []
    following = block[block.index(node) + 1] if node in block[:-1] else None
    match node, following:
        case ast.Assign(targets=[first_target], value=first_value), ast.Assign(
            targets=[second_target], value=second_value
        ):
            texts = [site.text_of(part) for part in (first_target, first_value, second_target, second_value)]
            if texts[0] == texts[3] and texts[1] == texts[2]:
                start, end = site.span(node)[0], site.span(following)[1]
                new = f"{texts[0]}, {texts[1]} = {texts[1]}, {texts[0]}"
                yield replace_span(start, end, new, weight=1.2, summary="swap both values at once")


def _move_behind_branches(site: RewriteSite, node: ast.If) -> Iterator[Rewrite]:
    """Move a statement of one branch behind the whole `if`."""
    _, end = site.span(node)
    for block in (node.body, node.orelse):
        for statement in block if len(block) > 1 else ():
            code = site.text_of(statement)
            if isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr) and "\n" not in code:
                after = TextChange(
                    start=end, end=end, text=f"{site.source.line_end}{site.source.indent(node)}{code}"
                )
                yield Rewrite(
                    (_remove_statement(site, statement), after), 0.3, f"run `{code[:40]}` in both branches"
                )


def enclosed(site: RewriteSite) -> Iterator[Rewrite]:
    """Wrap a statement in a `with` that the file uses elsewhere."""
    node, function = site.node, site.function
    if (
        function is None
        or not isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.Delete | ast.Return)
        or is_docstring(node)
    ):
        return
    code, indent = site.text_of(node), site.source.indent(node)
    enclosing_headers = {
        _with_header(site.source, ancestor)
        for ancestor in site.source.ancestors(node)
        if isinstance(ancestor, ast.With)
    }
    for rank, (text, names) in enumerate(_with_headers(site.source)):
        if (
            names <= names_in_scope(site.source, function)
            and text not in enclosing_headers
            and "\n" not in code
            and not indent.strip()
        ):
            new = f"{text}{site.source.line_end}{indent}    {code}"
            start, end = site.span(node)
            yield replace_span(start, end, new, weight=0.3 * 0.9**rank, summary=f"wrap in `{text[:40]}`")


def deletion(site: RewriteSite) -> Iterator[Rewrite]:
    """Remove a simple statement: rarely right, but often enough to satisfy a weak test."""
    node = site.node
    if (
        not isinstance(
            node, ast.Assign | ast.AugAssign | ast.Expr | ast.Return | ast.Raise | ast.Break | ast.Continue
        )
        or site.function is None
    ):
        return
    if is_docstring(node) or site.source.indent(node).strip():
        return
    start, end = site.span(node)
    first_line = site.text_of(node).split("\n")[0]
    if len(site.source.enclosing_block(node)) == 1:
        yield replace_span(start, end, "pass", weight=0.2, summary=f"replace `{first_line[:40]}` with `pass`")
    else:
        yield Rewrite((_remove_statement(site, node),), 0.25, f"remove `{first_line[:40]}`")


@lru_cache(maxsize=256)
def _with_headers(source: PythonSource) -> list[tuple[str, frozenset[str]]]:
    """Return the most common `with` headers without targets, with the names that they read."""
    statements = [
        node
        for node in find_nodes(source.tree, ast.With)
        if all(not with_item.optional_vars for with_item in node.items)
    ]
    counts = Counter(_with_header(source, node) for node in statements)
    reads = {_with_header(source, node): _names_read(node) for node in statements}
    return [(text, reads[text]) for text, _ in counts.most_common(MOST_MANAGERS)]


def _with_header(source: PythonSource, node: ast.With) -> str:
    return f"with {', '.join(source.text_of(with_item.context_expr) for with_item in node.items)}:"


def _names_read(node: ast.With) -> frozenset[str]:
    return frozenset(entry.id for with_item in node.items for entry in find_nodes(with_item, ast.Name))


def _remove_statement(site: RewriteSite, node: ast.stmt) -> TextChange:
    """Remove a statement.

    The change starts at the end of the previous statement if there is one, so that it lies within the
    function's body.
    """
    start, end = site.span(node)
    block = site.source.enclosing_block(node)
    position = block.index(node)
    if position and _are_separate(site, block[position - 1], node):
        return TextChange(start=site.span(block[position - 1])[1], end=end, text="")
    return TextChange(
        start=start,
        end=site.span(block[position + 1])[0] if position + 1 < len(block) else end,
        text="",
    )


def _move_statement(
    site: RewriteSite, node: ast.stmt, indent: str, weight: float, where: str
) -> Iterator[Rewrite]:
    """Give all lines of a statement another indent."""
    first, _ = site.source.line_span(node)
    _, end = site.span(node)
    old = site.source.text[first:end]
    plain = textwrap.dedent(old)
    new = "".join(indent + line if line.strip() else line for line in plain.splitlines(keepends=True))
    if new != old and '"""' not in old and "'''" not in old:
        yield replace_span(first, end, new, weight=weight, summary=f"move a statement {where}")


def _are_separate(site: RewriteSite, first: ast.stmt, second: ast.stmt) -> bool:
    """Tell whether two statements are on separate lines with only white space between them."""
    between = site.source.text[site.span(first)[1] : site.span(second)[0]]
    return not between.strip() and "\n" in between and not site.source.indent(first).strip()


# Wrong values in assignments: values used elsewhere, running minimum and maximum.

MOST = 6


def kept_best(site: RewriteSite) -> Iterator[Rewrite]:
    """Add or drop a running extreme: `best = max(best, x)` for `best = x`, and `x` for `max(a, x)`."""
    match site.node:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() | ast.Subscript() as target], value=value) if (
            _may_be_number(value)
        ):
            old, new = site.text_of(target), site.text_of(value)
            if "\n" not in new:
                for name, weight in (("max", 0.3), ("min", 0.3)):
                    yield from site.replace(
                        value,
                        f"{name}({old}, {new})",
                        weight=weight,
                        summary=f"keep the {name} in `{old[:30]}`",
                    )
        case ast.Call(func=ast.Name(id="max" | "min" as name), args=[first, second], keywords=[]) as node:
            for operand in (first, second):
                yield from site.replace(node, site.text_of(operand), weight=0.3, summary=f"drop the `{name}`")


def given_elsewhere(site: RewriteSite) -> Iterator[Rewrite]:
    """Use the value that the same variable is assigned, or the function returns, at another place."""
    node, function = site.node, site.function
    if (
        function is None
        or not isinstance(node, ast.Assign | ast.AugAssign | ast.Return)
        or node.value is None
    ):
        return
    own_target, visible_names = _assigned_target(site, node), names_in_scope(site.source, function)
    values: dict[str, None] = {}
    for statement in ast.walk(function):
        if (
            statement is not node
            and isinstance(statement, ast.Assign | ast.Return)
            and statement.value is not None
            and _assigned_target(site, statement) == own_target
        ):
            reads = {name.id for name in find_nodes(statement.value, ast.Name)}
            if reads <= visible_names:
                values[site.text_of(statement.value)] = None
    for rank, text in enumerate([text for text in values if "\n" not in text][:MOST]):
        action = "return" if own_target == "return" else f"set `{own_target[:30]}` to"
        yield from site.replace(
            node.value, text, weight=0.45 * 0.95**rank, summary=f"{action} `{text[:40]}` as elsewhere"
        )


def given_by_sibling(site: RewriteSite) -> Iterator[Rewrite]:
    """Use the value that a variable of the same name is assigned in another function of the file."""
    node, function = site.node, site.function
    if function is None or not isinstance(node, ast.Assign):
        return
    own_target, visible_names = _assigned_target(site, node), names_in_scope(site.source, function)
    values: dict[str, None] = {}
    for piece in donor_statements(site.source):
        if (
            isinstance(piece.node, ast.Assign)
            and piece.function is not function
            and _assigned_target(site, piece.node) == own_target
            and piece.names <= visible_names
        ):
            values[site.text_of(piece.node.value)] = None
    for rank, text in enumerate([text for text in values if "\n" not in text][:MOST]):
        yield from site.replace(
            node.value,
            text,
            weight=0.5 * 0.9**rank,
            summary=f"set `{own_target[:30]}` to `{text[:40]}` as its sibling does",
        )


def _assigned_target(site: RewriteSite, node: ast.Assign | ast.AugAssign | ast.Return) -> str:
    match node:
        case ast.Return():
            return "return"
        case ast.Assign(targets=targets):
            return " = ".join(site.text_of(target) for target in targets)
    return site.text_of(node.target)


def _may_be_number(value: ast.expr) -> bool:
    return isinstance(value, ast.BinOp | ast.Call | ast.Name | ast.Subscript)


# Missing steps: filling a collection, incrementing a counter, updating a variable.

ADDING_METHODS = {"list": ("append", "extend"), "deque": ("append", "appendleft"), "set": ("add", "update")}
INITIAL_VALUES = ("None", "True", "False", "0", "1", "''", "[]")
MOST_NAMES = 6
PASS_FACTOR, LOOP_END_FACTOR = 1.0, 0.4
"""Weight factors of a step in place of `pass`, and after the last statement of a loop."""


def step(site: RewriteSite) -> Iterator[Rewrite]:
    """Fill an empty collection, increment a counter, or assign another variable's value."""
    node, function = site.node, site.function
    if function is None or not isinstance(node, ast.stmt) or node is function or is_docstring(node):
        return
    is_last_in_loop = (
        isinstance(site.parent, ast.For | ast.While) and site.source.enclosing_block(node)[-1] is node
    )
    if not isinstance(node, ast.Pass) and not is_last_in_loop:
        return
    for line, weight in {
        **dict(_simple_assignments(site) if isinstance(node, ast.Pass) else ()),
        **dict(_steps(site, function)),
    }.items():
        if isinstance(node, ast.Pass):
            start, end = site.span(node)
            yield replace_span(start, end, line, weight=weight * PASS_FACTOR, summary=f"add `{line[:50]}`")
        elif not isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Continue):
            yield from site.insert_after(
                node, [line], weight=weight * LOOP_END_FACTOR, summary=f"add `{line[:50]}`"
            )


def _steps(site: RewriteSite, function: Function) -> Iterator[tuple[str, float]]:
    names = local_names(site.source, site.node)
    values = [name for name in _loop_variables_first(site, names) if name not in ("self", "cls")][:MOST_NAMES]
    for name, kind in _initial_types(site, function).items():
        other_values = [value for value in values if value != name]
        for rank, value in enumerate(other_values):
            for method_rank, method in enumerate(ADDING_METHODS.get(kind, ())):
                yield f"{name}.{method}({value})", 0.5 * 0.9**rank * 0.7**method_rank
            if kind == "dict":
                yield f"{name}[{value}] = {name}.get({value}, 0) + 1", 0.25 * 0.9**rank
                yield from (
                    (f"{name}[{value}] = {other}", 0.35 * 0.9**rank)
                    for other in other_values
                    if other != value
                )
            if kind in ("int", "float", "str"):
                yield f"{name} += {value}", 0.3 * 0.9**rank
        if kind == "int":
            yield f"{name} += 1", 0.5
            yield f"{name} -= 1", 0.35


def _simple_assignments(site: RewriteSite) -> Iterator[tuple[str, float]]:
    """Yield assignments of a constant or another name to a variable or an attribute of self."""
    names = local_names(site.source, site.node)[:MOST_NAMES]
    attributes = [f"self.{name}" for name in self_attribute_names(site.source, site.node)[:MOST_NAMES]]
    for name in (*names, *attributes):
        for rank, value in enumerate((*INITIAL_VALUES, *names, *attributes)):
            if value != name:
                yield f"{name} = {value}", 0.25 * 0.97**rank


def _initial_types(site: RewriteSite, function: Function) -> dict[str, str]:
    """Return the type name of each variable's first value."""
    types: dict[str, str] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value) if (
                kind := _type_name(value)
            ) is not None:
                types.setdefault(site.text_of(target), kind)
    return types


def _type_name(value: ast.expr) -> str | None:
    match value:
        case ast.List() | ast.ListComp():
            return "list"
        case ast.Dict() | ast.DictComp():
            return "dict"
        case ast.Set() | ast.SetComp():
            return "set"
        case ast.Constant(value=bool() | None):
            return None
        case ast.Constant(value=int() | float() | str() as constant):
            return type(constant).__name__
        case ast.Call(func=ast.Name(id="list" | "dict" | "set" | "deque" | "int" | "str" as name)):
            return name
    return None


def _loop_variables_first(site: RewriteSite, names: tuple[str, ...]) -> list[str]:
    """Return the variables, those of enclosing loops first: they are the likeliest values to store."""
    loops = [
        ancestor.target for ancestor in site.source.ancestors(site.node) if isinstance(ancestor, ast.For)
    ]
    loop_variables = [node.id for target in loops for node in find_nodes(target, ast.Name)]
    return list(dict.fromkeys([*loop_variables, *names]))


# Wrong return values: none where one is expected, the wrong variable, a return that comes too early.

RETURNING_SELF = frozenset({"__enter__", "__iter__", "__aenter__", "__aiter__"})
EXCEPTION_SUFFIXES = ("Error", "Exception")
RETURNED_VALUES = ("None", "True", "False", "[]", "0", "''")


def missing_return(site: RewriteSite) -> Iterator[Rewrite]:
    """Return the value of a discarded call, or a variable at the function's end."""
    node = site.node
    if not isinstance(node, ast.stmt) or site.function is None:
        return
    yield from _return_itself(site, node)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        start, _ = site.span(node)
        weight = 0.7 if site.source.enclosing_block(node)[-1] is node else 0.3
        yield replace_span(start, start, "return ", weight=weight, summary="return the result of the call")
        match node.value:
            case ast.Call(func=ast.Name(id="print"), args=[printed], keywords=[]):
                _, end = site.span(node)
                change = TextChange(start=start, end=end, text=f"return {site.text_of(printed)}")
                yield Rewrite((change,), 0.5, "return it instead of printing it")
    yield from _return_opposite(site, site.function, node)
    yield from _return_after_loop(site, node)
    if _ends(site.function, node) and not isinstance(node, ast.Return | ast.Raise):
        returns_value = any(
            isinstance(descendant, ast.Return) and descendant.value is not None
            for descendant in ast.walk(site.function)
        )
        for rank, name in enumerate(reversed(local_names(site.source, node))):
            weight = (0.35 if returns_value else 0.7) * 0.93**rank
            yield from site.insert_after(node, [f"return {name}"], weight=weight, summary=f"return `{name}`")


def _return_itself(site: RewriteSite, node: ast.stmt) -> Iterator[Rewrite]:
    """Return a nested function or self at the end; raise an exception that is only created."""
    outer = site.parent
    if isinstance(node, Function) and isinstance(outer, Function) and outer.body[-1] is node:
        yield from site.insert_after(
            node, [f"return {node.name}"], weight=1.2, summary=f"return `{node.name}`"
        )
    method = site.function if site.source.owner_class(site.function) else None
    if method and _ends(method, node) and not isinstance(node, ast.Return | ast.Raise):
        returns_self = method.name in RETURNING_SELF
        if returns_self or any("NoneType" in failure.message for failure in site.failures):
            yield from site.insert_after(
                node, ["return self"], weight=1.5 if returns_self else 0.4, summary="return `self`"
            )
    match node:
        case (
            ast.Expr(value=ast.Call(func=ast.Name(id=name)))
            | ast.Return(value=ast.Call(func=ast.Name(id=name)))
        ) if name.endswith(EXCEPTION_SUFFIXES):
            start, _ = site.span(node)
            end = site.span(node.value)[0] if node.value else start
            yield replace_span(start, end, "raise ", weight=1.0, summary=f"raise the {name}")


def _return_opposite(site: RewriteSite, function: Function, node: ast.stmt) -> Iterator[Rewrite]:
    """Return the opposite at the end of a function that returns only True or only False."""
    returns = (descendant.value for descendant in find_nodes(function, ast.Return))
    constants = {value.value if isinstance(value, ast.Constant) else None for value in returns}
    if (
        _ends(function, node)
        and isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.Try)
        and len(constants) == 1
    ):
        for truth in (descendant for descendant in constants if isinstance(descendant, bool)):
            yield from site.insert_after(
                node, [f"return {not truth}"], weight=0.8, summary=f"return {not truth} otherwise"
            )


def _return_after_loop(site: RewriteSite, node: ast.stmt) -> Iterator[Rewrite]:
    """Move a return in the `else` of a loop's condition behind the loop."""
    match node:
        case ast.For(
            body=[*_, ast.If(body=[*_, ast.Return()], orelse=[ast.Return() as otherwise]) as last], orelse=[]
        ):
            text = site.source.text
            start, end = site.span(last.body[-1])[1], site.span(otherwise)[1]
            if text[start:end].lstrip().startswith("else"):
                line = f"{site.source.line_end}{site.source.indent(node)}{site.text_of(otherwise)}"
                yield replace_span(start, end, line, weight=0.8, summary="return it after the loop")


def returned_value(site: RewriteSite) -> Iterator[Rewrite]:
    """Return another variable or a constant."""
    node = site.node
    if not isinstance(node, ast.Return):
        return
    start, end = site.span(node)
    for rank, name in enumerate(local_names(site.source, node)):
        if not isinstance(node.value, ast.Name):
            yield from _return_value(start, end, name, 0.3 * 0.95**rank)
    for value in RETURNED_VALUES:
        if node.value is None or not isinstance(node.value, ast.Constant):
            yield from _return_value(start, end, value, 0.12)


def _return_value(start: int, end: int, value: str, weight: float) -> Iterator[Rewrite]:
    yield replace_span(start, end, f"return {value}", weight=weight, summary=f"return `{value}`")


def _ends(function: Function, statement: ast.stmt) -> bool:
    return function.body[-1] is statement


# Mutable objects shared by elements, keys or instances that need their own.

MUTABLE_LITERALS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


def shared(site: RewriteSite) -> Iterator[Rewrite]:
    """Create separate objects: `[[] for _ in range(n)]` for `[[]] * n`.

    Likewise for `dict.fromkeys` and for mutable class attributes.
    """
    code = site.text_of
    match site.node:
        case ast.BinOp(left=ast.List(elts=[element]), op=ast.Mult(), right=count) if _is_mutable(element):
            yield from site.replace(
                site.node,
                f"[{code(element)} for _ in range({code(count)})]",
                weight=1.0,
                summary="create a separate object for each element",
            )
        case ast.Call(func=ast.Attribute(value=ast.Name(id="dict"), attr="fromkeys"), args=[keys, value]) if (
            _is_mutable(value)
        ):
            text = f"{{key: {code(value)} for key in {code(keys)}}}"
            yield from site.replace(
                site.node, text, weight=1.0, summary="create a separate object for each key"
            )
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_mutable(value) and isinstance(
            site.parent, ast.ClassDef
        ):
            yield from _move_to_constructor(site, site.node, site.parent, f"self.{name} = {code(value)}")


def _is_mutable(node: ast.expr) -> bool:
    match node:
        case ast.BinOp(left=left, op=ast.Mult()):
            return _is_mutable(left)
        case ast.Call(func=ast.Name(id="list" | "dict" | "set")):
            return True
    return isinstance(node, MUTABLE_LITERALS)


def _move_to_constructor(
    site: RewriteSite, assignment: ast.Assign, owner: ast.ClassDef, line: str
) -> Iterator[Rewrite]:
    """Move a class attribute to the constructor; create one that calls the parents' if there is none."""
    summary, source = f"set `{line[:40]}` in the constructor", site.source
    constructor = next(
        (
            statement
            for statement in owner.body
            if isinstance(statement, Function) and statement.name == "__init__"
        ),
        None,
    )
    indent, (start, end) = source.indent(assignment), source.span(assignment)
    first = first_statement(constructor) if constructor else None
    if first is not None:
        yield from RewriteSite(source, first, site.failures).insert_before(
            first, [line], weight=0.7, summary=summary
        )
    elif constructor is None and not indent.strip():
        inner_indent = f"{indent}    " if "\t" not in indent else f"{indent}\t"
        has_no_parents = not owner.bases and not owner.keywords
        header = "def __init__(self):" if has_no_parents else "def __init__(self, *args, **kwargs):"
        body = [line] if has_no_parents else ["super().__init__(*args, **kwargs)", line]
        text = f"{source.line_end}{inner_indent}".join([header, *body])
        yield replace_span(start, end, text, weight=0.7, summary=summary)
