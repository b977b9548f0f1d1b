"""Ranking of the files and definitions of a tree for an issue, without a model."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from coder.core.paths import is_test_path
from coder.files.tokenize import count_terms, identifier_terms
from coder.index.parsers import Definition
from coder.index.snapshot import IndexSnapshot
from coder.retrieval.corpus import Corpus, find_identifier_uses, match_terms
from coder.retrieval.features import DefinitionCandidate, FeatureValues, IssueMatch, imported_neighbours
from coder.retrieval.issue_terms import IssueTerms
from coder.retrieval.references import collect_references
from coder.workspace.workspace import FileIndex, read_text_or_empty

MOST_CALLERS = 15
MAX_NEIGHBOUR_SOURCES = 8
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


def locate_issue(snapshot: IndexSnapshot, issue_clues: IssueTerms) -> Localization:
    """Rank the files and definitions of a tree for an issue."""
    terrain = Corpus(
        snapshot,
        tests=is_about_tests(snapshot, issue_clues),
        declarations=ABOUT_TYPES.search(issue_clues.title) is not None,
    )
    text_matches, references, name_uses = (
        match_terms(terrain, issue_clues),
        collect_references(terrain, issue_clues),
        find_identifier_uses(terrain, issue_clues),
    )
    return rank_places(
        IssueMatch(
            terrain=terrain, clues=issue_clues, matches=text_matches, pointed=references, uses=name_uses
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
    files = collect_file_features(case, scored)
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
                reasons=explain_file(case, path, files[path], by_file) if order < MAX_EXPLAINED else (),
            )
            for order, path in enumerate(paths)
        ),
        symbols=tuple(
            RankedPlace(
                path=candidate.path,
                item=candidate.item,
                score=scores[candidate.key],
                reasons=explain_definition(case, candidate) if order < MAX_EXPLAINED else (),
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
    for outer in callers:
        candidates |= {
            candidate.key: candidate
            for candidate in case.nested_candidates(outer)
            if candidate.key not in candidates
        }
    return list(candidates.values()), {
        key: weighted_sum(candidate.evidence, DEFINITION_WEIGHTS) for key, candidate in candidates.items()
    }


def collect_file_features(
    case: IssueMatch, scored: Mapping[tuple[str, str], float]
) -> dict[str, FeatureValues]:
    files = case.file_features(scored)
    best = sorted(files, key=lambda path: (-weighted_sum(files[path], FILE_WEIGHTS), path))[
        :MAX_NEIGHBOUR_SOURCES
    ]
    for path, value in imported_neighbours(case.terrain, best).items():
        if path in files:
            files[path]["neighbour"] = value
    return files


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
    "called": 0.47,
    "qualified": 1.41,
    "owner in title": 1.36,
    "callee": 0.3,
    "resolved": 0.3,
    "message": 3.0,
    "line": 3.92,
    "frame": 0.97,
    "innermost frame": 1.37,
    "uses": 0.19,
    "tested": 0.75,
    "size": 0.54,
    "class": -0.59,
    "method": 0.19,
    "function": 0.34,
    "special": 0.65,
    "aside": -1.58,
    "test": -1.29,
    "owner in prose": 0.81,
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
    "neighbour": 0.45,
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
MOST_USED = 2
MIN_CALLEE_EVIDENCE = 0.5
"""Least value at which a call from a likely definition is given as a reason."""
ZONE_LABELS = {
    "title": "the title",
    "inline": "code",
    "block": "its example",
    "name": "the text",
    "prose": "the text",
}


def explain_definition(case: IssueMatch, candidate: DefinitionCandidate) -> tuple[str, ...]:
    """Return the strongest few reasons."""
    return tuple(dict.fromkeys(_definition_reasons(case, candidate)))[:MOST_REASONS]


def _definition_reasons(case: IssueMatch, candidate: DefinitionCandidate) -> Iterator[str]:
    yield from case.pointed.reasons.get(candidate.key, ())
    zones = [zone for zone in ZONE_LABELS if f"named in {zone}" in candidate.evidence]
    if zones:
        yield f"defines {candidate.item.bare_name}, named in {ZONE_LABELS[zones[0]]}"
    owner = candidate.item.name.rpartition(".")[0].rpartition(".")[2]
    if any(f"owner in {zone}" in candidate.evidence for zone in ZONE_LABELS):
        yield f"of {owner}, which is named"
    if candidate.evidence.get("callee", 0.0) >= MIN_CALLEE_EVIDENCE:
        yield "called by a likely place"
    if used_names := case.uses.uses_in(candidate.path, candidate.item)[:MOST_USED]:
        yield f"uses {', '.join(used_names)}"
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


def explain_file(
    case: IssueMatch, path: str, evidence: FeatureValues, by_file: Mapping[str, list[DefinitionCandidate]]
) -> tuple[str, ...]:
    """Return the strongest few reasons, those of its likeliest definition after its own."""
    return tuple(dict.fromkeys(_file_reasons(case, path, evidence, by_file)))[:MOST_REASONS]


def _file_reasons(
    case: IssueMatch, path: str, evidence: FeatureValues, by_file: Mapping[str, list[DefinitionCandidate]]
) -> Iterator[str]:
    yield from filter(None, case.pointed.reasons.get((path, ""), ()))
    if "stem in title" in evidence:
        yield "its name is in the title"
    definition_reasons = [
        (candidate.item.bare_name, reason)
        for candidate in by_file.get(path, [])[:1]
        for reason in explain_definition(case, candidate)[:2]
    ]
    for bare, reason in definition_reasons:
        yield reason if bare in reason else f"{bare}: {reason}"
    if not any(reason.startswith("says ") for _, reason in definition_reasons) and (
        distinctive := case.distinctive_words(path)[:MOST_WORDS]
    ):
        yield f"says {', '.join(distinctive)}"
    if is_test_path(path):
        yield "a test"
