"""Rank the files and definitions of a tree by what an issue says, with no model."""

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
"""Of so many the reasons are told."""


@dataclass(frozen=True, kw_only=True)
class Likely:
    """A file, or a definition of it, that an issue may be about."""

    path: str
    item: Definition | None = None
    """None: the file."""
    score: float
    """Only differences mean something."""
    reasons: tuple[str, ...] = ()
    """Of the likeliest few."""

    @property
    def name(self) -> str:
        """As in `path::Class.method`."""
        return f"{self.path}::{self.item.name}" if self.item else self.path


@dataclass(frozen=True, kw_only=True)
class Located:
    """Where an issue's code may stand, likeliest first."""

    files: tuple[Likely, ...] = ()
    symbols: tuple[Likely, ...] = ()


def locate(snapshot: Snapshot, told: Clues, recent: Sequence[Change] = ()) -> Located:
    """Rank by the tree, the issue and, where there is a history, its `recent` commits, newest first."""
    terrain = Terrain(snapshot, tests=about_tests(snapshot, told))
    found, leads, used = matches(terrain, told), pointed(terrain, told, recent), uses(terrain, told)
    return ranked(Case(terrain=terrain, clues=told, matches=found, pointed=leads, uses=used))


def about_tests(snapshot: Snapshot, told: Clues) -> bool:
    """Does the issue speak of tests in its title, and name one of the tree's own?"""
    if not any(word.lower().rstrip("s") in ("test", "testing") for word in told.zones["title"]):
        return False
    known = Known(snapshot.paths)
    named = (word for word in told.names if word.startswith("test_"))
    return any(len(snapshot.definers(word)) == 1 for word in named) or any(
        is_test_path(path) for frame in told.frames for path in known.files(frame.path)
    )


def ranked(case: Case) -> Located:
    candidates, scored = definition_evidence(case)
    files = file_evidence(case, scored)
    of_files = {path: total(evidence, FILE) for path, evidence in files.items()}
    best = max(of_files.values(), default=0.0)
    final = {
        candidate.key: total(candidate.evidence, DEFINITION)
        + OF_FILE * max(LEAST_OF_FILE, of_files.get(candidate.path, LEAST_OF_FILE) - best)
        for candidate in candidates
    }
    by_score = sorted(
        candidates, key=lambda candidate: (-final[candidate.key], candidate.path, candidate.item.start)
    )
    inside: dict[str, list[Candidate]] = defaultdict(list)
    for item in by_score:
        inside[item.path].append(item)
    paths = sorted(of_files, key=lambda path: (-of_files[path], path))[:MOST_FILES]
    return Located(
        files=tuple(
            Likely(
                path=path,
                score=of_files[path],
                reasons=of_file(case, path, files[path], inside) if order < EXPLAINED else (),
            )
            for order, path in enumerate(paths)
        ),
        symbols=tuple(
            Likely(
                path=one.path,
                item=one.item,
                score=final[one.key],
                reasons=of_definition(case, one) if order < EXPLAINED else (),
            )
            for order, one in enumerate(by_score[:MOST_SYMBOLS])
        ),
    )


def definition_evidence(case: Case) -> tuple[list[Candidate], dict[tuple[str, str], float]]:
    """The candidates with all that speaks for them, and their scores."""
    found = {candidate.key: candidate for candidate in case.candidates()}
    scored = {key: total(one.evidence, DEFINITION) for key, one in found.items()}
    callers = sorted(found.values(), key=lambda entry: (-scored[entry.key], entry.path, entry.item.start))[
        :MOST_CALLERS
    ]
    for path, item, value in case.callees(callers):
        one = found.setdefault(
            (path, item.name), Candidate(path=path, item=item, evidence=case.evidence(path, item, 0.0))
        )
        one.evidence["callee"] = max(one.evidence.get("callee", 0.0), value)
    for outer in callers:
        found |= {entry.key: entry for entry in case.nested(outer) if entry.key not in found}
    return list(found.values()), {key: total(one.evidence, DEFINITION) for key, one in found.items()}


def file_evidence(case: Case, scored: Mapping[tuple[str, str], float]) -> dict[str, Evidence]:
    """All that speaks for each file."""
    files = case.files(scored)
    best = sorted(files, key=lambda path: (-total(files[path], FILE), path))[:MOST_NEIGHBOURED]
    for path, value in neighbours(case.terrain, best).items():
        if path in files:
            files[path]["neighbour"] = value
    return files


def total(evidence: Evidence, weights: Mapping[str, float]) -> float:
    """The weighted sum; what has no weight does not count."""
    return sum(weights.get(kind, 0.0) * value for kind, value in evidence.items())
