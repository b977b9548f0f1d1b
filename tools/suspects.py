"""Rank the files and definitions of a repository by what an issue says, with no model."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from coder.tools.clues import Clues
from coder.tools.files import SOURCE, standing, text_of
from coder.tools.ripgrep import grep, list_paths
from coder.tools.symbols import Definition, definitions
from coder.tools.words import parts, words_of

STANDING = (1.0, 0.3, 0.1)
"""What a score is worth in source, tests, and the rest."""
WORD, PLACE, DEFINES, SAYS, NAMED_SO = 0.25, 9.0, 4.0, 6.0, 2.5
MOST_FILES = 12
MOST_BYTES = 40 << 20
LARGEST_FILE = 500_000
SMALL_CLASS = 40
NAME_COUNTS = 1.5
"""A word in a definition's own name counts as much more as this many of BM25's units."""


@dataclass(kw_only=True)
class Suspect:
    """A file that the issue may be about."""

    path: str
    score: float = 0.0
    reasons: list[str] = field(default_factory=list)
    lines: dict[int, float] = field(default_factory=dict)
    """Lines that something points at, and how strongly."""

    def add(self, score: float, reason: str = "", line: int | None = None) -> None:
        self.score += score
        if reason and reason not in self.reasons:
            self.reasons.append(reason)
        if line is not None:
            self.lines[line] = self.lines.get(line, 0.0) + score


def suspects(root: Path, clues: Clues, places: Sequence[tuple[str, int | None]]) -> list[Suspect]:
    """Files by descending likelihood: those named, those that define or say what the issue mentions, those full of its words."""
    sizes = {path: _size(root, path) for path in list_paths(root) if path.endswith(SOURCE)}
    found = {path: Suspect(path=path) for path in sizes}
    _words(root, found, clues, sizes)
    _path_parts(found, clues)
    _definitions(root, found, clues)
    _phrases(root, found, clues)
    for order, (path, line) in enumerate(places):
        if path in found:
            found[path].add(PLACE / (1 + order / 4), "named in the issue", line)
    for suspect in found.values():
        suspect.score *= STANDING[standing(suspect.path)]
    return sorted((suspect for suspect in found.values() if suspect.score > 0), key=lambda suspect: (-suspect.score, suspect.path))


def _size(root: Path, path: str) -> int:
    try:
        return (root / path).stat().st_size
    except OSError:
        return 0


def _words(root: Path, found: dict[str, Suspect], clues: Clues, sizes: dict[str, int]) -> None:
    """BM25 over the source files, each word weighed as the issue weighs it."""
    counted = {path: words_of(text) for path, text in _texts(root, sizes)}
    average = sum(sizes[path] for path in counted) / max(1, len(counted)) or 1
    for word, weight in clues.words.items():
        counts = {path: words[word] for path, words in counted.items() if word in words}
        rarity = math.log(1 + (len(counted) - len(counts) + 0.5) / (len(counts) + 0.5))
        for path, count in counts.items():
            length = 0.25 + 0.75 * sizes[path] / average
            found[path].add(WORD * weight * rarity * count * 2.2 / (count + 1.2 * length))


def _texts(root: Path, sizes: dict[str, int]) -> Iterator[tuple[str, str]]:
    """The source files that are no tests and not huge, as many as may be read in a second or two."""
    room = MOST_BYTES
    for path, size in sizes.items():
        room -= size if standing(path) == 0 and size < LARGEST_FILE else 0
        if room > 0 and standing(path) == 0 and size < LARGEST_FILE:
            yield path, text_of(root, path)


def _path_parts(found: dict[str, Suspect], clues: Clues) -> None:
    """Words that are part of a path, rarer ones more."""
    holding: dict[str, list[str]] = {}
    for path in found:
        for word in dict.fromkeys(part for piece in path.rpartition(".")[0].split("/") for part in (piece, *parts(piece))):
            holding.setdefault(word, []).append(path)
    for word, weight in clues.words.items():
        fitting = holding.get(word, [])
        for path in fitting:
            own = word in path.rpartition("/")[2]
            found[path].add(NAMED_SO * min(weight, 2.0) * (1.0 if own else 0.4) / len(fitting) ** 0.5)


def _definitions(root: Path, found: dict[str, Suspect], clues: Clues) -> None:
    names = [name for name, weight in clues.names.items() if weight >= 1.5]
    if not names:
        return
    hits = grep(root, rf"^\s*(?:async\s+)?(?:class|def|function|func|fn|struct|interface)\s+(?:{'|'.join(names)})\b").hits
    by_name: dict[str, list[tuple[str, int]]] = {}
    for hit in hits:
        name = hit.text[: hit.spans[0][1]].split()[-1]
        by_name.setdefault(name, []).append((hit.path, hit.line))
    for name, places in by_name.items():
        sources = [place for place in places if standing(place[0]) == 0] or places
        for path, line in places:
            if path in found:
                found[path].add(DEFINES * clues.names.get(name, 1.0) / 3.0 / len(sources) ** 0.7, f"defines {name}", line)


def _phrases(root: Path, found: dict[str, Suspect], clues: Clues) -> None:
    for phrase in clues.phrases:
        hits = [hit for hit in grep(root, phrase, options=("--fixed-strings",)).hits if hit.path in found]
        sources = sum(standing(hit.path) == 0 for hit in hits)
        for hit in hits[:50]:
            found[hit.path].add(SAYS / max(1, sources), f"says {phrase[:50]!r}", hit.line)


@dataclass(frozen=True, kw_only=True)
class Site:
    """A definition, or a line outside of any, that the issue may be about."""

    path: str
    name: str
    first: int
    last: int
    score: float


def sites(root: Path, ranked: Sequence[Suspect], clues: Clues) -> list[Site]:
    """The definitions of the most suspicious files, by descending likelihood."""
    units = [unit for suspect in ranked[:MOST_FILES] for unit in _units(root, suspect)]
    if not units:
        return []
    holding = Counter(word for unit in units for word in unit.words if word in clues.words)
    average = sum(unit.size for unit in units) / len(units)
    found = []
    for unit in units:
        length = 0.25 + 0.75 * unit.size / average
        score = 0.0
        for word in unit.words.keys() & clues.words.keys():
            rarity = math.log(1 + (len(units) - holding[word] + 0.5) / (holding[word] + 0.5))
            called = NAME_COUNTS if word in parts(unit.item.bare) else 0
            score += WORD * clues.words[word] * rarity * (called + unit.words[word] * 2.2 / (unit.words[word] + 1.2 * length))
        pointed = sum(score for line, score in unit.suspect.lines.items() if unit.item.start <= line <= unit.item.end)
        likelihood = (score + pointed) * (0.3 + unit.suspect.score / ranked[0].score)
        found.append(Site(path=unit.suspect.path, name=unit.item.name, first=unit.item.start, last=unit.item.end, score=likelihood))
    return sorted((site for site in found if site.score > 0), key=lambda site: -site.score)


@dataclass(frozen=True, kw_only=True)
class _Unit:
    """A function, or a small class, with its words."""

    suspect: Suspect
    item: Definition
    words: Counter[str]
    size: int


def _units(root: Path, suspect: Suspect) -> Iterator[_Unit]:
    text = text_of(root, suspect.path)
    lines = text.split("\n")
    for item in definitions(suspect.path, text):
        if item.kind in ("function", "method") or (item.kind == "class" and item.end - item.line < SMALL_CLASS):
            yield _Unit(
                suspect=suspect,
                item=item,
                words=words_of("\n".join(lines[item.start - 1 : item.end])),
                size=item.end - item.start + 1,
            )
