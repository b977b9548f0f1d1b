"""Ranking of the files and definitions of a tree for an issue, by words and by what it refers to otherwise.

Other references are paths, traceback frames, imports, messages and literals.
"""

import math
import re
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from coder.core.paths import is_test_path
from coder.files.tokenize import WORD, count_terms, identifier_terms
from coder.index.index import imported_files
from coder.index.parsers import Definition
from coder.index.snapshot import IndexSnapshot
from coder.retrieval.corpus import Corpus, TextMatches, match_terms
from coder.retrieval.issue_terms import COLUMN_SEPARATOR, IssueTerms, is_code_like, strip_private
from coder.workspace.workspace import FileIndex, extract_places, path_category, read_text_or_empty

MOST_CALLERS = 15
MIN_FILE_SCORE = -6.0
MOST_FILES = 50
MOST_SYMBOLS = 60
MAX_EXPLAINED = 12
"""Number of results with reasons."""
ABOUT_TYPES = re.compile(
    r"\.d\.[cm]?ts\b|\btyped?\b|\btypings?\b|typescript|\btypes?\b.*\b(?:definition|declaration|export)"
    r"|\b(?:definition|declaration|export)s?\b.*\btypes?\b|\bflow\b|\bstubs?\b",
    re.IGNORECASE,
)
"""Titles of issues whose place may be a file of type declarations."""
MOST_DEFINITIONS = 260
NAME_WORD_WEIGHT = 0.35
"""Extra weight of words in a definition's name when candidates are selected."""
CALL = re.compile(r"\b([A-Za-z_]\w{2,})\(")
MOST_NAMESAKE_FILES, MOST_NAMESAKES = 6, 3
"""A callee of a name with more is not looked for in other files."""
UNKNOWN_RARITY = 6.0
"""Rarity of a word whose postings were not read."""
FeatureValues = dict[str, float]


@dataclass(frozen=True, kw_only=True)
class RankedPlace:
    """A file, or a definition of it, that an issue may be about."""

    path: str
    item: Definition | None = None
    """None: the file."""
    score: float
    """Only differences are meaningful."""
    reasons: tuple[str, ...] = ()
    """Only for the likeliest few."""
    is_pointed_at: bool = False
    """Whether a message, a line number or the innermost frame in the issue identifies it, not only words."""

    @property
    def name(self) -> str:
        """Identifier such as `path::Class.method`."""
        return f"{self.path}::{self.item.name}" if self.item else self.path


@dataclass(frozen=True, kw_only=True)
class Localization:
    """Candidate places of an issue's code, likeliest first."""

    files: tuple[RankedPlace, ...] = ()
    symbols: tuple[RankedPlace, ...] = ()


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
    pointed: "ReferenceEvidence"

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
        evidence |= {1: {"test": 1.0}, 2: {"aside": 1.0}}.get(path_category(path), {})
        evidence |= self._name_evidence(item.bare_name)
        owner = item.name.rpartition(".")[0].rpartition(".")[2]
        if owner in self.clues.zones["title"]:
            evidence["owner in title"] = self._name_weight(owner)
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
        if bare.islower() and not is_code_like(bare) and {"inline", "block"}.isdisjoint(zones):
            return evidence
        evidence |= {f"named in {zone}": self._name_weight(bare) for zone in zones}
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

    def _name_weight(self, bare: str) -> float:
        """Return a weight that is lower for names that many files define."""
        paths = self.terrain.snapshot.files_defining(bare)
        return float(max(1, sum(path_category(path) == 0 for path in paths)) ** -0.5)

    def weighted_callees(
        self, callers: Sequence[DefinitionCandidate]
    ) -> Iterator[tuple[str, Definition, float]]:
        """Yield definitions that the likeliest ones call: path, definition, and weight."""
        snapshot = self.terrain.snapshot
        for order, caller in enumerate(callers):
            lines = read_text_or_empty(snapshot.root, caller.path).split("\n")
            code = "\n".join(lines[caller.item.start - 1 : caller.item.end])
            for name in dict.fromkeys(CALL.findall(code)):
                places = [
                    (caller.path, item)
                    for item in snapshot.definitions(caller.path)
                    if item.bare_name == name and item.kind != "variable"
                ]
                worth = (1.0 if places else 0.7) / (1 + order / 3)
                for path, item in places or self._definitions_elsewhere(name):
                    if (path, item.name) != caller.key:
                        yield path, item, worth / max(1, len(places)) ** 0.5

    def _definitions_elsewhere(self, name: str) -> list[tuple[str, Definition]]:
        """Return the definitions of a name outside of tests, none if there are too many."""
        snapshot = self.terrain.snapshot
        if len(snapshot.files_defining(name)) > MOST_NAMESAKE_FILES:
            return []
        places = [
            (place.path, place.definition)
            for place in snapshot.definitions_named(name)
            if path_category(place.path) == 0 and place.definition
        ]
        return places if len(places) <= MOST_NAMESAKES else []

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


def locate_issue(snapshot: IndexSnapshot, issue_clues: IssueTerms) -> Localization:
    """Rank the files and definitions of a tree for an issue."""
    terrain = Corpus(
        snapshot,
        tests=is_about_tests(snapshot, issue_clues),
        declarations=ABOUT_TYPES.search(issue_clues.title) is not None,
    )
    return rank_places(
        IssueMatch(
            terrain=terrain,
            clues=issue_clues,
            matches=match_terms(terrain, issue_clues),
            pointed=collect_references(terrain, issue_clues),
        )
    )


def is_about_tests(snapshot: IndexSnapshot, issue_clues: IssueTerms) -> bool:
    """Tell whether the issue mentions tests in its title, and names one of the tree's own."""
    if not any(word.lower().rstrip("s") in ("test", "testing") for word in issue_clues.zones["title"]):
        return False
    worktree_files = FileIndex(snapshot.paths)
    test_names = (word for word in issue_clues.names if word.startswith("test_"))
    return any(len(snapshot.files_defining(word)) == 1 for word in test_names) or any(
        is_test_path(path)
        for frame in issue_clues.frames
        for path in worktree_files.files_with_suffix(frame.path)
    )


def rank_places(case: IssueMatch) -> Localization:
    """Score candidates and files, and return them likeliest first."""
    candidates, scored = collect_definition_features(case)
    files = case.file_features(scored)
    file_scores = {path: weighted_sum(evidence, FILE_WEIGHTS) for path, evidence in files.items()}
    best = max(file_scores.values(), default=0.0)
    scores = {
        candidate.key: weighted_sum(candidate.evidence, DEFINITION_WEIGHTS)
        + FILE_SCORE_WEIGHT * max(MIN_FILE_SCORE, file_scores.get(candidate.path, MIN_FILE_SCORE) - best)
        for candidate in candidates
    }
    by_score = sorted(
        candidates, key=lambda candidate: (-scores[candidate.key], candidate.path, candidate.item.start)
    )
    by_file: dict[str, list[DefinitionCandidate]] = defaultdict(list)
    for candidate in by_score:
        by_file[candidate.path].append(candidate)
    paths = sorted(file_scores, key=lambda path: (-file_scores[path], path))[:MOST_FILES]
    return Localization(
        files=tuple(
            RankedPlace(
                path=path,
                score=file_scores[path],
                reasons=first_reasons(_file_reasons(case, path, files[path], by_file), order),
            )
            for order, path in enumerate(paths)
        ),
        symbols=tuple(
            RankedPlace(
                path=candidate.path,
                item=candidate.item,
                score=scores[candidate.key],
                reasons=first_reasons(_definition_reasons(case, candidate), order),
                is_pointed_at=any(candidate.evidence.get(kind, 0.0) > FEW_PLACES for kind in POINTERS),
            )
            for order, candidate in enumerate(by_score[:MOST_SYMBOLS])
        ),
    )


def collect_definition_features(
    case: IssueMatch,
) -> tuple[list[DefinitionCandidate], dict[tuple[str, str], float]]:
    """Return the candidates with all evidence, and their scores."""
    candidates = {candidate.key: candidate for candidate in case.collect_candidates()}
    scored = {
        key: weighted_sum(candidate.evidence, DEFINITION_WEIGHTS) for key, candidate in candidates.items()
    }
    callers = sorted(
        candidates.values(),
        key=lambda candidate: (-scored[candidate.key], candidate.path, candidate.item.start),
    )[:MOST_CALLERS]
    for path, definition, value in case.weighted_callees(callers):
        candidate = candidates.setdefault(
            (path, definition.name),
            DefinitionCandidate(
                path=path, item=definition, evidence=case.definition_features(path, definition, 0.0)
            ),
        )
        candidate.evidence["callee"] = max(candidate.evidence.get("callee", 0.0), value)
    return list(candidates.values()), {
        key: weighted_sum(candidate.evidence, DEFINITION_WEIGHTS) for key, candidate in candidates.items()
    }


def weighted_sum(evidence: FeatureValues, weights: Mapping[str, float]) -> float:
    """Return the weighted sum; evidence without a weight is ignored."""
    return sum(weights.get(kind, 0.0) * value for kind, value in evidence.items())


DEFINITION_WEIGHTS = {
    "words": 0.68,
    "name said": 0.94,
    "name in title": 0.21,
    "named in title": 0.29,
    "named in inline": 0.78,
    "named in block": 0.46,
    "owner in title": 1.36,
    "callee": 0.3,
    "message": 3.0,
    "line": 3.92,
    "frame": 0.97,
    "innermost frame": 1.37,
    "tested": 0.75,
    "size": 0.54,
    "class": -0.59,
    "method": 0.19,
    "function": 0.34,
    "aside": -1.58,
    "test": -1.29,
}
"""By kind; a score is their sum, so that its differences are log odds."""
FILE_WEIGHTS = {
    "words": 0.28,
    "definitions": 0.45,
    "best definition": 0.1,
    "path said": 0.75,
    "path in title": 0.4,
    "stem in title": 0.65,
    "path": 0.5,
    "tested": 2.0,
    "message": 0.35,
    "innermost frame": 0.2,
    "package": -0.35,
    "aside": -1.3,
    "test": -0.5,
}
POINTERS = ("message", "line", "innermost frame")
FEW_PLACES = 0.5
"""Evidence that three places share is 0.58 for each, that four share 0.5."""
FILE_SCORE_WEIGHT = 0.54
MOST_REASONS = 3
MOST_WORDS = 3
MIN_CALLEE_EVIDENCE = 0.5
"""Least value at which a call from a likely definition is given as a reason."""
ZONE_LABELS = {
    "title": "the title",
    "inline": "code",
    "block": "its example",
    "name": "the text",
    "prose": "the text",
}


def first_reasons(reasons: Iterator[str], order: int) -> tuple[str, ...]:
    """Return the strongest few reasons of the place that is `order`-th, none after the likeliest places."""
    return tuple(dict.fromkeys(reasons))[:MOST_REASONS] if order < MAX_EXPLAINED else ()


def _definition_reasons(case: IssueMatch, candidate: DefinitionCandidate) -> Iterator[str]:
    yield from case.pointed.reasons.get(candidate.key, ())
    zones = [zone for zone in ZONE_LABELS if f"named in {zone}" in candidate.evidence]
    if zones:
        yield f"defines {candidate.item.bare_name}, named in {ZONE_LABELS[zones[0]]}"
    owner = candidate.item.name.rpartition(".")[0].rpartition(".")[2]
    if "owner in title" in candidate.evidence:
        yield f"of {owner}, which is named"
    if candidate.evidence.get("callee", 0.0) >= MIN_CALLEE_EVIDENCE:
        yield "called by a likely place"
    name_words = [word for word in identifier_terms(candidate.item.bare_name) if word in case.matches.weights]
    if name_words and not zones:
        yield f"its name says {', '.join(case.clues.original_words(name_words[:MOST_WORDS]))}"
    if words := _distinctive_words(case, candidate):
        yield f"says {', '.join(words)}"


def _distinctive_words(case: IssueMatch, candidate: DefinitionCandidate) -> list[str]:
    lines = read_text_or_empty(case.terrain.snapshot.root, candidate.path).split("\n")[
        candidate.item.start - 1 : candidate.item.end
    ]
    weights = case.matches.weights
    shared_words = count_terms("\n".join(lines)).keys() & weights.keys()
    return case.clues.original_words(
        sorted(shared_words, key=lambda word: (-weights[word], word))[:MOST_WORDS]
    )


def _file_reasons(
    case: IssueMatch, path: str, evidence: FeatureValues, by_file: Mapping[str, list[DefinitionCandidate]]
) -> Iterator[str]:
    yield from filter(None, case.pointed.reasons.get((path, ""), ()))
    if "stem in title" in evidence:
        yield "its name is in the title"
    for candidate in by_file.get(path, [])[:1]:
        for reason in first_reasons(_definition_reasons(case, candidate), 0)[:2]:
            bare = candidate.item.bare_name
            yield reason if bare in reason else f"{bare}: {reason}"
    if is_test_path(path):
        yield "a test"


MAX_MESSAGE_DOCUMENTS = 60
"""Limit of documents that contain all words of a message: with more, none is read."""
FRAME_DECAY = 0.3
SPECIFIER = re.compile(
    r"""(?:\bfrom|\brequire\(|\bimport\(?)\s*["'](?:\.{1,2}/|(?:@[\w-]+/)?[\w-]+/){1,9}?"""
    r"""((?:[\w-]+/){0,9}[\w-]+)(?:\.\w+)?["']"""
)
"""A module below a package or a folder, as JavaScript imports it."""
ADJACENT_LITERALS = re.compile(r"[\"']\s*\n\s*[rfubRFUB]?[\"']")


@dataclass(kw_only=True)
class ReferenceEvidence:
    """Evidence by place: strength of each kind of reference to a file, or to a definition in it."""

    files: dict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    definitions: dict[tuple[str, str], dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    """By path and qualified name."""
    reasons: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    """By path and qualified name; the name is empty for a file as a whole."""

    def add(self, path: str, kind: str, value: float, *, name: str = "", reason: str = "") -> None:
        """Add evidence of one kind for a place; the highest value of a kind counts."""
        kinds = self.definitions[(path, name)] if name else self.files[path]
        kinds[kind] = max(kinds.get(kind, 0.0), value)
        if reason and reason not in self.reasons[(path, name)]:
            self.reasons[(path, name)].append(reason)

    def drop(self, paths: Container[str]) -> None:
        """Remove the evidence for files that cannot be places."""
        for path in [path for path in self.files if path in paths]:
            del self.files[path]
        for place in [place for place in self.definitions if place[0] in paths]:
            del self.definitions[place]


def collect_references(terrain: Corpus, clues: IssueTerms) -> ReferenceEvidence:
    evidence = ReferenceEvidence()
    worktree_files = FileIndex(terrain.snapshot.paths)
    _add_paths(terrain, clues, worktree_files, evidence)
    _add_specifiers(terrain, clues, evidence)
    _add_frames(terrain, clues, worktree_files, evidence)
    _add_messages(terrain, clues, evidence)
    _add_sole_literals(terrain, clues, evidence)
    evidence.drop({path for path in terrain.snapshot.paths if terrain.is_left_out(path)})
    return evidence


def _add_paths(
    terrain: Corpus, clues: IssueTerms, worktree_files: FileIndex, evidence: ReferenceEvidence
) -> None:
    for path_text, line in extract_places(clues.text):
        files = worktree_files.files_with_suffix(path_text)
        for path in files:
            evidence.add(path, "path", 1 / len(files), reason="named in the issue")
            if path_category(path) == 1:
                _add_tested_files(terrain, path, 1 / len(files), evidence)
            if line and not clues.frames:
                for definition in _definitions_around(terrain, path, line)[-1:]:
                    evidence.add(path, "line", 1.0, name=definition.name, reason=f"line {line} is named")


def _add_specifiers(terrain: Corpus, clues: IssueTerms, evidence: ReferenceEvidence) -> None:
    """Add the modules that the issue's JavaScript imports below a package, such as `shop/plugin/tax`."""
    for specifier in dict.fromkeys(SPECIFIER.findall(clues.text)):
        modules = {path: path.rpartition(".")[0].removesuffix("/index") for path in terrain.paths}
        paths = [path for path, module in modules.items() if f"/{module}".endswith(f"/{specifier}")]
        for path in paths:
            evidence.add(path, "path", 1 / len(paths), reason="imported in the issue")


def _add_tested_files(terrain: Corpus, test: str, share: float, evidence: ReferenceEvidence) -> None:
    """Add the imports of a test file as its likely subjects; the module it is named after counts more."""
    sources = [path for path in sorted(imported_files(terrain.snapshot, test)) if path_category(path) == 0]
    *folders, name = test.split("/")
    subjects = [{*identifier_terms(piece.partition(".")[0])} - {"test"} for piece in (name, *folders[-1:])]
    subject = next(filter(None, subjects), set())
    for path in sources:
        path_words = {piece for part in path.partition(".")[0].split("/") for piece in identifier_terms(part)}
        is_namesake = bool(subject) and {word for word in subject if "_" not in word} <= path_words
        evidence.add(
            path,
            "tested",
            share if is_namesake else share / (1 + len(sources)),
            reason=f"tested by {test}" if is_namesake else "",
        )


def _definitions_around(terrain: Corpus, path: str, line: int) -> list[Definition]:
    return [
        definition
        for definition in terrain.snapshot.definitions(path)
        if definition.kind != "variable" and definition.start <= line <= definition.end
    ]


def _add_frames(
    terrain: Corpus, clues: IssueTerms, worktree_files: FileIndex, evidence: ReferenceEvidence
) -> None:
    """Add the frames inside the tree, innermost first."""
    innermost = True
    distance = 0
    for frame in reversed(clues.frames):
        for path in worktree_files.files_with_suffix(frame.path)[:2]:
            by_name = [
                definition
                for definition in terrain.snapshot.definitions(path)
                if definition.bare_name == frame.function and definition.kind != "variable"
            ]
            definitions = (
                by_name
                if len(by_name) == 1
                else [
                    definition
                    for definition in _definitions_around(terrain, path, frame.line)
                    if definition.kind != "class"
                ][-1:]
                or by_name
            )
            is_source = path_category(path) == 0
            evidence.add(path, "frame", 1 / (1 + FRAME_DECAY * distance), reason="in the traceback")
            if innermost and is_source:
                evidence.add(path, "innermost frame", 1.0)
            for definition in definitions:
                evidence.add(
                    path,
                    "frame",
                    1 / (1 + FRAME_DECAY * distance),
                    name=definition.name,
                    reason="in the traceback",
                )
                if innermost and is_source:
                    evidence.add(path, "innermost frame", 1.0, name=definition.name)
            innermost = innermost and not is_source
            distance += 1


def _add_messages(terrain: Corpus, clues: IssueTerms, evidence: ReferenceEvidence) -> None:
    """Add definitions that contain a quoted message, apart from filled-in parts."""
    for phrase in clues.phrases:
        matches = list(_definitions_containing(terrain, phrase))
        said = phrase.replace(COLUMN_SEPARATOR, " ").replace('"', "")[:50]
        for path, definition in matches:
            evidence.add(
                path,
                "message",
                len(matches) ** -0.5,
                name=definition.name if definition else "",
                reason=f"says {said!r}",
            )
            evidence.add(path, "message", len(matches) ** -0.5, reason=f"says {said!r}")
            if definition is None:
                _add_users_of_message(terrain, path, phrase, evidence)


def _add_users_of_message(terrain: Corpus, path: str, phrase: str, evidence: ReferenceEvidence) -> None:
    """Add the functions that use a variable which holds a message."""
    lines = _lines_without_docstrings(terrain, path)
    for variable in terrain.snapshot.definitions(path):
        code = "\n".join(lines[variable.start - 1 : variable.end])
        if variable.kind != "variable" or not _says(code, phrase):
            continue
        users = {
            (use.path, around[-1].name)
            for use in terrain.snapshot.uses_of_name(variable.bare_name)
            if path_category(use.path) == 0
            for line in use.lines
            if (around := _definitions_around(terrain, use.path, line))
        }
        for user_path, name in users if len(users) <= MOST_NAMESAKES else ():
            reason = f"uses {variable.bare_name}, the issue's message"
            evidence.add(user_path, "message", len(users) ** -0.5, name=name, reason=reason)
            evidence.add(user_path, "message", len(users) ** -0.5, reason=reason)


def _add_sole_literals(terrain: Corpus, clues: IssueTerms, evidence: ReferenceEvidence) -> None:
    """Add the place of a string that the issue writes, where a single source file holds it."""
    for literal in clues.literals:
        matches = [
            (path, definition)
            for path, definition in _definitions_containing(terrain, f'"{literal}"')
            if path_category(path) == 0
        ]
        if len({path for path, _ in matches}) != 1:
            continue
        for path, definition in matches:
            reason = f"the only file with {literal!r}"
            value = len(matches) ** -0.5
            evidence.add(path, "message", value, name=definition.name if definition else "", reason=reason)
            evidence.add(path, "message", value, reason=reason)


def _definitions_containing(terrain: Corpus, phrase: str) -> Iterator[tuple[str, Definition | None]]:
    words = dict.fromkeys(part for word in WORD.findall(phrase) for part in identifier_terms(word))
    sets = sorted(({entry >> 8 for entry in terrain.postings(word)} for word in words), key=len)
    documents = set.intersection(*sets) if sets else set()
    if len(documents) > MAX_MESSAGE_DOCUMENTS:
        return
    files: dict[str, list[str]] = {}
    for document in sorted(documents):
        path = terrain.paths[terrain.owners[document] - 1]
        if path not in files:
            files[path] = _lines_without_docstrings(terrain, path)
        place = terrain.definition_place(document)
        definition = place.definition if place else None
        lines = files[path][definition.start - 1 : definition.end] if definition else files[path]
        if _says("\n".join(lines), phrase):
            yield path, definition


def _says(code: str, phrase: str) -> bool:
    """Tell whether code holds all parts of a phrase, also in literals that follow each other."""
    joined = ADJACENT_LITERALS.sub("", code).replace("'", '"').lower()
    return all(part in joined for part in phrase.replace("'", '"').lower().split(COLUMN_SEPARATOR))


def _lines_without_docstrings(terrain: Corpus, path: str) -> list[str]:
    """Return a file's lines, those of docstrings empty: an example that quotes a message does not make it."""
    lines = read_text_or_empty(terrain.snapshot.root, path).split("\n")
    for definition in terrain.snapshot.definitions(path):
        start, end = definition.docstring
        if start:
            lines[start - 1 : end] = [""] * (end - start + 1)
    return lines
