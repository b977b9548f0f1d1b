"""REVIEW phase: one reviewer with one brief sees only the issue, the change, test results and nearby code."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

from coder.core.errors import LimitReached, ModelError
from coder.core.events import CandidateForked, Event, Warned
from coder.core.notes import Findings, Note
from coder.core.phases import REVIEW
from coder.core.state import verdicts
from coder.core.values.candidate import Candidate, Patch
from coder.core.values.hunk import Hunk
from coder.patching.git_hunks import hunks
from coder.session.context import Kit
from coder.session.phase import Purpose, Standing, run
from coder.tools.registry import REVIEWING

DIFF_CHARACTERS = 20_000
AROUND = 25
"""Lines shown before and after each changed place."""
AROUND_CHARACTERS = 10_000


async def read(context: Kit, candidate: Candidate, reader: str) -> Findings | None:
    """Run one review in a fresh conversation; return its findings, None if it handed over none."""
    number = 1 + sum(_is_review_by(record.event, candidate, reader) for record in context.log.records)
    reviewer = candidate.model_copy(update={"id": f"{candidate.id}/review-{number}/{reader}"})
    context.log.append(CandidateForked(candidate=reviewer.id, role="reviewer", approach=reader))
    review_context = replace(context, role="reviewer", system="system_review", tools=REVIEWING)
    purpose = Purpose(
        phase=REVIEW,
        opening=lambda _context, _reviewer: _opening_message(context, candidate, reviewer, reader),
        settle=_settle,
    )
    note = await run(review_context, reviewer, purpose, number)
    return note if isinstance(note, Findings) else None


async def opinion(context: Kit, candidate: Candidate, reader: str) -> Findings | None:
    """Return a reviewer's findings; a failed review is logged and does not stop the session."""
    try:
        return await read(context, candidate, reader)
    except (ModelError, LimitReached) as error:
        context.log.append(Warned(text=f"Nobody read the change for {reader}: {error}"))
        return None


def _is_review_by(event: Event, candidate: Candidate, reader: str) -> bool:
    return (
        isinstance(event, CandidateForked)
        and event.candidate.startswith(f"{candidate.id}/review-")
        and event.approach == reader
    )


async def _settle(_context: Kit, _candidate: Candidate, state: Standing) -> Note | None:
    return state.note


async def _opening_message(context: Kit, candidate: Candidate, reviewer: Candidate, reader: str) -> str:
    patch = await asyncio.to_thread(context.repository.patch, candidate)
    verdict = verdicts(context.log.records, candidate.id)[-1]
    excerpts = await asyncio.to_thread(surroundings, candidate, patch)
    for hunk in hunks(patch.diff):
        for line in new_lines(hunk):
            context.workspace(reviewer).name(hunk.path, line)
    return context.prompts.render(
        "review",
        brief=context.prompts.render(f"review_{reader}"),
        task=context.task,
        diff=patch.diff[:DIFF_CHARACTERS],
        verdict=verdict,
        failure="" if verdict.good else await asyncio.to_thread(context.verifier.explain, verdict),
        around=excerpts,
        paths=patch.paths,
    )


def surroundings(candidate: Candidate, patch: Patch) -> str:
    """Return the changed files around their changes, with line numbers."""
    excerpts = "\n\n".join(_excerpt(candidate, hunk) for hunk in hunks(patch.diff))
    return excerpts[:AROUND_CHARACTERS]


def _excerpt(candidate: Candidate, hunk: Hunk) -> str:
    file = candidate.worktree / hunk.path
    new_numbers = tuple(new_lines(hunk))
    if not new_numbers or file.is_symlink() or not file.is_file():
        return f"{hunk.path}: gone, or not to be shown"
    lines = file.read_text("utf-8", "replace").splitlines()
    first, last = max(1, new_numbers[0] - AROUND), min(len(lines), new_numbers[-1] + AROUND)
    return "\n".join(
        [hunk.path, *(f"{number:>5}| {lines[number - 1][:200]}" for number in range(first, last + 1))]
    )


def new_lines(hunk: Hunk) -> Iterator[int]:
    """Yield the numbers of the lines in the changed file that a hunk covers, its context included."""
    start = hunk.body.partition("+")[2].partition(" ")[0]
    first, _, count = start.partition(",")
    if first.isdigit():
        yield from range(int(first), int(first) + int(count or 1))
