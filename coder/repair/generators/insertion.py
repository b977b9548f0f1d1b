"""Templates for missing statements, written by rule or copied from similar code."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product

from coder.python.source import Function, PythonSource, find_nodes, is_docstring
from coder.repair.generators.donor_code import DonorFragment, donor_statements, names_in_scope, proximity_of
from coder.repair.generators.names import UNDEFINED_NAME, UNKNOWN_ATTRIBUTE, find_in_messages
from coder.repair.generators.site import (
    CACHE_SIZE,
    Rewrite,
    RewriteSite,
    assigned_names,
    local_names,
    module_names,
    most_similar_names,
    names_never_read,
    parameter_names,
    replace_span,
)

# Missing simple statements.

EMPTY_VALUES = ("[]", "{}", "0", "None", "''", "set()", "False")
USAGE_PATTERNS: dict[str, str] = {
    "[]": r"\.(?:append|extend|insert)\(",
    "{}": r"(?:\[[^\]:]+\] = |\.(?:get|items|setdefault)\()",
    "0": r" (?:[-+]=|[<>=!]=|<|>) \d",
    "''": r"(?: (?:[=!]=|\+=) f?['\"]|\.(?:join|lower|split|startswith|strip)\()",
    "set()": r"\.(?:add|discard)\(",
    "False": r" = (?:True|False)\b",
}
"""Patterns of use that follow a name, by the initial value they suggest."""
COUNTER_VALUES = ("itertools.count()", "count()")
"""Initial values of an iterator that `next` is called on."""
MANGLED_PREFIX = re.compile(r"^_[^_]\w*?__(?=\w)")
"""The prefix that Python adds to private names."""
DEFAULTS = ("0", "1", "''", "[]", "{}", "False", "True")
CONVERSIONS = ("len", "min", "max", "sum", "sorted", "list", "set", "dict", "tuple", "str", "int", "iter")
"""Built-in functions that convert a single value."""
MOST_VALUES = 8
IN_LOOP_FACTOR = 0.6
"""Weight factor of an initialization in a loop: mostly it belongs before the loop."""


def inserted(site: RewriteSite) -> Iterator[Rewrite]:
    """Insert a simple statement, or replace `pass`: assign, store, return, continue."""
    node, function = site.node, site.function
    if not is_insertion_point(site) or function is None or not isinstance(node, ast.stmt):
        return
    in_loop = any(isinstance(item, ast.For | ast.While) for item in site.source.ancestors(node))
    lines = dict.fromkeys(_assignments_by_shared_word(site, function), 0.5) | dict(
        _initializations(site, node, function, IN_LOOP_FACTOR if in_loop else 1.0)
    )
    if isinstance(node, ast.Pass) or node is function.body[-1]:
        lines |= {
            f"return {name}": 0.45 * 0.95**rank for rank, name in enumerate(local_names(site.source, node))
        }
    unread_names = names_never_read(function)
    for name in (item for item in parameter_names(function) if item in unread_names):
        lines |= (
            {f"self.{name} = {name}": _store_weight(site, function, name)}
            if site.source.owner_class(function)
            else {}
        )
        lines |= {
            f"{other}.{method}({name})": 0.3
            for other in assigned_names(function)[:4]
            for method in ("append", "add", "update", "extend")
        }
    lines |= (
        dict.fromkeys(_collecting_statements(site, function), 0.6)
        | dict.fromkeys(_adding_statements(site), 0.8)
        | dict.fromkeys(_setter_assignments(site, function), 0.9)
    )
    for table, key in _unfilled_tables(site.source):
        values = [name for name in local_names(site.source, node) if name != key][:MOST_VALUES]
        lines |= {f"{table}[{key}] = {value}": 0.6 * 0.9**rank for rank, value in enumerate(values)}
    if in_loop and isinstance(node, ast.Pass):
        lines |= {"continue": 0.5, "break": 0.5}
    for line, weight in lines.items():
        yield from insert_statement(site, node, [line], weight=weight)


def _store_weight(site: RewriteSite, function: Function, name: str) -> float:
    """Return the weight of storing a parameter: lower outside of constructors if it is stored elsewhere."""
    is_stored_elsewhere = f"self.{name} = " in site.source.text and function.name not in _constructor_names(
        site.source
    )
    return 0.2 if is_stored_elsewhere else 0.6


def _initializations(
    site: RewriteSite, node: ast.stmt, function: Function, factor: float
) -> Iterator[tuple[str, float]]:
    """Yield initializations of an undefined variable, or of a missing attribute."""
    code, function_code = site.text_of(node), site.text_of(function)
    for name in find_in_messages(site.failures, UNDEFINED_NAME):
        if isinstance(node, ast.Pass) or re.search(rf"\b{name}\b", code):
            yield from (
                (f"{name} = {value}", 0.9 * factor * 0.93**rank)
                for rank, value in enumerate(_first_values(name, function_code))
            )
            conversions = enumerate(_values_from_unread(site, function, name))
            yield from ((f"{name} = {value}", 0.7 * factor * 0.97**rank) for rank, value in conversions)
    missing_names = (
        find_in_messages(site.failures, UNKNOWN_ATTRIBUTE)
        if function.name in _constructor_names(site.source)
        else ()
    )
    for name in (MANGLED_PREFIX.sub("__", name) for name in missing_names):
        read = re.search(rf"\bself\.{name}\b", site.source.text)
        if read and (isinstance(node, ast.Pass) or node is function.body[-1] or read[0] in code):
            counters = COUNTER_VALUES if f"next(self.{name})" in site.source.text else ()
            values = enumerate((*counters, *_first_values(f"self.{name}", site.source.text)))
            yield from ((f"self.{name} = {value}", 0.9 * factor * 0.93**rank) for rank, value in values)


@lru_cache(maxsize=CACHE_SIZE)
def _first_values(name: str, text: str) -> tuple[str, ...]:
    """Return possible initial values, those that fit the use of the name first."""
    name_pattern = rf"\b{re.escape(name)}\b"
    fitting = {value for value, usage in USAGE_PATTERNS.items() if re.search(name_pattern + usage, text)}
    fitting |= {"''"} if re.search(rf"['\"] (?:[=!]=|\+|in) {name_pattern}", text) else set()
    return tuple(sorted(EMPTY_VALUES, key=lambda value: value not in fitting))


@lru_cache(maxsize=256)
def _constructor_names(source: PythonSource) -> frozenset[str]:
    constructors = [function for function in source.functions if function.name == "__init__"]
    called_names = {
        name for function in constructors for name in re.findall(r"\bself\.(\w+)\(", source.text_of(function))
    }
    return frozenset({"__init__", *called_names})


def _values_from_unread(site: RewriteSite, function: Function, name: str) -> Iterator[str]:
    """Yield expressions over unread variables: the value, a member of it, or a conversion."""
    for value in names_never_read(function):
        yield from (value, f'{value}["{name}"]', f"{value}.{name}", f'{value}.get("{name}")')
        yield from (f'{value}.get("{name}", {default})' for default in DEFAULTS)
        yield from (f"{maker}({value})" for maker in sorted(CONVERSIONS, key=lambda maker: maker not in name))
        for maker in (local for local in local_names(site.source, site.node) if local not in (name, value)):
            yield from (f"{maker}({value})", f"{maker}(**{value})", f"{maker}(*{value})")


def _setter_assignments(site: RewriteSite, function: Function) -> Iterator[str]:
    """Yield assignments of a property setter's argument to the attribute that the getter returns."""
    for decorator in function.decorator_list:
        match decorator, parameter_names(function):
            case ast.Attribute(value=ast.Name(id=name), attr="setter"), [argument]:
                getters = [
                    candidate
                    for candidate in site.source.functions
                    if candidate.name == name and candidate is not function
                ]
                own_getters = [
                    getter
                    for getter in getters
                    if site.source.owner_class(getter) is site.source.owner_class(function)
                ]
                attributes = dict.fromkeys(
                    attributes
                    for candidate in own_getters
                    for attributes in re.findall(r"\bself\._\w+\b(?!\()", site.text_of(candidate))
                )
                attributes |= {
                    site.text_of(returned): None
                    for candidate in own_getters
                    if (returned := _returned_attribute(candidate))
                }
                yield from (
                    f"{candidate} = {argument}"
                    for candidate in attributes
                    if candidate not in site.text_of(function)
                )


def _returned_attribute(function: Function) -> ast.expr | None:
    """Return the attribute or subscript that a function returns last, if any."""
    match function.body[-1]:
        case ast.Return(value=ast.Attribute() | ast.Subscript() as value):
            return value
    return None


def _collecting_statements(site: RewriteSite, function: Function) -> Iterator[str]:
    """Yield statements for an empty branch that collect what its condition tests."""
    branches = (
        [ancestor for ancestor in site.source.ancestors(site.node) if isinstance(ancestor, ast.If)]
        if isinstance(site.node, ast.Pass)
        else []
    )
    if not branches:
        return
    names = local_names(site.source, site.node)
    tested = [
        name.id for name in ast.walk(branches[0].test) if isinstance(name, ast.Name) and name.id in names
    ]
    subscripts = [site.text_of(ancestor.slice) for ancestor in find_nodes(function, ast.Subscript)]
    keys = [key for key in subscripts if key[0] in "'\""]
    for node in ast.walk(branches[-1]):
        match node:
            case ast.Call(func=ast.Attribute(attr="append" | "add" | "extend") as method, args=[_]):
                for name in dict.fromkeys(tested):
                    values = (name, *(f"{name}[{key}]" for key in dict.fromkeys(keys)))
                    yield from (f"{site.text_of(method)}({value})" for value in values)


def _assignments_by_shared_word(site: RewriteSite, function: Function) -> Iterator[str]:
    """Yield assignments, in place of `pass`, of a variable whose name shares a word with the target."""
    names = local_names(site.source, site.node) if isinstance(site.node, ast.Pass) else ()
    for target, value in product(assigned_names(function), names):
        if target != value and {*target.split("_")} & {*value.split("_")} - {""}:
            yield f"{target} = {value}"


def _adding_statements(site: RewriteSite) -> Iterator[str]:
    """Yield statements, in place of `pass`, that add what is not in a collection."""
    for node in (
        ast.walk(site.parent.test)
        if isinstance(site.node, ast.Pass) and isinstance(site.parent, ast.If)
        else ()
    ):
        match node:
            case ast.Compare(left=missing, ops=[ast.NotIn()], comparators=[container]):
                yield from (
                    f"{site.text_of(container)}.{method}({site.text_of(missing)})"
                    for method in ("append", "add")
                )


@lru_cache(maxsize=256)
def _unfilled_tables(source: PythonSource) -> tuple[tuple[str, str], ...]:
    """Return attributes that hold a dictionary which is read but never filled, with the keys' names."""
    initialized: set[str] = set()
    read: dict[tuple[str, str], None] = {}
    filled: set[str] = set()
    for node in ast.walk(source.tree):
        match node:
            case ast.Assign(targets=[ast.Attribute() as table], value=ast.Dict(keys=[])):
                initialized.add(source.text_of(table))
            case ast.Subscript(value=ast.Attribute() as table, slice=ast.Name(id=key), ctx=ast.Load()):
                read[source.text_of(table), key] = None
            case ast.Subscript(value=ast.Attribute() as table, ctx=ast.Store()):
                filled.add(source.text_of(table))
            case ast.Call(func=ast.Attribute(value=ast.Attribute() as table)):
                filled.add(source.text_of(table))
    return tuple((table, key) for table, key in read if table in initialized - filled)


def insert_statement(
    site: RewriteSite, node: ast.stmt, lines: Sequence[str], *, weight: float
) -> Iterator[Rewrite]:
    """Insert lines before or after a statement, or replace `pass`."""
    summary = f"add `{lines[0][:50]}`"
    if isinstance(node, ast.Pass):
        start, end = site.span(node)
        indent = site.source.indent(node)
        if not indent.strip():
            yield replace_span(
                start,
                end,
                f"{site.source.line_end}{indent}".join(lines),
                weight=weight * 1.3,
                summary=summary,
            )
        return
    if not lines[0].startswith(("return", "raise")):
        yield from site.insert_before(node, lines, weight=weight, summary=summary)
    if site.source.enclosing_block(node)[-1] is node and not isinstance(
        node, ast.Return | ast.Raise | ast.Break | ast.Continue
    ):
        yield from site.insert_after(node, lines, weight=weight * 0.95, summary=summary)


def is_insertion_point(site: RewriteSite) -> bool:
    """Tell whether a statement can be inserted at the site."""
    return isinstance(site.node, ast.stmt) and site.node is not site.function and not is_docstring(site.node)


# Missing statements that occur in similar places: copied, or adapted to this one.

MOST_COPIES, MAX_REPLACEMENTS = 60, 180
"""Number of copies at one place, and in place of `pass`."""
CACHE_SIZE = 4096
MAX_RENAMINGS = 3
COPY = 0.3
OCCURRENCE_BONUS, MAX_OCCURRENCES = 0.04, 5
"""Weight added for each further occurrence of a statement in the file, and their maximum number."""
READS_UNREAD_FACTOR = 1.3
"""Weight factor of a statement that reads a name which is bound here and not read."""
SAME_PREDECESSOR_FACTOR = 1.5
"""Weight factor of a statement whose predecessor is the same as here."""
MIN_MODULE_NAME_SIMILARITY, MIN_VARIABLE_SIMILARITY = 0.6, 0.5
"""Minimum similarity of names for substituting one for the other."""
OPPOSITE_STEP_FACTOR = 2.0
"""Weight factor of the opposite of a statement that occurs in one direction only."""


def copied(site: RewriteSite) -> Iterator[Rewrite]:
    """Copy a statement of the same function, class or file, or insert its opposite."""
    node, function = site.node, site.function
    if not is_insertion_point(site) or function is None or not isinstance(node, ast.stmt):
        return
    owner = site.source.owner_class(function)
    visible_names = names_in_scope(site.source, function)
    locals_here = local_names(site.source, node)
    siblings = {site.text_of(sibling) for sibling in site.source.enclosing_block(node)}
    unread_names = frozenset(names_never_read(function))
    before = _preceding_statement(site.source, node)
    weights: dict[str, float] = {}
    for piece in donor_statements(site.source):
        if not _is_allowed_at(piece, site, node, function):
            continue
        base_weight = (
            COPY
            * proximity_of(piece, function, owner)
            * (1.4 if isinstance(node, ast.Pass) else 1.0)
            * _frequency_factor(piece, site.source)
        )
        base_weight *= READS_UNREAD_FACTOR if piece.names & unread_names else 1.0
        base_weight *= (
            SAME_PREDECESSOR_FACTOR
            if before and before == _preceding_statement(site.source, piece.node)
            else 1.0
        )
        for text, weight in (
            *_adapt_names(piece, visible_names, locals_here),
            *_index_instead_of_unpacking(piece, site, visible_names),
            *_adapt_function_name(piece, function, visible_names),
            *_adapt_to_condition(piece, site),
            *_repeat_for_similar_name(piece, site, locals_here),
            *_repeat_for_next_index(piece, site),
            *_adapt_attribute_assignment(piece, unread_names),
            *_adapt_module_name(piece, site, visible_names),
        ):
            if text not in siblings:
                weights[text] = max(weights.get(text, 0.0), base_weight * weight)
            if (opposite := _opposite_step(piece, text)) and opposite not in site.source.text:
                weights[opposite] = max(
                    weights.get(opposite, 0.0), OPPOSITE_STEP_FACTOR * base_weight * weight
                )
    limit = MAX_REPLACEMENTS if isinstance(node, ast.Pass) else MOST_COPIES
    for text in sorted(weights, key=lambda text: (-weights[text], text))[:limit]:
        yield from insert_statement(site, node, text.split("\n"), weight=weights[text])


def _adapt_names(
    piece: DonorFragment, visible_names: frozenset[str], candidates: Sequence[str]
) -> Iterator[tuple[str, float]]:
    """Yield a fragment with at most one unreadable name, which is replaced by a similar one."""
    foreign = sorted(piece.names - visible_names)
    if not foreign:
        yield piece.text, 1.0
    if len(foreign) == 1:
        for name, ratio in most_similar_names(
            foreign[0], tuple(candidates), max_count=MAX_RENAMINGS, min_similarity=0.0
        ):
            yield _replace_name(piece.text, foreign[0], name), 0.5 + 0.4 * ratio


def _replace_name(text: str, name: str, replacement: str) -> str:
    """Replace a name in a piece of code, but not attributes."""
    return re.sub(rf"(?<![\w.]){name}\b", replacement, text)


@lru_cache(maxsize=CACHE_SIZE)
def _preceding_statement(source: PythonSource, node: ast.AST) -> str:
    """Return the assigned targets or the text of the statement before another in its block.

    Empty for the first statement.
    """
    if not isinstance(node, ast.stmt):
        return ""
    block = source.enclosing_block(node)
    position = block.index(node)
    match block[position - 1] if position else None:
        case None:
            return ""
        case ast.Assign(targets=targets):
            return ", ".join(map(source.text_of, targets))
        case previous:
            return source.text_of(previous)


def _frequency_factor(piece: DonorFragment, source: PythonSource) -> float:
    """Return a weight factor that grows with the number of occurrences in the file."""
    return 1 + OCCURRENCE_BONUS * min(MAX_OCCURRENCES, _count_statements(source)[piece.text] - 1)


@lru_cache(maxsize=256)
def _count_statements(source: PythonSource) -> Counter[str]:
    return Counter(piece.text for piece in donor_statements(source))


def _adapt_attribute_assignment(
    piece: DonorFragment, unread_names: frozenset[str]
) -> Iterator[tuple[str, float]]:
    """Yield an attribute assignment adapted to an unread name.

    Example: `self.b = b or []` for `self.a = a or []`.
    """
    match piece.node:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value) if (
            not isinstance(value, ast.Name)
        ):
            if name in piece.names:
                yield from (
                    (re.sub(rf"\b{name}\b", other, piece.text), 1.4)
                    for other in sorted(unread_names - {name})
                )


def _adapt_module_name(
    piece: DonorFragment, site: RewriteSite, visible_names: frozenset[str]
) -> Iterator[tuple[str, float]]:
    """Yield a fragment of another function with a module-level name replaced by one used here."""
    if piece.function in (None, site.function) or site.function is None or piece.names - visible_names:
        return
    other_names, own_names = (
        _module_names_read(site.source, piece.function),
        _module_names_read(site.source, site.function),
    )
    for name in sorted(other_names - own_names):
        for replacement, ratio in most_similar_names(
            name,
            tuple(sorted(own_names - other_names)),
            max_count=1,
            min_similarity=MIN_MODULE_NAME_SIMILARITY,
        ):
            if (text := _replace_name(piece.text, name, replacement)) != piece.text:
                yield text, 0.5 + ratio


@lru_cache(maxsize=1024)
def _module_names_read(source: PythonSource, function: Function) -> frozenset[str]:
    read = {node.id for node in find_nodes(function, ast.Name)}
    return frozenset(read & {*module_names(source)})


@lru_cache(maxsize=1024)
def _module_names_unread(source: PythonSource, function: Function) -> tuple[str, ...]:
    """Return the module-level names that a function does not read."""
    return tuple(name for name in module_names(source) if name not in _module_names_read(source, function))


def _repeat_for_similar_name(
    piece: DonorFragment, site: RewriteSite, candidates: tuple[str, ...]
) -> Iterator[tuple[str, float]]:
    """Yield a statement repeated for another variable with a similar name: `b = b.strip()`.

    Also for module-level names that the function does not read.
    """
    for name in sorted(piece.names) if piece.function is site.function else ():
        for other, ratio in most_similar_names(
            name, candidates, max_count=1, min_similarity=MIN_VARIABLE_SIMILARITY
        ):
            yield _replace_name(piece.text, name, other), 0.5 + 0.4 * ratio
    if piece.function is site.function is not None:
        mentioned = {node.id for node in find_nodes(piece.node, ast.Name)}
        for name in sorted(mentioned & _module_names_read(site.source, site.function)):
            for other, ratio in most_similar_names(
                name,
                _module_names_unread(site.source, site.function),
                max_count=1,
                min_similarity=MIN_MODULE_NAME_SIMILARITY,
            ):
                yield _replace_name(piece.text, name, other), 0.4 + 0.4 * ratio


def _repeat_for_next_index(piece: DonorFragment, site: RewriteSite) -> Iterator[tuple[str, float]]:
    """Yield a statement repeated for another element of the same sequence: `a[1]` after `a[0]`."""
    for match in re.finditer(r"\[(\d)\]", piece.text) if piece.function is site.function else ():
        for step, weight in ((1, 0.8), (2, 0.7), (-1, 0.6)):
            if (number := int(match[1]) + step) >= 0:
                yield f"{piece.text[: match.start(1)]}{number}{piece.text[match.end(1) :]}", weight


def _adapt_function_name(
    piece: DonorFragment, function: Function, visible_names: frozenset[str]
) -> Iterator[tuple[str, float]]:
    """Yield a fragment that mentions its own function, with the name of this one.

    Example: `"minor is readonly"` for `"major is readonly"`.
    """
    name = piece.function.name if piece.function else ""
    if (
        name not in ("", function.name)
        and piece.names <= visible_names
        and (text := re.sub(rf"\b{name}\b", function.name, piece.text)) != piece.text
    ):
        yield text, 1.2


def _adapt_to_condition(piece: DonorFragment, site: RewriteSite) -> Iterator[tuple[str, float]]:
    """Yield a statement from under a condition that differs in one word, with the word replaced.

    If they differ as `FG_COLORS` and `BG_COLORS` do, the lower-case part is replaced as well.
    """
    tests = [
        next(
            (ancestor.test for ancestor in site.source.ancestors(node) if isinstance(ancestor, ast.If)), None
        )
        for node in (piece.node, site.node)
    ]
    other_tokens, own_tokens = (re.findall(r"\w+|\W", site.text_of(test)) if test else [] for test in tests)
    differences = {pair for pair in zip(other_tokens, own_tokens, strict=False) if pair[0] != pair[1]}
    if len(other_tokens) == len(own_tokens) and len(differences) == 1:
        word, replacement = differences.pop()
        if not (word + replacement).replace("_", "").isalnum():
            return
        if (text := re.sub(rf"\b{word}\b", replacement, piece.text)) != piece.text:
            yield text, 1.3
            parts = {
                pair
                for pair in zip(word.split("_"), replacement.split("_"), strict=False)
                if pair[0] != pair[1]
            }
            for part, other in parts if len(parts) == 1 else ():
                yield re.sub(rf"(?<![^\W_]){part.lower()}(?![^\W_])", other.lower(), text), 1.2


def _index_instead_of_unpacking(
    piece: DonorFragment, site: RewriteSite, visible_names: frozenset[str]
) -> Iterator[tuple[str, float]]:
    """Yield a fragment over variables that a loop unpacks, with indexed elements instead."""
    match loop := site.source.find_ancestor(piece.node, ast.For):
        case ast.For(target=ast.Tuple(elts=targets)) if all(
            isinstance(target, ast.Name) for target in targets
        ):
            names = [site.text_of(target) for target in targets]
        case _:
            return
    if (
        site.function is None
        or loop in site.source.ancestors(site.node)
        or not {*names} & piece.names
        or piece.names - {*names} - visible_names
    ):
        return
    for sequence in _indexed_names(site.function):
        text = piece.text
        for index, name in enumerate(names):
            text = _replace_name(text, name, f"{sequence}[{index}]")
        yield text, 0.8


@lru_cache(maxsize=1024)
def _indexed_names(function: Function) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for node in ast.walk(function):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int()), ctx=ast.Load()):
                names[name] = None
    return tuple(names)


def _opposite_step(piece: DonorFragment, text: str) -> str:
    """Return the opposite of an increment or decrement; empty for other statements."""
    match piece.node:
        case ast.AugAssign(op=ast.Add()):
            return text.replace("+=", "-=", 1)
        case ast.AugAssign(op=ast.Sub()):
            return text.replace("-=", "+=", 1)
    return ""


def _is_allowed_at(piece: DonorFragment, site: RewriteSite, node: ast.stmt, function: Function) -> bool:
    match piece.node:
        case ast.Break() | ast.Continue():
            return False
        case ast.Return(value=value):
            # What follows a return is unreachable: only as the last statement, or instead of `pass`.
            return value is not None and (
                isinstance(node, ast.Pass) or site.source.enclosing_block(node)[-1] is node
            )
        case ast.Expr(value=ast.Yield() | ast.YieldFrom()):
            return any(isinstance(descendant, ast.Yield | ast.YieldFrom) for descendant in ast.walk(function))
    return True
