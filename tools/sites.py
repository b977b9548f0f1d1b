"""Rank the definitions of the files under suspicion by what an issue says."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from coder.tools.locating.clues import Clues
from coder.tools.files import text_of
from coder.tools.suspects import WORD, Suspect
from coder.tools.symbols import Definition, definitions
from coder.tools.words import parts, words_of

MOST_FILES = 12
SMALL_CLASS = 40
CALLED_SO = 1.5
"""A word in a definition's own name counts as much more as this many of BM25's units; likewise the name of its class."""
OF_CLASS = 1.0
IN_PROSE = 0.25
"""What a word in a docstring counts, beside one in the code."""
PROTOCOL = 4.0
IN_CODE = 1.2
"""The least weight of a word in code."""
STRONG = 1.5
"""From this weight on, a word of the issue is taken to name a thing."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """A definition that the issue may be about, and the lines of it to show: of a long class those above its first method."""

    path: str
    item: Definition
    first: int
    last: int
    score: float

    @property
    def name(self) -> str:
        return self.item.name

    @property
    def shortened(self) -> bool:
        """Is it a class too long to be shown whole?"""
        return self.last < self.item.end

    def is_of(self, owner: "Site") -> bool:
        """Is it a method of this class?"""
        return self.path == owner.path and self.name.rpartition(".")[0] == owner.name


def meant(item: Definition, clues: Clues) -> bool:
    """Does the issue name this definition, but for leading underscores, or an operation that this special method stands behind?"""
    plain = item.bare.strip("_")
    weight = max(clues.names.get(item.bare, 0.0), clues.names.get(plain, 0.0))
    return item.bare in clues.protocol or item.bare in clues.called or weight >= IN_CODE


def sites(root: Path, ranked: Sequence[Suspect], clues: Clues) -> list[Site]:
    """The definitions of the most suspicious files, by descending likelihood."""
    units = [unit for suspect in ranked[:MOST_FILES] for unit in _units(root, suspect, clues)]
    if not units:
        return []
    holding = Counter(word for unit in units for word in unit.words if word in clues.words)
    average = sum(unit.size for unit in units) / len(units)
    found = []
    for unit in units:
        rarities = {
            word: math.log(1 + (len(units) - holding[word] + 0.5) / (holding[word] + 0.5)) for word in unit.words if word in holding
        }
        pointed = sum(score for line, score in unit.suspect.lines.items() if unit.first <= line <= unit.last)
        score = _score(unit, clues, rarities, average) + pointed + _by_protocol(unit, clues)
        likelihood = score * (0.3 + unit.suspect.score / ranked[0].score)
        found.append(Site(path=unit.suspect.path, item=unit.item, first=unit.first, last=unit.last, score=likelihood))
    return sorted((site for site in found if site.score > 0), key=lambda site: -site.score)


@dataclass(frozen=True, kw_only=True)
class _Unit:
    """A function or a class, with how often it says each word; a docstring's words count less."""

    suspect: Suspect
    item: Definition
    first: int
    last: int
    words: dict[str, float]

    @property
    def size(self) -> int:
        return self.last - self.first + 1

    @property
    def owner(self) -> str:
        return self.item.name.rpartition(".")[0].rpartition(".")[2]


def _score(unit: _Unit, clues: Clues, rarities: dict[str, float], average: float) -> float:
    """BM25, with more for words in the name, and for methods of a class that the issue names."""
    length = 0.25 + 0.75 * unit.size / average
    score = 0.0
    for word, rarity in rarities.items():
        called = CALLED_SO if word in parts(unit.item.bare) else 0.0
        score += WORD * clues.words[word] * rarity * (called + unit.words[word] * 2.2 / (unit.words[word] + 1.2 * length))
    owner = clues.names.get(unit.owner, 0.0)
    return score + (OF_CLASS * owner if owner >= STRONG and (score or unit.item.bare in clues.called) else 0.0)


def _by_protocol(unit: _Unit, clues: Clues) -> float:
    """More for a special method that stands behind an operation the issue names, above all in a class that it names."""
    if unit.item.kind != "method" or unit.item.bare not in clues.protocol:
        return 0.0
    return PROTOCOL if clues.names.get(unit.owner, 0.0) >= STRONG else PROTOCOL / 4


def _units(root: Path, suspect: Suspect, clues: Clues) -> Iterator[_Unit]:
    text = text_of(root, suspect.path)
    lines = text.split("\n")
    found = definitions(suspect.path, text)
    for item in found:
        if item.kind == "variable":
            continue
        last = item.end
        if item.kind == "class" and item.end - item.line >= SMALL_CLASS:
            if clues.names.get(item.bare, 0.0) < STRONG:
                continue
            inner = [other.start for other in found if other.kind != "variable" and other.name.startswith(f"{item.name}.")]
            last = max(item.line, min(inner, default=item.end + 1) - 1)
        yield _Unit(suspect=suspect, item=item, first=item.start, last=last, words=_words(lines, item, last))


def _words(lines: Sequence[str], item: Definition, last: int) -> dict[str, float]:
    first_prose, last_prose = item.docstring
    prose = words_of("\n".join(lines[first_prose - 1 : last_prose])) if last_prose else Counter()
    every = words_of("\n".join(lines[item.start - 1 : last]))
    return {word: count - (1 - IN_PROSE) * min(count, prose[word]) for word, count in every.items()}
