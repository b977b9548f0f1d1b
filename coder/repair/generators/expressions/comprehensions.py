"""What a comprehension lets through, and what texts are taken apart into."""

import ast
from collections.abc import Iterator

from coder.core.ports.repair import Change
from coder.repair.context.site import Rewrite, Site

TAKING = (ast.Subscript, ast.Attribute, ast.comprehension)
"""Where what a text is split into is taken one by one: that is the place to tidy it."""


def sifted(site: Site) -> Iterator[Rewrite]:
    """`[a for a in x if a]` for `[a for a in x]`, `[part for part in s.split(',') if part]` for `s.split(',')`."""
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
                        (Change(start=end, end=end, text=f" if {text}"),),
                        weight,
                        f"leave out where not `{text}`",
                    )
        case (
            ast.ListComp(generators=[one, other])
            | ast.SetComp(generators=[one, other])
            | ast.GeneratorExp(generators=[one, other])
        ):
            places = [site.source.span(part) for part in (one.target, one.iter, other.target, other.iter)]
            texts = [site.source.text[start:end] for start, end in (*places[2:], *places[:2])]
            changes = (
                Change(start=start, end=end, text=text)
                for (start, end), text in zip(places, texts, strict=True)
            )
            yield Rewrite(tuple(changes), 0.6, "go through them in the other order")
        case ast.Call(func=ast.Attribute(attr="split"), args=[_]) as call if not isinstance(
            site.parent, TAKING
        ):
            code = site.source.code(call)
            for part, rest, weight in (
                ("part.strip()", "", 0.3),
                ("part", " if part", 0.3),
                ("part.strip()", " if part.strip()", 0.12),
            ):
                text = f"[{part} for part in {code}{rest}]"
                yield from site.replace(
                    call, text, weight=weight, summary=f"use `{part}` of each{rest and ' that is there'}"
                )
        case _:
            pass
