"""Text match of an issue with documents and files: BM25, with words of names counted separately."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from coder.files.tokenize import count_terms, identifier_terms
from coder.retrieval.locating.corpus import Corpus
from coder.retrieval.locating.issue_terms import IssueTerms

ZONE_WEIGHTS = {"title": 2.2, "inline": 1.1, "block": 1.5, "name": 0.3, "prose": 0.8}
"""Weight of a word per zone, in addition to `DISTINCTIVENESS_SHARE`; each zone is normalized by length."""
DISTINCTIVENESS_SHARE = 3.0
DISTINCTIVENESS_WEIGHTS = {"title": 2.0, "inline": 1.5, "block": 0.7, "name": 1.5, "prose": 0.7}
"""Weight per zone for the most distinctive zone of a word."""
REPETITION_WEIGHT = 0.3
SATURATION, LENGTH_SHARE = 1.2, 0.75
"""BM25's k1 and b."""
MOST_WORDS = 70
MAX_DOCUMENT_SHARE = 0.2
"""A word in more than this share of all documents is matched in names only."""
HEAVIEST, HEAVIEST_ANYWHERE = 8, 10
"""So many of the rarest words make up a zone's whole."""


@dataclass(kw_only=True)
class TextMatches:
    """Text matches of an issue."""

    weights: Mapping[str, float]
    """Of each word, including its rarity."""
    rarity: Mapping[str, float]
    titled: frozenset[str]
    documents: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    files: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    """By the file's number: the same over whole files."""
    named: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Documents whose own name contains words of the issue, with these words."""
    telling: dict[int, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    """By the file's number: contribution of each word."""


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


def score_text(terrain: Corpus, result: TextMatches, text: str) -> float:
    """Score a text that is not a document, such as a function inside another."""
    counts = count_terms(text)
    fixed = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * sum(counts.values()) / terrain.average_length)
    shared_words = sorted(
        counts.keys() & result.weights.keys(), key=lambda word: (-result.weights[word], word)
    )
    return sum(
        result.weights[word] * (SATURATION + 1) * counts[word] / (counts[word] + fixed)
        for word in shared_words
    )


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
    is_common = len(postings) > MAX_DOCUMENT_SHARE * terrain.count
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
        worth = weight * count / (count + fixed + scaled * terrain.sizes[number])
        result.files[number] += worth
        result.telling[number][word] = worth
