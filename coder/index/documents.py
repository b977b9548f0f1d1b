"""The documents that a search by words ranks: each definition, and what is left of its module."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from coder.files.tokenize import WORD, parts
from coder.index.definition import Definition


def documents(text: str, definitions: Sequence[Definition]) -> Iterator[tuple[int, Mapping[str, int]]]:
    """Yield ordinal and words of each document that has any; 0 is the module, n the n-th definition.

    A function has all its lines, a class those that its methods and inner classes leave, the module the rest. Variables and what is
    defined inside a function are no documents.
    """
    lines = text.split("\n")
    owners = _owners(len(lines), definitions)
    pieces: dict[int, list[str]] = {}
    start = 0
    for owner, run in groupby(owners):
        end = start + sum(1 for _ in run)
        pieces.setdefault(owner, []).extend(lines[start:end])
        start = end
    for owner in sorted(pieces):
        if words := _words("\n".join(pieces[owner])):
            yield owner, words


def _words(text: str) -> dict[str, int]:
    """As `coder.files.tokenize.words_of` counts them."""
    found: dict[str, int] = {}
    for word, count in Counter(WORD.findall(text)).items():
        for part in parts(word):
            found[part] = found.get(part, 0) + count
    return found


def _owners(lines: int, definitions: Sequence[Definition]) -> list[int]:
    owners = [0] * lines
    function_end = 0
    for ordinal, item in enumerate(definitions, 1):
        if item.kind == "variable" or item.start <= function_end:
            continue
        last = min(item.end, lines)
        owners[item.start - 1 : last] = [ordinal] * (last - item.start + 1)
        if item.kind in ("function", "method"):
            function_end = last
    return owners
