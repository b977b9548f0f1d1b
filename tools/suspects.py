"""Rank the files of a repository by what an issue says, with no model."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from coder.tools.locating.clues import Clues
from coder.tools.files import SOURCE, standing, text_of
from coder.tools.ripgrep import grep, list_paths
from coder.tools.words import parts, words_of

STANDING = (1.0, 0.3, 0.1)
"""What a score is worth in source, tests, and the rest."""
WORD, PLACE, DEFINES, SAYS, NAMED_SO = 0.25, 9.0, 4.0, 6.0, 2.5
MOST_BYTES = 40 << 20
LARGEST_FILE = 500_000


@dataclass(kw_only=True)
class Suspect:
    """A file that the issue may be about."""

    path: str
    score: float = 0.0
    reasons: list[str] = field(default_factory=list)
    lines: dict[int, float] = field(default_factory=dict)
    """Lines that something points at, and how strongly."""

    said: dict[str, float] = field(default_factory=dict)
    """Words of the issue in it, and what each is worth."""

    @property
    def telling(self) -> list[str]:
        """Those words, the most telling first."""
        return sorted(self.said, key=lambda word: -self.said[word])

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
            found[path].said[word] = WORD * weight * rarity * count * 2.2 / (count + 1.2 * length)
            found[path].add(found[path].said[word])


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
