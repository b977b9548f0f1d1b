"""Candidate edits of suspicious places, ordered by score."""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from coder.core.ports import Edit, TextChange
from coder.core.verdict import Failure
from coder.python.source import PythonSource, header_lines, own_nodes
from coder.repair.generators import TEMPLATES
from coder.repair.generators.conditions import has_timeout, may_terminate_loop
from coder.repair.generators.site import Rewrite, RewriteSite

MIN_RELATIVE_SUSPICION, MIN_RELATIVE_SUSPICION_IF_FEW = 0.2, 0.05
"""Lines below this part of the highest suspicion are skipped; below the second, even if there is little else
to try."""
CONDITION_SHARE = 0.5
"""The share of the suspicion inside an `if` that falls on its condition: the condition may let too much
through."""
MAX_CANDIDATES = 8_000
"""Number of candidates to keep: a count, not a time limit, so that a slow machine tries the same."""
MAX_GENERATED = 5 * MAX_CANDIDATES
"""Number of candidates to generate before ranking, most suspicious statements first: a file of tables has no
end of places."""
TERMINATION_FACTOR = 2.5
"""Score factor of an edit that may let an endless loop terminate, if a test timed out."""
HALVING_SIZE = 200
"""Characters of change that halve a candidate's score."""


@dataclass(frozen=True)
class RepairCandidate:
    """An edit with its score before it is tried."""

    edit: Edit
    score: float
    place: str
    """`path::Qualified.name` of the function that the edit changes."""


def generate_candidates(
    sources: Mapping[str, PythonSource],
    scores: Mapping[str, Mapping[int, float]],
    failures: Sequence[Failure],
) -> list[RepairCandidate]:
    """Generate candidates by descending score: suspicion x template weight x smallness; each change once."""
    highest = max((score for lines in scores.values() for score in lines.values()), default=0.0)
    places: list[tuple[float, PythonSource, ast.stmt]] = []
    for path, lines in scores.items():
        suspicious_lines = {
            line: score / highest
            for line, score in lines.items()
            if score >= MIN_RELATIVE_SUSPICION_IF_FEW * highest
        }
        places += (
            _suspicious_statements(sources[path], suspicious_lines)
            if suspicious_lines and path in sources
            else ()
        )
    best: dict[tuple[object, ...], RepairCandidate] = {}
    for suspicion, source, statement in sorted(
        places, key=lambda place: (-place[0], place[1].path, place[2].lineno)
    ):
        limit = MAX_GENERATED if suspicion >= MIN_RELATIVE_SUSPICION else MAX_CANDIDATES
        for candidate in (
            _candidates_at(source, statement, suspicion, tuple(failures)) if len(best) < limit else ()
        ):
            if len(best) >= MAX_GENERATED:  # a single statement may be a table of thousands of lines
                break
            identity = (
                source.path,
                *((change.start, change.end, change.text) for change in candidate.edit.changes),
            )
            if identity not in best or best[identity].score < candidate.score:
                best[identity] = candidate
    return rank_candidates(best.values())


def rank_candidates(unsorted: Iterable[RepairCandidate]) -> list[RepairCandidate]:
    """Return the `MOST` best candidates in a deterministic order."""
    return sorted(unsorted, key=_sort_key)[:MAX_CANDIDATES]


def _sort_key(candidate: RepairCandidate) -> tuple[float, str, int, int, int, str]:
    first = candidate.edit.changes[0]
    return (
        -candidate.score,
        candidate.edit.path,
        candidate.edit.line,
        first.start,
        len(candidate.edit.changes),
        first.text,
    )


def _suspicious_statements(
    source: PythonSource, lines: Mapping[int, float]
) -> Iterator[tuple[float, PythonSource, ast.stmt]]:
    """Yield the suspicious statements of a file with their suspicion."""
    for statement in ast.walk(source.tree):
        if not isinstance(statement, ast.stmt):
            continue
        suspicion = max((lines.get(line, 0.0) for line in header_lines(statement)), default=0.0)
        if isinstance(statement, ast.If):
            inside = range(statement.body[0].lineno, (statement.body[-1].end_lineno or 0) + 1)
            suspicion = max(suspicion, CONDITION_SHARE * max(lines.get(line, 0.0) for line in inside))
        if suspicion:
            yield suspicion, source, statement


LONGEST_EXPRESSION = 1_000
"""Characters of an expression that is edited as a whole: an edit costs its length, and a sum of thousands of
terms has as many parts."""


def _candidates_at(
    source: PythonSource, statement: ast.stmt, suspicion: float, failures: tuple[Failure, ...]
) -> Iterator[RepairCandidate]:
    timed_out = has_timeout(failures)
    for node in own_nodes(statement):
        if isinstance(node, ast.expr) and len(source.text_of(node)) > LONGEST_EXPRESSION:
            continue
        site = RewriteSite(source, node, failures)
        for family, template in TEMPLATES.items():
            for rewrite in template(site):
                score = (
                    suspicion * TERMINATION_FACTOR
                    if timed_out and may_terminate_loop(source, node, rewrite.changes)
                    else suspicion
                )
                yield _build_candidate(source, node, rewrite, family=family, suspicion=score)


def _build_candidate(
    source: PythonSource, node: ast.AST, rewrite: Rewrite, *, family: str, suspicion: float
) -> RepairCandidate:
    place = source.qualified_place(node)
    edit = Edit(
        path=source.path,
        changes=rewrite.changes,
        line=getattr(node, "lineno", 1),
        family=family,
        summary=f"{place.rpartition('::')[2]}: {rewrite.summary}" if "::" in place else rewrite.summary,
    )
    size = sum(max(change.end - change.start, len(change.text)) for change in rewrite.changes)
    return RepairCandidate(
        edit=edit, score=suspicion * rewrite.weight / (1 + size / HALVING_SIZE), place=place
    )


# Repeated edits: one edit applied at every identical place of a function or file.
# Mistakes are repeated by the same author, after S. Saha et al., "Harnessing Evolution for Multi-Hunk
# Program Repair" (ICSE 2019).

MAX_PLACES = 6
FUNCTION_FACTOR, FILE_FACTOR = 0.6, 0.45
"""Score factor of an edit at two places, relative to the better single one."""
FURTHER_PLACE_FACTOR = 0.45
"""Score factor for each further place."""
UNREPEATABLE_FAMILIES = frozenset(
    {
        "deletion",
        "copied",
        "uncalled",
        "inserted",
        "inserted_guard",
        "statement_order",
        "indentation",
        "dropped_guard",
    }
)
"""Families whose edits do not carry over to other places."""


def combine_repeated_edits(
    single: Iterable[RepairCandidate], sources: Mapping[str, PythonSource]
) -> Iterator[RepairCandidate]:
    """Yield combined edits for single-change edits that apply identically at several places."""
    groups: dict[tuple[str, str, str, str], dict[int, RepairCandidate]] = {}
    for candidate in single:
        if len(candidate.edit.changes) == 1 and candidate.edit.family not in UNREPEATABLE_FAMILIES:
            change = candidate.edit.changes[0]
            old = sources[candidate.edit.path].text[change.start : change.end]
            if old.strip():
                groups.setdefault(
                    (candidate.edit.path, candidate.edit.family, old, change.text), {}
                ).setdefault(change.start, candidate)
    for group in groups.values():
        everywhere = [group[start] for start in sorted(group)]
        by_place: dict[str, list[RepairCandidate]] = {}
        for candidate in everywhere:
            by_place.setdefault(candidate.place, []).append(candidate)
        for in_place in by_place.values():
            yield from _apply_together(in_place, FUNCTION_FACTOR)
        if len(by_place) > 1:
            yield from _apply_together(everywhere, FILE_FACTOR)


def _apply_together(places: list[RepairCandidate], factor: float) -> Iterator[RepairCandidate]:
    changes = [place.edit.changes[0] for place in places]
    if 2 <= len(places) <= MAX_PLACES and _are_disjoint(changes):
        best = max(places, key=lambda place: place.score)
        edit = best.edit.model_copy(
            update={"changes": tuple(changes), "summary": f"{best.edit.summary}, {len(places)} times"}
        )
        yield RepairCandidate(
            edit=edit, score=best.score * factor * FURTHER_PLACE_FACTOR ** (len(places) - 2), place=best.place
        )


def _are_disjoint(changes: list[TextChange]) -> bool:
    return all(change.end <= following.start for change, following in pairwise(changes))
