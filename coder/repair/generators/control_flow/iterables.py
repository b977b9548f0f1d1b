"""Wrong iterables: a number for a range, elements for indices, a generator that is consumed once."""

import ast
import re
from collections.abc import Iterator

from coder.core.ports import TextChange
from coder.repair.context.site import Rewrite, RewriteSite
from coder.repair.generators.names.suggestions import find_in_messages

NOT_STR_ERROR = re.compile(r"(expected str instance|expected a bytes-like object)")
INT_NOT_ITERABLE = re.compile(r"('int' object is not iterable)")
INDEX_TYPE_ERROR = re.compile(r"(indices must be integers|cannot unpack non-iterable)")
WEIGHT_WITH_EVIDENCE, WEIGHT_WITHOUT_EVIDENCE = 1.2, 0.3


def iterated(site: RewriteSite) -> Iterator[Rewrite]:
    """Change an iterable: `range(n)`, `range(len(x))`, `enumerate(x)`, a list for a generator.

    Also keeps the order of a set, and converts the elements of a join to str.
    """
    node, code = site.node, site.source.text_of
    match node, site.parent:
        case ast.Call(func=ast.Attribute(attr="join"), args=[iterable]), _ if find_in_messages(
            site.failures, NOT_STR_ERROR
        ):
            yield from _convert_to_str(site, iterable)
        case ast.Call(func=ast.Name(id="set"), args=[iterable]), _:
            weight = 0.5 if isinstance(site.parent, ast.For | ast.comprehension | ast.Call) else 0.25
            yield from site.replace_expression(
                node,
                f"dict.fromkeys({code(iterable)})",
                weight=weight,
                summary="preserve the order with `dict.fromkeys`",
            )
        case ast.GeneratorExp(), ast.Call():
            pass
        case ast.GeneratorExp(), _:
            start, end = site.source.span(node)
            changes = (
                TextChange(start=start, end=start + 1, text="["),
                TextChange(start=end - 1, end=end, text="]"),
            )
            yield Rewrite(changes, 0.4, "use a list instead of a generator")
        case _, ast.For(iter=loop_iterable) | ast.comprehension(iter=loop_iterable) if loop_iterable is node:
            yield from _iterate_over_indices(site, code(loop_iterable))
        case _:
            pass


def _convert_to_str(site: RewriteSite, iterable: ast.expr) -> Iterator[Rewrite]:
    code = site.source.text_of
    if isinstance(iterable, ast.GeneratorExp | ast.ListComp):
        yield from site.replace_expression(
            iterable.elt,
            f"str({code(iterable.elt)})",
            weight=WEIGHT_WITH_EVIDENCE,
            summary="convert elements to str",
        )
    else:
        yield from site.replace_expression(
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
        yield from site.replace_expression(
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
        yield from site.replace_expression(
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
