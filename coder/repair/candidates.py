"""Makes candidate edits of the suspicious places, the likeliest first."""

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
"""Lines less suspicious than this part of the most suspicious one are left alone, and less than this where there is little else to try."""
LET_THROUGH = 0.5
"""Of the suspicion of what stands under a condition falls on the condition, however often it lets nothing wrong through."""
MOST = 8_000
"""Candidates are counted, so that the same are tried on a slow machine; time is no more than a safeguard."""
MOST_MADE = 5 * MOST
"""So many are made, of the most suspicious statements first, before they are ranked: a file of tables has no end of places."""
ENDS = 2.5
"""What an edit that may let a loop come to its end is worth against others, where a test did not end."""
LARGE = 200
"""Characters of change that halve a candidate's score."""


@dataclass(frozen=True)
class Candidate:
    """An edit with what speaks for it before it is tried."""

    edit: Edit
    score: float
    place: str
    """`path::Qualified.name` of the function that it changes."""


def candidates(
    sources: Mapping[str, Source], scores: Mapping[str, Mapping[int, float]], failures: Sequence[Failure]
) -> list[Candidate]:
    """Candidates by descending score, which is suspicion x weight of the template x smallness; each text once."""
    highest = max((score for lines in scores.values() for score in lines.values()), default=0.0)
    places: list[tuple[float, Source, ast.stmt]] = []
    for path, lines in scores.items():
        likely = {line: score / highest for line, score in lines.items() if score >= LAST * highest}
        places += _of_file(sources[path], likely) if likely and path in sources else ()
    best: dict[tuple[object, ...], Candidate] = {}
    for suspicion, source, statement in sorted(
        places, key=lambda place: (-place[0], place[1].path, place[2].lineno)
    ):
        most = MOST_MADE if suspicion >= LEAST else MOST
        for candidate in (
            _of_statement(source, statement, suspicion, tuple(failures)) if len(best) < most else ()
        ):
            if len(best) >= MOST_MADE:  # one statement may be a table of thousands of lines
                break
            identity = (
                source.path,
                *((change.start, change.end, change.text) for change in candidate.edit.changes),
            )
            if identity not in best or best[identity].score < candidate.score:
                best[identity] = candidate
    return ranked(best.values())


def ranked(made: Iterable[Candidate]) -> list[Candidate]:
    """The most promising of them, in an order that is always the same."""
    return sorted(made, key=_order)[:MOST]


def _order(one: Candidate) -> tuple[float, str, int, int, int, str]:
    first = one.edit.changes[0]
    return -one.score, one.edit.path, one.edit.line, first.start, len(one.edit.changes), first.text


def _of_file(source: Source, lines: Mapping[int, float]) -> Iterator[tuple[float, Source, ast.stmt]]:
    """The suspicious statements of a file."""
    for statement in ast.walk(source.tree):
        if not isinstance(statement, ast.stmt):
            continue
        suspicion = max((lines.get(line, 0.0) for line in header(statement)), default=0.0)
        if isinstance(statement, ast.If):
            inside = range(statement.body[0].lineno, (statement.body[-1].end_lineno or 0) + 1)
            suspicion = max(suspicion, LET_THROUGH * max(lines.get(line, 0.0) for line in inside))
        if suspicion:
            yield suspicion, source, statement


def _of_statement(
    source: Source, statement: ast.stmt, suspicion: float, failures: tuple[Failure, ...]
) -> Iterator[Candidate]:
    endless = never_ended(failures)
    for node in own_nodes(statement):
        site = Site(source, node, failures)
        for family, template in TEMPLATES.items():
            for rewrite in template(site):
                worth = suspicion * ENDS if endless and may_end(source, node, rewrite.changes) else suspicion
                yield _candidate(source, node, rewrite, family=family, suspicion=worth)


def _candidate(
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
