"""One more of what something may be: in a list of texts or types, in a table, or beside the one text that is asked for."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from coder.core.ports.repair import Change
from coder.core.values.verdict import Failure
from coder.repair.context.donor_code import BUILTIN
from coder.repair.context.scope import likeness, module_names, short_texts
from coder.repair.context.site import Rewrite, Site
from coder.repair.generators.text.strings import literal, quoted

WORD = re.compile(r"[^\W\d]\w{2,}")
TYPE = re.compile(r"\b([^\W\d][\w.]*)\(|type '?([^\W\d][\w.]*)|<class '([\w.]+)'>|'([^\W\d][\w.]*)' object")
"""How messages name types: by a value's text, or as such."""
NAMED, SPOKEN_OF = 0.9, 0.45
"""What speaks for one more that the failures name in quotes, and for one that they speak of."""
MOST, MOST_LETTERS = 8, 12
LONGEST = 40


def enlisted(site: Site) -> Iterator[Rewrite]:
    """`('a', 'b')` for `('a',)`, and for an `'a'` that is asked for, where the failures speak of `b`; in a table, with its usual value."""
    if not isinstance(getattr(site.node, "ctx", ast.Load()), ast.Load):
        return
    match site.node:
        case (
            ast.Tuple(elts=[_, *_] as members)
            | ast.List(elts=[_, *_] as members)
            | ast.Set(elts=[_, *_] as members)
        ):
            yield from _member(site, members)
        case ast.Dict(keys=[_, _, *_] as keys, values=values) if all(key is not None for key in keys):
            yield from _entry(site, [key for key in keys if key is not None], values)
        case (
            ast.Compare(
                ops=[ast.Eq() | ast.NotEq() as op], comparators=[ast.Constant(value=str()) as only]
            ) as node
        ):
            code = site.source.code(only)
            asked = "in" if isinstance(op, ast.Eq) else "not in"
            for text in _spoken_of([only], site):
                new = f"{site.source.code(node.left)} {asked} ({code}, {literal(text, code)})"
                yield from site.replace(node, new, weight=0.3, summary=f"let it be {text!r} as well")
        case ast.Compare(
            ops=[*_, ast.In() | ast.NotIn()], comparators=[*_, ast.Constant(value=str(letters)) as given]
        ):
            yield from _letter(site, given, letters)
        case _:
            pass


def _member(site: Site, members: Sequence[ast.expr]) -> Iterator[Rewrite]:
    if all(isinstance(member, ast.Constant) and isinstance(member.value, str) for member in members):
        texts = [str(member.value) for member in members if isinstance(member, ast.Constant)]
        for text in _spoken_of(members, site):
            yield from _inserted(site, members, texts, text, literal(text, site.source.code(members[-1])))
    elif all(isinstance(member, ast.Name | ast.Attribute) for member in members):
        names = [site.source.code(member) for member in members]
        known = BUILTIN | {*module_names(site.source)}
        for name in _types(site.failures):
            if name not in names and name.partition(".")[0] in known:
                yield from _inserted(site, members, names, name, name)


def _inserted(
    site: Site, members: Sequence[ast.expr], texts: Sequence[str], text: str, code: str
) -> Iterator[Rewrite]:
    """Where the order puts it if there is one, else at the end."""
    place = (
        next((place for place, other in enumerate(texts) if other > text), len(texts))
        if sorted(texts) == [*texts]
        else len(texts)
    )
    start, end = site.source.span(members[min(place, len(members) - 1)])
    at, new = (start, f"{code}, ") if place < len(members) else (end, f", {code}")
    weight = (
        NAMED
        if any(f"{quote}{text}{quote}" in failure.message for failure in site.failures for quote in "'\"`")
        else SPOKEN_OF
    )
    yield Rewrite((Change(start=at, end=at, text=new),), weight, f"let {text[:LONGEST]!r} be among them")


def _entry(site: Site, keys: Sequence[ast.expr], values: Sequence[ast.expr]) -> Iterator[Rewrite]:
    """What the table says of half of what is in it, or of more, may hold for what is not; so may that it is what its name says."""
    if not all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in keys):
        return
    codes = [*map(site.source.code, values)]
    (usual, count), *_ = Counter(codes).most_common(1)
    namesakes = sum(
        isinstance(key, ast.Constant) and key.value == code for key, code in zip(keys, codes, strict=True)
    )
    for text in (
        _spoken_of(keys, site)
        if max(count, namesakes) > 1 and 2 * max(count, namesakes) >= len(values)
        else ()
    ):
        value = (
            usual if count >= namesakes else text if text in BUILTIN | {*module_names(site.source)} else ""
        )
        (_, end), key = site.source.span(values[-1]), literal(text, site.source.code(keys[-1]))
        if value:
            yield Rewrite(
                (Change(start=end, end=end, text=f", {key}: {value}"),), 0.4, f"say the same of {text!r}"
            )


def _letter(site: Site, given: ast.Constant, letters: str) -> Iterator[Rewrite]:
    """One letter more, in the other case or one that the failures quote."""
    if not 1 < len(letters) <= MOST_LETTERS or any(letter.isspace() for letter in letters):
        return
    quotes = sorted(text for text in quoted(site.failures) if len(text) == 1)
    for letter in dict.fromkeys([*quotes, *letters.swapcase()]):
        if letter not in letters:
            for text, weight in ((letter + letters, 0.35), (letters + letter, 0.3)):
                code = literal(text, site.source.code(given))
                yield from site.replace(given, code, weight=weight, summary=f"let {letter!r} be among them")


def _spoken_of(members: Sequence[ast.expr], site: Site) -> Sequence[str]:
    """Texts of the same form that the failures speak of: first what the file says elsewhere, then the most alike."""
    texts = tuple(str(member.value) for member in members if isinstance(member, ast.Constant))
    return _likeliest(texts, site.failures, frozenset(short_texts(site.source)))


@lru_cache(maxsize=2048)
def _likeliest(
    texts: tuple[str, ...], failures: tuple[Failure, ...], elsewhere: frozenset[str]
) -> Sequence[str]:
    if all(len(text) == 1 for text in texts):
        found = frozenset(letter for text in quoted(failures) for letter in text)
    else:
        found = _words(failures) if all(text.isidentifier() for text in texts) else quoted(failures)
    new = [
        text
        for text in found
        if text not in texts and text.strip() and len(text) <= LONGEST and _cased(text, texts)
    ]
    return sorted(
        new, key=lambda text: (text not in elsewhere, -max(likeness(text, other) for other in texts), text)
    )[:MOST]


def _cased(text: str, texts: Sequence[str]) -> bool:
    """Written in small or in capital letters where all of these are."""
    return all(
        getattr(text, way)()
        for way in ("isupper", "islower")
        if all(getattr(other, way)() for other in texts)
    )


@lru_cache(maxsize=64)
def _words(failures: tuple[Failure, ...]) -> frozenset[str]:
    return frozenset(word for failure in failures for word in WORD.findall(failure.message))


@lru_cache(maxsize=64)
def _types(failures: tuple[Failure, ...]) -> tuple[str, ...]:
    found = (
        name for failure in failures for names in TYPE.findall(failure.message) for name in names if name
    )
    return tuple(dict.fromkeys(found))[:MOST]
