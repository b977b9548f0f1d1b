"""Missing statements that occur in similar places: copied, or adapted to this one."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from coder.python.source import Function, PythonSource
from coder.repair.context.donor_code import DonorFragment, donor_statements, names_in_scope, proximity_of
from coder.repair.context.scope import local_names, module_names, most_similar_names, names_never_read
from coder.repair.context.site import Rewrite, RewriteSite
from coder.repair.generators.statements.insertion import insert_statement, is_insertion_point

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
    siblings = {site.source.text_of(sibling) for sibling in site.source.enclosing_block(node)}
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
        case _:
            pass


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
    """Return the module-level names that a function reads."""
    read = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
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
        mentioned = {node.id for node in ast.walk(piece.node) if isinstance(node, ast.Name)}
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
    other_tokens, own_tokens = (
        re.findall(r"\w+|\W", site.source.text_of(test)) if test else [] for test in tests
    )
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
    match loop := next(
        (ancestor for ancestor in site.source.ancestors(piece.node) if isinstance(ancestor, ast.For)), None
    ):
        case ast.For(target=ast.Tuple(elts=targets)) if all(
            isinstance(target, ast.Name) for target in targets
        ):
            names = [site.source.text_of(target) for target in targets]
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
    """Return names that the function indexes with integer constants."""
    names: dict[str, None] = {}
    for node in ast.walk(function):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int()), ctx=ast.Load()):
                names[name] = None
            case _:
                pass
    return tuple(names)


def _opposite_step(piece: DonorFragment, text: str) -> str:
    """Return the opposite of an increment or decrement; empty for other statements."""
    match piece.node:
        case ast.AugAssign(op=ast.Add()):
            return text.replace("+=", "-=", 1)
        case ast.AugAssign(op=ast.Sub()):
            return text.replace("-=", "+=", 1)
        case _:
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
        case _:
            return True
