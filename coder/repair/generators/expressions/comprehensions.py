"""Missing filters in comprehensions, swapped loops, and clean-up of split strings."""

import ast
from collections.abc import Iterator

from coder.core.ports import TextChange
from coder.repair.context.site import Rewrite, RewriteSite

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
                end = site.source.span(loop.iter)[1]
                for text, weight in (
                    (loop.target.id, 0.35),
                    (f"{loop.target.id} is not None", 0.3),
                    (f"{loop.target.id}.strip()", 0.2),
                ):
                    yield Rewrite(
                        (TextChange(start=end, end=end, text=f" if {text}"),),
                        weight,
                        f"filter by `{text}`",
                    )
        case (
            ast.ListComp(generators=[outer, inner])
            | ast.SetComp(generators=[outer, inner])
            | ast.GeneratorExp(generators=[outer, inner])
        ):
            places = [site.source.span(part) for part in (outer.target, outer.iter, inner.target, inner.iter)]
            texts = [site.source.text[start:end] for start, end in (*places[2:], *places[:2])]
            changes = (
                TextChange(start=start, end=end, text=text)
                for (start, end), text in zip(places, texts, strict=True)
            )
            yield Rewrite(tuple(changes), 0.6, "swap the order of the loops")
        case ast.Call(func=ast.Attribute(attr="split"), args=[_]) as call if not isinstance(
            site.parent, ELEMENTWISE_PARENTS
        ):
            code = site.source.text_of(call)
            for part, rest, weight in (
                ("part.strip()", "", 0.3),
                ("part", " if part", 0.3),
                ("part.strip()", " if part.strip()", 0.12),
            ):
                text = f"[{part} for part in {code}{rest}]"
                yield from site.replace_expression(
                    call, text, weight=weight, summary=f"use `{part}` for each{rest and ' non-empty'} part"
                )
        case _:
            pass
