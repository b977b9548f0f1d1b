"""Features of definitions and files, as numbers to be combined by weights."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from coder.files.tokenize import identifier_terms
from coder.index.parsers import Definition
from coder.index.resolve import imported_files
from coder.retrieval.corpus import Corpus, IdentifierUses, TextMatches, score_text
from coder.retrieval.issue_terms import IssueTerms, is_code_like, strip_private
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


@dataclass(frozen=True, kw_only=True)
class IssueMatch:
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
        if item.bare_name.startswith("__") and item.bare_name != "__init__":
            evidence["special"] = 1.0
        evidence |= {1: {"test": 1.0}, 2: {"aside": 1.0}}.get(path_category(path), {})
        evidence |= self._name_evidence(item.bare_name)
        if owner := item.name.rpartition(".")[0].rpartition(".")[2]:
            evidence |= self._owner_evidence(owner, item.bare_name)
        if used_names := self.uses.uses_in(path, item):
            evidence["uses"] = sum(self.uses.worth[name] for name in used_names)
        if test_evidence := self.pointed.files.get(path, {}).get("tested"):
            evidence["tested"] = test_evidence
        evidence |= self.pointed.definitions.get((path, item.name), {})
        return evidence

    def _name_evidence(self, bare: str) -> FeatureValues:
        """Return evidence from the name: zones that mention it, and the share of its words in the issue.

        A name that is a plain word, such as `fail`, is mentioned by code only: prose says it for itself.
        """
        evidence: FeatureValues = {}
        plain = strip_private(bare)
        zones = [
            zone
            for zone, words in self.clues.zones.items()
            if bare in words or (len(plain) > 3 and plain in words)
        ]
        is_code = bare in self.clues.called or not {"inline", "block"}.isdisjoint(zones)
        if bare.islower() and not is_code_like(bare) and not is_code:
            return evidence
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
        is_project = owner.lower() in self._project_names
        zones = [
            zone
            for zone in ("title", "inline", "block", "name", "prose")
            if owner in self.clues.zones[zone] and not is_project
        ]
        if zones:
            evidence |= {f"owner in {zone}": self._name_weight(owner) for zone in zones}
            if f"{owner}.{bare}" in self.clues.text or f"{owner}.{bare}" in self.clues.qualified_methods:
                evidence["qualified"] = 1.0
        return evidence

    @cached_property
    def _project_names(self) -> frozenset[str]:
        """The top packages, in lower case: an issue that says Flask rarely means the class."""
        packages = re.compile(r"(?:src/|lib/)?(\w+)/__init__\.py")
        matches = (packages.fullmatch(path) for path in self.terrain.snapshot.paths)
        return frozenset(match[1].lower() for match in matches if match)

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
            evidence |= {"package": 1.0} if path.endswith("__init__.py") else {}
            evidence |= {1: {"test": 1.0}, 2: {"aside": 1.0}}.get(path_category(path), {})
        return evidence_by_path

    def distinctive_words(self, path: str) -> list[str]:
        worth_by_word = self.matches.telling.get(self._numbers.get(path, -1), {})
        return self.clues.original_words(sorted(worth_by_word, key=lambda word: (-worth_by_word[word], word)))

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
                if own in title:
                    evidence_by_path[path]["stem in title"] = max(1, path_counts[own]) ** -0.5


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
