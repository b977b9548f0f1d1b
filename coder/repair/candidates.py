"""Candidate edits of suspicious places, ordered by score."""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from coder.core.ports import Edit
from coder.core.verdict import Failure
from coder.python.source import PythonSource, header_lines, own_nodes
from coder.repair.context.endless_loops import has_timeout, may_terminate_loop
from coder.repair.context.site import Rewrite, RewriteSite
from coder.repair.generators import TEMPLATES

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
