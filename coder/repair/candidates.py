"""Candidate edits of suspicious places, likeliest first."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from coder.core.ports import Edit
from coder.core.verdict import Failure
from coder.python.source import PythonSource, header_lines, own_nodes
from coder.repair.site import RewriteSite
from coder.repair.templates import rewrites_by_family

MIN_RELATIVE_SUSPICION = 0.05
"""Lines below this part of the highest suspicion are skipped."""
MAX_CANDIDATES = 8_000
"""Number of candidates: a count, not a time limit, so that a slow machine tries the same."""
LONGEST_EXPRESSION = 1_000
"""Characters of an expression that is edited as a whole: a sum of thousands of terms has as many parts."""
FAMILY_COUNTS: Mapping[str, tuple[int, int]] = {
    "argument_missing": (3, 174),
    "argument_order": (3, 398),
    "arithmetic": (2, 665),
    "attribute": (3, 375),
    "boolean": (1, 57),
    "boundary": (9, 1943),
    "comparison": (11, 160),
    "condition": (2, 198),
    "constant": (9, 1413),
    "copied_statement": (2, 274),
    "deletion": (4, 180),
    "element": (2, 1550),
    "indentation": (1, 207),
    "index_order": (1, 11),
    "kept_best": (2, 100),
    "negation": (1, 271),
    "offset": (1, 742),
    "rearrangement": (0, 616),
    "result_condition": (2, 3),
    "returned": (5, 101),
    "sign": (1, 66),
    "similar_expression": (9, 1201),
    "similar_function": (3, 408),
    "slice": (3, 380),
    "unwrapped": (7, 885),
    "value_elsewhere": (7, 84),
    "variable": (10, 2297),
    "wraparound": (2, 169),
    "wrapped": (4, 1717),
    "wrapped_elsewhere": (1, 879),
}
"""How often a family gave the exact fix, and at how many nodes of the fixed lines it offered one.

Of 242 one-line fixes of sympy, Sphinx and Pylint, the 30 classic faults and 20 of QuixBugs
(`benchmarks historical_fixes`)."""


@dataclass(frozen=True)
class RepairCandidate:
    edit: Edit
    score: float
    place: str
    """`path::Qualified.name` of the function that the edit changes."""


def generate_candidates(
    sources: Mapping[str, PythonSource],
    scores: Mapping[str, Mapping[int, float]],
    failures: Sequence[Failure],
) -> list[RepairCandidate]:
    """Generate candidates by descending score, each change once.

    The score is the suspicion of the line, times the frequency of the family in real fixes, divided by the
    rank of the rewrite among those of its family at the node.
    """
    highest = max((score for lines in scores.values() for score in lines.values()), default=0.0)
    places = [
        place
        for path, lines in scores.items()
        if path in sources
        for place in suspicious_statements(
            sources[path],
            {line: score for line, score in lines.items() if score >= MIN_RELATIVE_SUSPICION * highest},
        )
    ]
    best: dict[tuple[object, ...], RepairCandidate] = {}
    for suspicion, source, statement in sorted(
        places, key=lambda place: (-place[0], place[1].path, place[2].lineno)
    ):
        for candidate in _candidates_at(source, statement, suspicion, tuple(failures)):
            if len(best) >= MAX_CANDIDATES:
                break
            changes = candidate.edit.changes
            identity = (source.path, *((change.start, change.end, change.text) for change in changes))
            if identity not in best or best[identity].score < candidate.score:
                best[identity] = candidate
    return rank_candidates(best.values())


def rank_candidates(candidates: Iterable[RepairCandidate]) -> list[RepairCandidate]:
    """Return candidates by descending score, in a deterministic order."""

    def key(candidate: RepairCandidate) -> tuple[float, str, int, int, str]:
        first = candidate.edit.changes[0]
        return -candidate.score, candidate.edit.path, first.start, len(candidate.edit.changes), first.text

    return sorted(candidates, key=key)[:MAX_CANDIDATES]


def suspicious_statements(
    source: PythonSource, lines: Mapping[int, float]
) -> Iterator[tuple[float, PythonSource, ast.stmt]]:
    """Yield the suspicious statements of a file with their suspicion; an `if` shares that of its branch."""
    for statement in ast.walk(source.tree) if lines else ():
        if not isinstance(statement, ast.stmt):
            continue
        suspicion = max((lines.get(line, 0.0) for line in header_lines(statement)), default=0.0)
        if isinstance(statement, ast.If):
            inside = range(statement.body[0].lineno, (statement.body[-1].end_lineno or 0) + 1)
            suspicion = max(suspicion, max(lines.get(line, 0.0) for line in inside) / 2)
        if suspicion:
            yield suspicion, source, statement


def _candidates_at(
    source: PythonSource, statement: ast.stmt, suspicion: float, failures: tuple[Failure, ...]
) -> Iterator[RepairCandidate]:
    for node in own_nodes(statement):
        if isinstance(node, ast.expr) and len(source.text_of(node)) > LONGEST_EXPRESSION:
            continue
        ranks: Counter[str] = Counter()
        for family, rewrite in rewrites_by_family(RewriteSite(source, node, failures)):
            ranks[family] += 1
            place = source.qualified_place(node)
            name = place.rpartition("::")[2]
            edit = Edit(
                path=source.path,
                changes=rewrite.changes,
                line=getattr(node, "lineno", 1),
                family=family,
                summary=f"{name}: {rewrite.summary}" if "::" in place else rewrite.summary,
            )
            score = suspicion * family_rate(family) / ranks[family]
            yield RepairCandidate(edit=edit, score=score, place=place)


def family_rate(family: str) -> float:
    """Return how often a family is right where it offers an edit; near one in fifty if little is known."""
    exact, offered = FAMILY_COUNTS.get(family, (0, 0))
    return (exact + 1) / (offered + 50)


MAX_PLACES = 6
UNREPEATABLE = frozenset({"deletion", "copied_statement", "indentation"})


def combine_repeated_edits(
    single: Iterable[RepairCandidate], sources: Mapping[str, PythonSource]
) -> Iterator[RepairCandidate]:
    """Yield single-change edits applied at every identical place of a function.

    Mistakes are repeated by the same author, after S. Saha et al., "Harnessing Evolution for Multi-Hunk
    Program Repair" (ICSE 2019).
    """
    groups: dict[tuple[str, str, str, str], dict[int, RepairCandidate]] = {}
    for candidate in single:
        change, edit = candidate.edit.changes[0], candidate.edit
        old = sources[edit.path].text[change.start : change.end]
        if len(edit.changes) == 1 and edit.family not in UNREPEATABLE and old.strip():
            groups.setdefault((candidate.place, edit.family, old, change.text), {}).setdefault(
                change.start, candidate
            )
    for group in groups.values():
        places = [group[start] for start in sorted(group)]
        changes = [place.edit.changes[0] for place in places]
        if 2 <= len(places) <= MAX_PLACES and all(
            first.end <= second.start for first, second in pairwise(changes)
        ):
            best = max(places, key=lambda place: place.score)
            summary = f"{best.edit.summary}, {len(places)} times"
            edit = best.edit.model_copy(update={"changes": tuple(changes), "summary": summary})
            yield RepairCandidate(edit=edit, score=best.score / 2, place=best.place)
