"""Missing members of a list of strings or types, of a table, or of a compared value."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from coder.core.ports import TextChange
from coder.core.verdict import Failure
from coder.repair.context.donor_code import BUILTIN_NAMES
from coder.repair.context.scope import module_names, name_similarity, short_string_literals
from coder.repair.context.site import Rewrite, RewriteSite
from coder.repair.generators.text.strings import quoted_texts, string_literal

WORD = re.compile(r"[^\W\d]\w{2,}")
TYPE_MENTION = re.compile(
    r"\b([^\W\d][\w.]*)\(|type '?([^\W\d][\w.]*)|<class '([\w.]+)'>|'([^\W\d][\w.]*)' object"
)
"""How messages name types: by the text of a value, or directly."""
QUOTED_WEIGHT, MENTIONED_WEIGHT = 0.9, 0.45
"""Weight of a member that the failures quote, and of one that they mention."""
MOST, MOST_LETTERS = 8, 12
LONGEST = 40


def enlisted(site: RewriteSite) -> Iterator[Rewrite]:
    """Add a member that the failures mention to a collection, a table or a comparison.

    Example: `('a', 'b')` for `('a',)`. A table entry gets the usual value.
    """
    if not isinstance(getattr(site.node, "ctx", ast.Load()), ast.Load):
        return
    match site.node:
        case (
            ast.Tuple(elts=[_, *_] as members)
            | ast.List(elts=[_, *_] as members)
            | ast.Set(elts=[_, *_] as members)
        ):
            yield from _add_member(site, members)
        case ast.Dict(keys=[_, _, *_] as keys, values=values) if all(key is not None for key in keys):
            yield from _add_entry(site, [key for key in keys if key is not None], values)
        case (
            ast.Compare(
                ops=[ast.Eq() | ast.NotEq() as op],
                comparators=[ast.Constant(value=str()) as compared_literal],
            ) as node
        ):
            code = site.source.text_of(compared_literal)
            operator = "in" if isinstance(op, ast.Eq) else "not in"
            for text in _mentioned_texts([compared_literal], site):
                new = f"{site.source.text_of(node.left)} {operator} ({code}, {string_literal(text, code)})"
                yield from site.replace_expression(node, new, weight=0.3, summary=f"accept {text!r} as well")
        case ast.Compare(
            ops=[*_, ast.In() | ast.NotIn()],
            comparators=[*_, ast.Constant(value=str(letters)) as literal_node],
        ):
            yield from _add_letter(site, literal_node, letters)
        case _:
            pass


def _add_member(site: RewriteSite, members: Sequence[ast.expr]) -> Iterator[Rewrite]:
    if all(isinstance(member, ast.Constant) and isinstance(member.value, str) for member in members):
        texts = [str(member.value) for member in members if isinstance(member, ast.Constant)]
        for text in _mentioned_texts(members, site):
            yield from _insert_member(
                site, members, texts, text, string_literal(text, site.source.text_of(members[-1]))
            )
    elif all(isinstance(member, ast.Name | ast.Attribute) for member in members):
        names = [site.source.text_of(member) for member in members]
        known_names = BUILTIN_NAMES | {*module_names(site.source)}
        for name in _types_in_messages(site.failures):
            if name not in names and name.partition(".")[0] in known_names:
                yield from _insert_member(site, members, names, name, name)


def _insert_member(
    site: RewriteSite, members: Sequence[ast.expr], texts: Sequence[str], text: str, code: str
) -> Iterator[Rewrite]:
    """Insert a member: at its place if the collection is sorted, else at the end."""
    index = (
        next((index for index, other in enumerate(texts) if other > text), len(texts))
        if sorted(texts) == [*texts]
        else len(texts)
    )
    start, end = site.source.span(members[min(index, len(members) - 1)])
    position, new = (start, f"{code}, ") if index < len(members) else (end, f", {code}")
    weight = (
        QUOTED_WEIGHT
        if any(f"{quote}{text}{quote}" in failure.message for failure in site.failures for quote in "'\"`")
        else MENTIONED_WEIGHT
    )
    yield Rewrite(
        (TextChange(start=position, end=position, text=new),),
        weight,
        f"add {text[:LONGEST]!r} to the collection",
    )


def _add_entry(site: RewriteSite, keys: Sequence[ast.expr], values: Sequence[ast.expr]) -> Iterator[Rewrite]:
    """Add an entry with the value of at least half of the keys, or with the key as its value."""
    if not all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in keys):
        return
    codes = [*map(site.source.text_of, values)]
    (common, count), *_ = Counter(codes).most_common(1)
    namesakes = sum(
        isinstance(key, ast.Constant) and key.value == code for key, code in zip(keys, codes, strict=True)
    )
    for text in (
        _mentioned_texts(keys, site)
        if max(count, namesakes) > 1 and 2 * max(count, namesakes) >= len(values)
        else ()
    ):
        value = (
            common
            if count >= namesakes
            else text
            if text in BUILTIN_NAMES | {*module_names(site.source)}
            else ""
        )
        (_, end), key = site.source.span(values[-1]), string_literal(text, site.source.text_of(keys[-1]))
        if value:
            yield Rewrite(
                (TextChange(start=end, end=end, text=f", {key}: {value}"),), 0.4, f"add an entry for {text!r}"
            )


def _add_letter(site: RewriteSite, node: ast.Constant, letters: str) -> Iterator[Rewrite]:
    """Add a letter: in the other case, or one that the failures quote."""
    if not 1 < len(letters) <= MOST_LETTERS or any(letter.isspace() for letter in letters):
        return
    quotes = sorted(text for text in quoted_texts(site.failures) if len(text) == 1)
    for letter in dict.fromkeys([*quotes, *letters.swapcase()]):
        if letter not in letters:
            for text, weight in ((letter + letters, 0.35), (letters + letter, 0.3)):
                code = string_literal(text, site.source.text_of(node))
                yield from site.replace_expression(
                    node, code, weight=weight, summary=f"add {letter!r} to the letters"
                )


def _mentioned_texts(members: Sequence[ast.expr], site: RewriteSite) -> Sequence[str]:
    """Return texts of the same form that the failures mention.

    Those used in the file come first, then the most similar.
    """
    texts = tuple(str(member.value) for member in members if isinstance(member, ast.Constant))
    return _rank_mentioned_texts(texts, site.failures, frozenset(short_string_literals(site.source)))


@lru_cache(maxsize=2048)
def _rank_mentioned_texts(
    texts: tuple[str, ...], failures: tuple[Failure, ...], elsewhere: frozenset[str]
) -> Sequence[str]:
    if all(len(text) == 1 for text in texts):
        texts_found = frozenset(letter for text in quoted_texts(failures) for letter in text)
    else:
        texts_found = (
            _words_in_messages(failures)
            if all(text.isidentifier() for text in texts)
            else quoted_texts(failures)
        )
    candidates = [
        text
        for text in texts_found
        if text not in texts and text.strip() and len(text) <= LONGEST and _has_same_case(text, texts)
    ]
    return sorted(
        candidates,
        key=lambda text: (text not in elsewhere, -max(name_similarity(text, other) for other in texts), text),
    )[:MOST]


def _has_same_case(text: str, texts: Sequence[str]) -> bool:
    """Tell whether a text is in upper or lower case if all the others are."""
    return all(
        getattr(text, predicate)()
        for predicate in ("isupper", "islower")
        if all(getattr(other, predicate)() for other in texts)
    )


@lru_cache(maxsize=64)
def _words_in_messages(failures: tuple[Failure, ...]) -> frozenset[str]:
    return frozenset(word for failure in failures for word in WORD.findall(failure.message))


@lru_cache(maxsize=64)
def _types_in_messages(failures: tuple[Failure, ...]) -> tuple[str, ...]:
    mentioned = (
        name
        for failure in failures
        for names in TYPE_MENTION.findall(failure.message)
        for name in names
        if name
    )
    return tuple(dict.fromkeys(mentioned))[:MOST]
