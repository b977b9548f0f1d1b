"""Candidate edits of suspicious places, ordered by score."""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from coder.core.ports.repair import Edit
from coder.core.values.verdict import Failure
from coder.python.source import Source, header, own_nodes
from coder.repair.context.endless_loops import may_end, never_ended
from coder.repair.context.site import Rewrite, Site
from coder.repair.generators import TEMPLATES

LEAST, LAST = 0.2, 0.05
"""Lines below this part of the highest suspicion are skipped; below the second, even if there is little else
to try."""
LET_THROUGH = 0.5
"""The share of the suspicion inside an `if` that falls on its condition: the condition may let too much
through."""
MOST = 8_000
"""Number of candidates to keep: a count, not a time limit, so that a slow machine tries the same."""
MOST_MADE = 5 * MOST
"""Number of candidates to generate before ranking, most suspicious statements first: a file of tables has no
end of places."""
ENDS = 2.5
"""Score factor of an edit that may let an endless loop terminate, if a test timed out."""
LARGE = 200
"""Characters of change that halve a candidate's score."""


@dataclass(frozen=True)
class Candidate:
    """An edit with its score before it is tried."""

    edit: Edit
    score: float
    place: str
    """`path::Qualified.name` of the function that the edit changes."""


def candidates(
    sources: Mapping[str, Source], scores: Mapping[str, Mapping[int, float]], failures: Sequence[Failure]
) -> list[Candidate]:
    """Generate candidates by descending score: suspicion x template weight x smallness; each change once."""
    highest = max((score for lines in scores.values() for score in lines.values()), default=0.0)
    places: list[tuple[float, Source, ast.stmt]] = []
    for path, lines in scores.items():
        suspicious_lines = {line: score / highest for line, score in lines.items() if score >= LAST * highest}
        places += (
            _suspicious_statements(sources[path], suspicious_lines)
            if suspicious_lines and path in sources
            else ()
        )
    best: dict[tuple[object, ...], Candidate] = {}
    for suspicion, source, statement in sorted(
        places, key=lambda place: (-place[0], place[1].path, place[2].lineno)
    ):
        limit = MOST_MADE if suspicion >= LEAST else MOST
        for candidate in (
            _candidates_at(source, statement, suspicion, tuple(failures)) if len(best) < limit else ()
        ):
            if len(best) >= MOST_MADE:  # a single statement may be a table of thousands of lines
                break
            identity = (
                source.path,
                *((change.start, change.end, change.text) for change in candidate.edit.changes),
            )
            if identity not in best or best[identity].score < candidate.score:
                best[identity] = candidate
    return ranked(best.values())


def ranked(unsorted: Iterable[Candidate]) -> list[Candidate]:
    """Return the `MOST` best candidates in a deterministic order."""
    return sorted(unsorted, key=_sort_key)[:MOST]


def _sort_key(candidate: Candidate) -> tuple[float, str, int, int, int, str]:
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
    source: Source, lines: Mapping[int, float]
) -> Iterator[tuple[float, Source, ast.stmt]]:
    """Yield the suspicious statements of a file with their suspicion."""
    for statement in ast.walk(source.tree):
        if not isinstance(statement, ast.stmt):
            continue
        suspicion = max((lines.get(line, 0.0) for line in header(statement)), default=0.0)
        if isinstance(statement, ast.If):
            inside = range(statement.body[0].lineno, (statement.body[-1].end_lineno or 0) + 1)
            suspicion = max(suspicion, LET_THROUGH * max(lines.get(line, 0.0) for line in inside))
        if suspicion:
            yield suspicion, source, statement


def _candidates_at(
    source: Source, statement: ast.stmt, suspicion: float, failures: tuple[Failure, ...]
) -> Iterator[Candidate]:
    timed_out = never_ended(failures)
    for node in own_nodes(statement):
        site = Site(source, node, failures)
        for family, template in TEMPLATES.items():
            for rewrite in template(site):
                score = (
                    suspicion * ENDS if timed_out and may_end(source, node, rewrite.changes) else suspicion
                )
                yield _build_candidate(source, node, rewrite, family=family, suspicion=score)


def _build_candidate(
    source: Source, node: ast.AST, rewrite: Rewrite, *, family: str, suspicion: float
) -> Candidate:
    place = source.place(node)
    edit = Edit(
        path=source.path,
        changes=rewrite.changes,
        line=getattr(node, "lineno", 1),
        family=family,
        summary=f"{place.rpartition('::')[2]}: {rewrite.summary}" if "::" in place else rewrite.summary,
    )
    size = sum(max(change.end - change.start, len(change.text)) for change in rewrite.changes)
    return Candidate(edit=edit, score=suspicion * rewrite.weight / (1 + size / LARGE), place=place)
