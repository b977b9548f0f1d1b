"""Ranking of the files and definitions of a tree for an issue, without a model."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coder.core.values.history import Change
from coder.core.values.paths import is_test_path
from coder.index.definition import Definition
from coder.index.snapshot import Snapshot
from coder.retrieval.locating.corpus import Terrain
from coder.retrieval.locating.explanations import of_definition, of_file
from coder.retrieval.locating.features import Candidate, Case, Evidence, neighbours
from coder.retrieval.locating.identifier_uses import uses
from coder.retrieval.locating.issue_terms import Clues
from coder.retrieval.locating.references import pointed
from coder.retrieval.locating.text_match import matches
from coder.retrieval.locating.weights import DEFINITION, FILE, OF_FILE
from coder.workspace.places import Known

MOST_CALLERS = 15
MOST_NEIGHBOURED = 8
LEAST_OF_FILE = -6.0
MOST_FILES = 50
MOST_SYMBOLS = 60
EXPLAINED = 12
"""Number of results with reasons."""


@dataclass(frozen=True, kw_only=True)
class Likely:
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
class Located:
    """Candidate places of an issue's code, likeliest first."""

    files: tuple[Likely, ...] = ()
    symbols: tuple[Likely, ...] = ()


def locate(snapshot: Snapshot, issue_clues: Clues, recent: Sequence[Change] = ()) -> Located:
    """Rank by the tree, the issue and, where available, its `recent` commits, newest first."""
    terrain = Terrain(snapshot, tests=about_tests(snapshot, issue_clues))
    text_matches, references, name_uses = (
        matches(terrain, issue_clues),
        pointed(terrain, issue_clues, recent),
        uses(terrain, issue_clues),
    )
    return ranked(
        Case(terrain=terrain, clues=issue_clues, matches=text_matches, pointed=references, uses=name_uses)
    )


def about_tests(snapshot: Snapshot, issue_clues: Clues) -> bool:
    """Tell whether the issue mentions tests in its title, and names one of the tree's own."""
    if not any(word.lower().rstrip("s") in ("test", "testing") for word in issue_clues.zones["title"]):
        return False
    worktree_files = Known(snapshot.paths)
    test_names = (word for word in issue_clues.names if word.startswith("test_"))
    return any(len(snapshot.definers(word)) == 1 for word in test_names) or any(
        is_test_path(path) for frame in issue_clues.frames for path in worktree_files.files(frame.path)
    )


def ranked(case: Case) -> Located:
    """Score candidates and files, and return them likeliest first."""
    candidates, scored = definition_evidence(case)
    files = file_evidence(case, scored)
    file_scores = {path: total(evidence, FILE) for path, evidence in files.items()}
    best = max(file_scores.values(), default=0.0)
    scores = {
        candidate.key: total(candidate.evidence, DEFINITION)
        + OF_FILE * max(LEAST_OF_FILE, file_scores.get(candidate.path, LEAST_OF_FILE) - best)
        for candidate in candidates
    }
    by_score = sorted(
        candidates, key=lambda candidate: (-scores[candidate.key], candidate.path, candidate.item.start)
    )
    by_file: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in by_score:
        by_file[candidate.path].append(candidate)
    paths = sorted(file_scores, key=lambda path: (-file_scores[path], path))[:MOST_FILES]
    return Located(
        files=tuple(
            Likely(
                path=path,
                score=file_scores[path],
                reasons=of_file(case, path, files[path], by_file) if order < EXPLAINED else (),
            )
            for order, path in enumerate(paths)
        ),
        symbols=tuple(
            Likely(
                path=candidate.path,
                item=candidate.item,
                score=scores[candidate.key],
                reasons=of_definition(case, candidate) if order < EXPLAINED else (),
            )
            for order, candidate in enumerate(by_score[:MOST_SYMBOLS])
        ),
    )


def definition_evidence(case: Case) -> tuple[list[Candidate], dict[tuple[str, str], float]]:
    """Return the candidates with all evidence, and their scores."""
    candidates = {candidate.key: candidate for candidate in case.candidates()}
    scored = {key: total(candidate.evidence, DEFINITION) for key, candidate in candidates.items()}
    callers = sorted(
        candidates.values(),
        key=lambda candidate: (-scored[candidate.key], candidate.path, candidate.item.start),
    )[:MOST_CALLERS]
    for path, definition, value in case.callees(callers):
        candidate = candidates.setdefault(
            (path, definition.name),
            Candidate(path=path, item=definition, evidence=case.evidence(path, definition, 0.0)),
        )
        candidate.evidence["callee"] = max(candidate.evidence.get("callee", 0.0), value)
    for outer in callers:
        candidates |= {
            candidate.key: candidate for candidate in case.nested(outer) if candidate.key not in candidates
        }
    return list(candidates.values()), {
        key: total(candidate.evidence, DEFINITION) for key, candidate in candidates.items()
    }


def file_evidence(case: Case, scored: Mapping[tuple[str, str], float]) -> dict[str, Evidence]:
    """Return all evidence for each file."""
    files = case.files(scored)
    best = sorted(files, key=lambda path: (-total(files[path], FILE), path))[:MOST_NEIGHBOURED]
    for path, value in neighbours(case.terrain, best).items():
        if path in files:
            files[path]["neighbour"] = value
    return files


def total(evidence: Evidence, weights: Mapping[str, float]) -> float:
    """Return the weighted sum; evidence without a weight is ignored."""
    return sum(weights.get(kind, 0.0) * value for kind, value in evidence.items())
