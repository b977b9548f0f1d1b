"""Documents for ranking by terms: each definition, and the rest of its module."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from coder.files.tokenize import WORD, identifier_terms
from coder.index.definition import Definition


def split_documents(text: str, definitions: Sequence[Definition]) -> Iterator[tuple[int, Mapping[str, int]]]:
    """Yield ordinal and term counts of each non-empty document; 0 is the module, n the n-th definition.

    A function has all its lines, a class those outside of its methods and inner classes, the module the rest.
    Variables and definitions inside functions are not documents.
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
    """Count terms as `coder.files.tokenize.count_terms` does."""
    counts: dict[str, int] = {}
    for word, count in Counter(WORD.findall(text)).items():
        for part in identifier_terms(word):
            counts[part] = counts.get(part, 0) + count
    return counts


def _owners(lines: int, definitions: Sequence[Definition]) -> list[int]:
    owners = [0] * lines
    function_end = 0
    for ordinal, definition in enumerate(definitions, 1):
        if definition.kind == "variable" or definition.start <= function_end:
            continue
        last = min(definition.end, lines)
        owners[definition.start - 1 : last] = [ordinal] * (last - definition.start + 1)
        if definition.kind in ("function", "method"):
            function_end = last
    return owners
