"""Ranking of the files and definitions of a tree for an issue, without a model."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coder.core.values.history import CommitInfo
from coder.core.values.paths import is_test_path
from coder.index.definition import Definition
from coder.index.snapshot import IndexSnapshot
from coder.retrieval.locating.corpus import Corpus
from coder.retrieval.locating.explanations import explain_definition, explain_file
from coder.retrieval.locating.features import (
    DefinitionCandidate,
    FeatureValues,
    IssueMatch,
    imported_neighbours,
)
from coder.retrieval.locating.identifier_uses import find_identifier_uses
from coder.retrieval.locating.issue_terms import IssueTerms
from coder.retrieval.locating.references import collect_references
from coder.retrieval.locating.text_match import match_terms
from coder.retrieval.locating.weights import DEFINITION_WEIGHTS, FILE_SCORE_WEIGHT, FILE_WEIGHTS
from coder.workspace.places import FileIndex

MOST_CALLERS = 15
MAX_NEIGHBOUR_SOURCES = 8
MIN_FILE_SCORE = -6.0
MOST_FILES = 50
MOST_SYMBOLS = 60
MAX_EXPLAINED = 12
"""Number of results with reasons."""


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

    @property
    def name(self) -> str:
        """Identifier such as `path::Class.method`."""
        return f"{self.path}::{self.item.name}" if self.item else self.path


@dataclass(frozen=True, kw_only=True)
class Localization:
    """Candidate places of an issue's code, likeliest first."""

    files: tuple[RankedPlace, ...] = ()
    symbols: tuple[RankedPlace, ...] = ()


def locate_issue(
    snapshot: IndexSnapshot, issue_clues: IssueTerms, recent: Sequence[CommitInfo] = ()
) -> Localization:
    """Rank by the tree, the issue and, where available, its `recent` commits, newest first."""
    terrain = Corpus(snapshot, tests=is_about_tests(snapshot, issue_clues))
    text_matches, references, name_uses = (
        match_terms(terrain, issue_clues),
        collect_references(terrain, issue_clues, recent),
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
    """Return all evidence for each file."""
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
