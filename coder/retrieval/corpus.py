"""Files of the repository as documents: words, identifiers, and commits that match an issue."""

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from coder.files.tokenize import identifier_terms
from coder.index.snapshot import IndexedPlace, IndexSnapshot
from coder.retrieval.issue_terms import IssueTerms
from coder.workspace.workspace import is_declaration, is_derived, path_category


class Corpus:
    """The documents of a tree's source; those of its tests and of type declarations only on request.

    Built and vendored files are left out as long as there are others.
    """

    def __init__(self, snapshot: IndexSnapshot, *, tests: bool = False, declarations: bool = False) -> None:
        self.snapshot = snapshot
        self._tests, self._declarations = tests, declarations
        self._has_sources = any(not path_category(path) for path in snapshot.sources)
        self.lengths = snapshot.lengths
        self.paths: list[str] = []
        """The included files, by number."""
        self.sizes: list[int] = []
        """Number of words of each."""
        self.owners = array("i", bytes(4 * len(self.lengths)))
        """For each document the number of its file plus one; 0 for excluded ones."""
        for first, count, paths in snapshot.document_ranges:
            included = [path for path in paths if self.includes(path)]
            if included:
                self.paths.append(min(included, key=path_category))
                self.sizes.append(sum(self.lengths[first : first + count]))
                self.owners[first : first + count] = array("i", [len(self.paths)]) * count

    def includes(self, path: str) -> bool:
        """Tell whether a file's documents are included."""
        return not self.is_left_out(path) and (path_category(path) != 1 or self._tests)

    def is_left_out(self, path: str) -> bool:
        """Tell whether a file is made from others, which are the places instead."""
        is_wanted = self._declarations and is_declaration(path)
        return self._has_sources and is_derived(path) and not is_wanted

    @cached_property
    def count(self) -> int:
        """Number of included documents that have words."""
        return max(
            1, sum(1 for owner, length in zip(self.owners, self.lengths, strict=True) if owner and length)
        )

    @cached_property
    def average_length(self) -> float:
        """Average number of words of a document."""
        return max(1.0, sum(self.sizes) / self.count)

    @cached_property
    def average_size(self) -> float:
        """Average number of words of a file."""
        return max(1.0, sum(self.sizes) / max(1, len(self.sizes)))

    def postings(self, token: str) -> list[int]:
        """Return the snapshot's postings, restricted to included documents."""
        owners, document_count = self.owners, len(self.owners)
        return [
            entry
            for entry in self.snapshot.postings(token)
            if entry >> 8 < document_count and owners[entry >> 8]
        ]

    def definition_place(self, document: int) -> IndexedPlace | None:
        """Return the place of a document; None for one that is not a definition."""
        owner = self.paths[self.owners[document] - 1]
        place = next(
            (place for place in self.snapshot.document_places(document) if place.path == owner), None
        )
        return place if place and place.definition else None


@dataclass(kw_only=True)
class TextMatches:
    weights: Mapping[str, float]
    """Of each word, including its rarity."""
    rarity: Mapping[str, float]
    titled: frozenset[str]
    documents: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    files: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    """By the file's number: the same over whole files."""
    named: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Documents whose own name contains words of the issue, with these words."""


ZONE_WEIGHTS = {"title": 2.2, "inline": 1.1, "block": 1.5, "name": 0.3, "prose": 0.8}
"""Weight of a word per zone, in addition to `DISTINCTIVENESS_SHARE`; each zone is normalized by length."""
DISTINCTIVENESS_SHARE = 3.0
DISTINCTIVENESS_WEIGHTS = {"title": 2.0, "inline": 1.5, "block": 0.7, "name": 1.5, "prose": 0.7}
"""Weight per zone for the most distinctive zone of a word."""
REPETITION_WEIGHT = 0.3
SATURATION, LENGTH_SHARE = 1.2, 0.75
"""BM25's k1 and b."""
MOST_WORDS = 70
MAX_DOCUMENT_SHARE, FEW_DOCUMENTS = 0.2, 10
"""A word in more than this share of all documents, and in more than a few, is matched in names only."""
HEAVIEST, HEAVIEST_ANYWHERE = 8, 10
"""So many of the rarest words make up a zone's whole."""


def match_terms(terrain: Corpus, clues: IssueTerms) -> TextMatches:
    """Score documents and files by words alone."""
    zones = {zone: _count_parts(words) for zone, words in clues.zones.items()}
    likeliest = sorted(
        {word for words in zones.values() for word in words}, key=lambda word: -_plain_worth(word, zones)
    )
    postings = {word: terrain.postings(word) for word in likeliest[: 3 * MOST_WORDS]}
    rarity = {
        word: math.log(1 + (terrain.count - len(word_postings) + 0.5) / (len(word_postings) + 0.5))
        for word, word_postings in postings.items()
        if word_postings
    }
    weights = _weights(zones, rarity)
    result = TextMatches(weights=weights, rarity=rarity, titled=frozenset(zones["title"]) & weights.keys())
    for word in sorted(weights, key=lambda word: -weights[word])[:MOST_WORDS]:
        _add_word(terrain, result, word, postings[word])
    return result


def _count_parts(words: Counter[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for part in identifier_terms(word):
            counts[part] += count
    return counts


def _plain_worth(word: str, zones: Mapping[str, Counter[str]]) -> float:
    return sum(
        DISTINCTIVENESS_WEIGHTS[zone] * min(counted[word], 2) for zone, counted in zones.items()
    ) + 0.01 * len(word)


def _weights(zones: Mapping[str, Counter[str]], rarity: Mapping[str, float]) -> dict[str, float]:
    weights: dict[str, float] = defaultdict(float)
    anywhere: dict[str, float] = defaultdict(float)
    for zone, counted in zones.items():
        worth = {
            word: rarity[word] * min(1 + REPETITION_WEIGHT * (count - 1), 2.0)
            for word, count in counted.items()
            if word in rarity
        }
        whole = sum(sorted(worth.values())[-HEAVIEST:]) or 1.0
        for word, value in worth.items():
            weights[word] += ZONE_WEIGHTS[zone] * value / whole
            anywhere[word] = max(anywhere[word], DISTINCTIVENESS_WEIGHTS[zone] * value)
    whole = sum(sorted(anywhere.values())[-HEAVIEST_ANYWHERE:]) or 1.0
    return {word: weight + DISTINCTIVENESS_SHARE * anywhere[word] / whole for word, weight in weights.items()}


def _add_word(terrain: Corpus, result: TextMatches, word: str, postings: list[int]) -> None:
    """Add the score of one word to the documents and files that contain it."""
    weight = result.weights[word] * (SATURATION + 1)
    lengths, owners, documents = terrain.lengths, terrain.owners, result.documents
    fixed, scaled = SATURATION * (1 - LENGTH_SHARE), SATURATION * LENGTH_SHARE / terrain.average_length
    is_common = len(postings) > max(FEW_DOCUMENTS, MAX_DOCUMENT_SHARE * terrain.count)
    counts: dict[int, int] = defaultdict(int)
    for entry in postings:
        document = entry >> 8
        count = entry & 127
        if entry & 128:
            result.named[document].append(word)
        elif is_common:
            continue
        documents[document] += weight * count / (count + fixed + scaled * lengths[document])
        counts[owners[document] - 1] += count
    scaled = SATURATION * LENGTH_SHARE / terrain.average_size
    for number, count in counts.items():
        result.files[number] += weight * count / (count + fixed + scaled * terrain.sizes[number])
