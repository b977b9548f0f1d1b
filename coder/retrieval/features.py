"""Features of definitions and files, as numbers to be combined by weights."""

import math
import re
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from coder.core.paths import SOURCE_SUFFIXES
from coder.core.values import CommitInfo
from coder.files.tokenize import count_terms, identifier_terms
from coder.index.parsers import Definition
from coder.index.resolve import imported_files
from coder.index.snapshot import IndexedPlace, IndexSnapshot
from coder.retrieval.issue_terms import IssueTerms, is_code_like
from coder.retrieval.references import ReferenceEvidence
from coder.workspace.workspace import path_category, read_text_or_empty

MOST_DEFINITIONS = 260
NAME_WORD_WEIGHT = 0.35
"""Extra weight of words in a definition's name when candidates are selected."""
CALL = re.compile(r"(?P<of>\w+\.)?(?P<name>[A-Za-z_]\w{2,})\(")
UNKNOWN_RARITY = 6.0
"""Rarity of a word whose postings were not read."""
FeatureValues = dict[str, float]


@dataclass(frozen=True, kw_only=True)
class DefinitionCandidate:
    """A definition with evidence."""

    path: str
    item: Definition
    evidence: FeatureValues

    @property
    def key(self) -> tuple[str, str]:
        """Path and qualified name."""
        return self.path, self.item.name

    @property
    def length(self) -> int:
        """Number of lines below the header."""
        return self.item.end - self.item.line


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


@dataclass(frozen=True, kw_only=True)
class IdentifierUses:
    """Multi-word names that the issue mentions and the tree uses."""

    worth: Mapping[str, float]
    """Weight by name, up to 1: higher for a name that few files use."""
    lines: Mapping[str, Mapping[str, tuple[int, ...]]]
    """By path and name."""

    def uses_in(self, path: str, definition: Definition) -> list[str]:
        """Return the names that a function uses, rarest first.

        Empty for a class, which consists of its methods.
        """
        if definition.kind == "class":
            return []
        used_names = (
            name
            for name, lines in self.lines.get(path, {}).items()
            if name != definition.bare_name and _has_line_between(lines, definition.start, definition.end)
        )
        return sorted(used_names, key=lambda name: (-self.worth[name], name))


class Corpus:
    """The documents of a tree's source; those of its tests only on request."""

    def __init__(self, snapshot: IndexSnapshot, *, tests: bool = False) -> None:
        self.snapshot = snapshot
        self.lengths = snapshot.lengths
        self.paths: list[str] = []
        """The included files, by number."""
        self.sizes: list[int] = []
        """Number of words of each."""
        self.owners = array("i", bytes(4 * len(self.lengths)))
        """For each document the number of its file plus one; 0 for excluded ones."""
        for first, count, paths in snapshot.document_ranges:
            included = [path for path in paths if path_category(path) != 1 or tests]
            if included:
                self.paths.append(min(included, key=path_category))
                self.sizes.append(sum(self.lengths[first : first + count]))
                self.owners[first : first + count] = array("i", [len(self.paths)]) * count

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


@dataclass(frozen=True, kw_only=True)
class IssueMatch:
    """An issue, the corpus, and the matches found in it."""

    terrain: Corpus
    clues: IssueTerms
    matches: TextMatches
    pointed: ReferenceEvidence
    uses: IdentifierUses

    def collect_candidates(self) -> list[DefinitionCandidate]:
        """Return the definitions that words or references lead to."""
        candidates: dict[tuple[str, str], DefinitionCandidate] = {}
        for candidate in self._candidates_by_words():
            existing = candidates.get(candidate.key)
            # of overloads, keep the one with the body
            if existing is None or candidate.length > existing.length:
                candidates[candidate.key] = candidate
        for path, name in self.pointed.definitions:
            if (path, name) not in candidates:
                definition = next(
                    (
                        definition
                        for definition in self.terrain.snapshot.definitions(path)
                        if definition.name == name
                    ),
                    None,
                )
                if definition is not None:
                    candidates[(path, name)] = DefinitionCandidate(
                        path=path, item=definition, evidence=self.definition_features(path, definition, 0.0)
                    )
        return list(candidates.values())

    def _candidates_by_words(self) -> Iterator[DefinitionCandidate]:
        scores = dict(self.matches.documents)
        for document, words in self.matches.named.items():
            scores[document] = scores.get(document, 0.0) + NAME_WORD_WEIGHT * sum(
                self.matches.weights[word] for word in words
            )
        for document in sorted(scores, key=lambda document: (-scores[document], document))[:MOST_DEFINITIONS]:
            place = self.terrain.definition_place(document)
            if place and place.definition:
                score = self.matches.documents.get(document, 0.0)
                yield DefinitionCandidate(
                    path=place.path,
                    item=place.definition,
                    evidence=self.definition_features(place.path, place.definition, score),
                )

    def definition_features(self, path: str, item: Definition, words: float) -> FeatureValues:
        """Return all evidence for a definition, except that of its callers."""
        evidence: FeatureValues = {
            "words": words,
            "size": math.log(1 + item.end - item.start) if item.kind != "class" else 2.5,
            item.kind: 1.0,
        }
        if item.bare_name.startswith("__"):
            evidence["constructor" if item.bare_name == "__init__" else "special"] = 1.0
        evidence |= {1: {"test": 1.0}, 2: {"aside": 1.0}}.get(path_category(path), {})
        evidence |= self._name_evidence(item.bare_name)
        if owner := item.name.rpartition(".")[0].rpartition(".")[2]:
            evidence |= self._owner_evidence(owner, item.bare_name)
        if used_names := self.uses.uses_in(path, item):
            evidence["uses"] = sum(self.uses.worth[name] for name in used_names)
        if test_evidence := self.pointed.files.get(path, {}).get("tested"):
            evidence["tested"] = test_evidence
        evidence |= self.pointed.definitions.get((path, item.name), {})
        inherited = self.pointed.definitions.get((path, item.name.rpartition(".")[0]), {})
        if "base" in inherited:
            evidence["base"] = max(evidence.get("base", 0.0), inherited["base"])
        return evidence

    def _name_evidence(self, bare: str) -> FeatureValues:
        """Return evidence from the name: zones that mention it, and the share of its words in the issue."""
        evidence: FeatureValues = {}
        zones = [
            zone
            for zone, words in self.clues.zones.items()
            if bare in words or (len(bare.strip("_")) > 3 and bare.strip("_") in words)
        ]
        if zones or bare in self.clues.called:
            rarity_weight = self._name_weight(bare)
            evidence |= {f"named in {zone}": rarity_weight for zone in zones}
            if bare in self.clues.called:
                evidence["called"] = rarity_weight
        words = [word for word in identifier_terms(bare) if word != bare] or list(identifier_terms(bare))
        shared_words = [word for word in words if word in self.matches.weights]
        if shared_words:
            rarity = self.matches.rarity
            total_rarity = sum(rarity.get(word, UNKNOWN_RARITY) for word in words)
            evidence["name said"] = (
                sum(rarity[word] for word in shared_words)
                / total_rarity
                * min(1.0, sum(self.matches.weights[word] for word in shared_words))
            )
            evidence["name in title"] = (
                sum(rarity[word] for word in shared_words if word in self.matches.titled) / total_rarity
            )
        return evidence

    def _owner_evidence(self, owner: str, bare: str) -> FeatureValues:
        evidence: FeatureValues = {}
        zones = [
            zone for zone in ("title", "inline", "block", "name", "prose") if owner in self.clues.zones[zone]
        ]
        if zones:
            evidence |= {f"owner in {zone}": self._name_weight(owner) for zone in zones}
            if f"{owner}.{bare}" in self.clues.text or f"{owner}.{bare}" in self.clues.qualified_methods:
                evidence["qualified"] = 1.0
        if bare in self.clues.protocol:
            evidence["protocol"] = 1.0 if zones else 0.3
        return evidence

    def _name_weight(self, bare: str) -> float:
        """Return a weight that is lower for names that many files define."""
        return float(self._definer_count(bare) ** -0.5)

    def _definer_count(self, bare: str) -> int:
        if bare not in self._definer_counts:
            paths = self.terrain.snapshot.files_defining(bare)
            self._definer_counts[bare] = max(1, sum(path_category(path) == 0 for path in paths))
        return self._definer_counts[bare]

    @cached_property
    def _definer_counts(self) -> dict[str, int]:
        return {}

    def weighted_callees(
        self, callers: Sequence[DefinitionCandidate]
    ) -> Iterator[tuple[str, Definition, float]]:
        """Yield definitions that the likeliest ones call: path, definition, and weight."""
        for order, caller in enumerate(callers):
            lines = read_text_or_empty(self.terrain.snapshot.root, caller.path).split("\n")[
                caller.item.start - 1 : caller.item.end
            ]
            calls = dict.fromkeys(
                (match["of"] or "", match["name"]) for match in CALL.finditer("\n".join(lines))
            )
            for _, name in calls:
                local_definitions = [
                    definition
                    for definition in self.terrain.snapshot.definitions(caller.path)
                    if definition.bare_name == name and definition.kind != "variable"
                ]
                places = [
                    (caller.path, definition) for definition in local_definitions
                ] or self._definitions_elsewhere(name)
                for path, definition in places:
                    if (path, definition.name) != caller.key:
                        yield (
                            path,
                            definition,
                            (1.0 if local_definitions else 0.7) / (1 + order / 3) / len(places) ** 0.5,
                        )

    def nested_candidates(self, outer: DefinitionCandidate) -> Iterator[DefinitionCandidate]:
        """Yield the definitions inside a function, which are not documents themselves."""
        inner = [
            definition
            for definition in self.terrain.snapshot.definitions(outer.path)
            if definition.name.startswith(f"{outer.item.name}.")
        ]
        if outer.item.kind == "class" or not inner:
            return
        lines = read_text_or_empty(self.terrain.snapshot.root, outer.path).split("\n")
        for definition in inner:
            if definition.kind != "variable" and outer.item.start <= definition.start <= outer.item.end:
                score = score_text(
                    self.terrain, self.matches, "\n".join(lines[definition.start - 1 : definition.end])
                )
                yield DefinitionCandidate(
                    path=outer.path,
                    item=definition,
                    evidence=self.definition_features(outer.path, definition, score),
                )

    def _definitions_elsewhere(self, name: str) -> list[tuple[str, Definition]]:
        if not 1 <= len(self.terrain.snapshot.files_defining(name)) <= 6:
            return []
        places = [
            place
            for place in self.terrain.snapshot.definitions_named(name)
            if path_category(place.path) == 0 and place.definition
        ]
        return (
            [(place.path, place.definition) for place in places if place.definition]
            if len(places) <= 3
            else []
        )

    def file_features(self, scored: Mapping[tuple[str, str], float]) -> dict[str, FeatureValues]:
        """Return the evidence for each file, given the scores of definitions."""
        evidence_by_path: dict[str, FeatureValues] = defaultdict(dict)
        for number, score in self.matches.files.items():
            evidence_by_path[self.terrain.paths[number]]["words"] = score
        for path, kinds in self.pointed.files.items():
            evidence_by_path[path] |= kinds
        scores_by_path: dict[str, list[float]] = defaultdict(list)
        for (path, _), score in scored.items():
            scores_by_path[path].append(score)
        least = min(scored.values(), default=0.0)
        for path, scores in scores_by_path.items():
            evidence_by_path[path]["definitions"] = math.log(sum(math.exp(score - least) for score in scores))
            evidence_by_path[path]["best definition"] = max(scores) - least
        self._add_path_evidence(evidence_by_path)
        for path, evidence in evidence_by_path.items():
            evidence["size"] = math.log(1 + self._size(path)) / 3
            evidence |= {"package": 1.0} if path.endswith("__init__.py") else {}
            evidence |= {1: {"test": 1.0}, 2: {"aside": 1.0}}.get(path_category(path), {})
        return evidence_by_path

    def distinctive_words(self, path: str) -> list[str]:
        """Return the issue's words in a file, most distinctive first."""
        worth_by_word = self.matches.telling.get(self._numbers.get(path, -1), {})
        return self.clues.original_words(sorted(worth_by_word, key=lambda word: (-worth_by_word[word], word)))

    def _size(self, path: str) -> int:
        number = self._numbers.get(path)
        return self.terrain.sizes[number] if number is not None else 0

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {path: number for number, path in enumerate(self.terrain.paths)}

    def _add_path_evidence(self, evidence_by_path: Mapping[str, FeatureValues]) -> None:
        """Add evidence for words that are part of a path, rarer ones more, and for the file's own name."""
        path_counts: dict[str, int] = defaultdict(int)
        words_in = {path: _path_words(path) for path in self.terrain.paths}
        for words in words_in.values():
            for word in words:
                path_counts[word] += 1
        mentioned = {
            name.lower() for zone in ("title", "inline", "block", "name") for name in self.clues.zones[zone]
        }
        title = {name.lower() for name in self.clues.zones["title"]}
        for path, words in words_in.items():
            if path in evidence_by_path:
                shares = {
                    word: share * path_counts[word] ** -0.5
                    for word, share in words.items()
                    if word in self.matches.weights
                }
                evidence_by_path[path]["path said"] = sum(shares.values())
                evidence_by_path[path]["path in title"] = sum(
                    share for word, share in shares.items() if word in self.matches.titled
                )
                own = file_subject(path).lower()
                if own in mentioned:
                    evidence_by_path[path]["stem in title" if own in title else "stem said"] = (
                        max(1, path_counts[own]) ** -0.5
                    )


def file_subject(path: str) -> str:
    """Return a file's name without extension, or its folder's name where it represents the package."""
    *folders, name = path.split("/")
    stem = name.rpartition(".")[0]
    return (folders[-1] if stem in ("__init__", "index", "mod") and folders else stem).strip("_")


def _path_words(path: str) -> dict[str, float]:
    """Return the words of a path with weights; words of the file's own name have full weight."""
    *folders, name = path.split("/")
    words: dict[str, float] = {}
    own = file_subject(path)
    for piece in (*folders, name.rpartition(".")[0]):
        share = 1.0 if piece.strip("_") == own else 0.5
        for word in (piece.lower(), *identifier_terms(piece)):
            words[word] = max(words.get(word, 0.0), share)
    return words


def imported_neighbours(terrain: Corpus, best: Iterable[str]) -> dict[str, float]:
    """Return files that the likeliest files import, with weights."""
    weights: dict[str, float] = {}
    for path in best:
        others = imported_files(terrain.snapshot, path)
        for other in others:
            weights[other] = max(weights.get(other, 0.0), 1 / (1 + math.log(1 + len(others))))
    return weights


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


MOST_NAMES = 60
SHORTEST = 5
FULL_WEIGHT_RARITY = 6.0
"""Rarity from which a name has full weight."""


def find_identifier_uses(terrain: Corpus, clues: IssueTerms) -> IdentifierUses:
    """Look up the issue's names in the index."""
    names = {
        word
        for words in clues.zones.values()
        for word in words
        if len(word) >= SHORTEST and is_code_like(word)
    }
    files = max(1, len(terrain.snapshot.sources))
    worth: dict[str, float] = {}
    lines: dict[str, dict[str, tuple[int, ...]]] = {}
    for name in sorted(names, key=lambda name: (-clues.names.get(name, 0.0), name))[:MOST_NAMES]:
        name_uses = terrain.snapshot.uses_of_name(name)
        worth[name] = min(FULL_WEIGHT_RARITY, math.log(1 + files / (1 + len(name_uses)))) / FULL_WEIGHT_RARITY
        for use in name_uses:
            lines.setdefault(use.path, {})[name] = use.lines
    return IdentifierUses(worth=worth, lines=lines)


def _has_line_between(lines: tuple[int, ...], first: int, last: int) -> bool:
    index = bisect_left(lines, first)
    return index < len(lines) and lines[index] <= last


MOST_COMMITS = 1000
"""Number of commits to request."""
MIN_WORDS_FOR_REASON = 2
"""Words of the title that a commit must share to be given as a reason."""


@dataclass(frozen=True)
class RelatedFile:
    """A file changed by a commit with a similar subject."""

    path: str
    value: float
    """Summed rarity of the shared words, lower for a commit of many files."""
    reason: str


def find_related_files(clues: IssueTerms, recent: Sequence[CommitInfo]) -> Iterator[RelatedFile]:
    """Yield for each file the commit whose subject shares the most with the issue's title."""
    title = count_terms(" ".join(clues.zones["title"])).keys()
    subject_words = [count_terms(change.subject).keys() for change in recent]
    commit_counts = Counter(word for words in subject_words for word in words)
    best: dict[str, RelatedFile] = {}
    for change, words in zip(recent, subject_words, strict=True):
        if shared := sorted(words & title, key=lambda word: (commit_counts[word], word)):
            sources = max(1, sum(path.endswith(SOURCE_SUFFIXES) for path in change.paths))
            value = (
                sum(math.log(1 + len(recent) / (1 + commit_counts[word])) for word in shared) / sources**0.5
            )
            shared_text = ", ".join(clues.original_words(shared[:3]))
            reason = (
                f"changed by {change.commit[:10]}, about {shared_text}"
                if len(shared) >= MIN_WORDS_FOR_REASON
                else ""
            )
            for path in change.paths:
                if path not in best or best[path].value < value:
                    best[path] = RelatedFile(path, value, reason)
    yield from best.values()
