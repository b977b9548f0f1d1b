"""REVIEW phase: one reviewer with one brief sees only the issue, the change, test results and nearby code."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

from coder.core.errors import LimitReached, ModelError
from coder.core.events import CandidateForked, Event, Warned
from coder.core.notes import Findings, Note
from coder.core.phases import REVIEW
from coder.core.state import candidate_verdicts
from coder.core.values.candidate import Candidate, Patch
from coder.core.values.hunk import Hunk
from coder.patching.git_hunks import split_git_diff
from coder.session.context import SessionContext
from coder.session.phase import PhaseSpec, PhaseState, run_phase
from coder.tools.registry import REVIEWING_TOOLS

DIFF_CHARACTERS = 20_000
CONTEXT_LINES = 25
"""Lines shown before and after each changed place."""
MAX_CONTEXT_CHARACTERS = 10_000


async def review_candidate(context: SessionContext, candidate: Candidate, reader: str) -> Findings | None:
    """Run one review in a fresh conversation; return its findings, None if it handed over none."""
    number = 1 + sum(_is_review_by(record.event, candidate, reader) for record in context.log.records)
    reviewer = candidate.model_copy(update={"id": f"{candidate.id}/review-{number}/{reader}"})
    context.log.append(CandidateForked(candidate=reviewer.id, role="reviewer", approach=reader))
    review_context = replace(context, role="reviewer", system="system_review", tools=REVIEWING_TOOLS)
    purpose = PhaseSpec(
        phase=REVIEW,
        opening=lambda _context, _reviewer: _opening_message(context, candidate, reviewer, reader),
        settle=_settle,
    )
    note = await run_phase(review_context, reviewer, purpose, number)
    return note if isinstance(note, Findings) else None


async def try_review(context: SessionContext, candidate: Candidate, reader: str) -> Findings | None:
    """Return a reviewer's findings; a failed review is logged and does not stop the session."""
    try:
        return await review_candidate(context, candidate, reader)
    except (ModelError, LimitReached) as error:
        context.log.append(Warned(text=f"Nobody read the change for {reader}: {error}"))
        return None


def _is_review_by(event: Event, candidate: Candidate, reader: str) -> bool:
    return (
        isinstance(event, CandidateForked)
        and event.candidate.startswith(f"{candidate.id}/review-")
        and event.approach == reader
    )


async def _settle(_context: SessionContext, _candidate: Candidate, state: PhaseState) -> Note | None:
    return state.note


async def _opening_message(
    context: SessionContext, candidate: Candidate, reviewer: Candidate, reader: str
) -> str:
    patch = await asyncio.to_thread(context.repository.candidate_patch, candidate)
    verdict = candidate_verdicts(context.log.records, candidate.id)[-1]
    excerpts = await asyncio.to_thread(change_excerpts, candidate, patch)
    for hunk in split_git_diff(patch.diff):
        for line in covered_lines(hunk):
            context.workspace(reviewer).record_place(hunk.path, line)
    return context.prompts.render(
        "review",
        brief=context.prompts.render(f"review_{reader}"),
        task=context.task,
        diff=patch.diff[:DIFF_CHARACTERS],
        verdict=verdict,
        failure=""
        if verdict.is_deliverable
        else await asyncio.to_thread(context.verifier.explain_failure, verdict),
        around=excerpts,
        paths=patch.paths,
    )


def change_excerpts(candidate: Candidate, patch: Patch) -> str:
    """Return the changed files around their changes, with line numbers."""
    excerpts = "\n\n".join(_excerpt(candidate, hunk) for hunk in split_git_diff(patch.diff))
    return excerpts[:MAX_CONTEXT_CHARACTERS]


def _excerpt(candidate: Candidate, hunk: Hunk) -> str:
    file = candidate.worktree / hunk.path
    new_numbers = tuple(covered_lines(hunk))
    if not new_numbers or file.is_symlink() or not file.is_file():
        return f"{hunk.path}: gone, or not to be shown"
    lines = file.read_text("utf-8", "replace").splitlines()
    first, last = max(1, new_numbers[0] - CONTEXT_LINES), min(len(lines), new_numbers[-1] + CONTEXT_LINES)
    return "\n".join(
        [hunk.path, *(f"{number:>5}| {lines[number - 1][:200]}" for number in range(first, last + 1))]
    )


def covered_lines(hunk: Hunk) -> Iterator[int]:
    """Yield the numbers of the lines in the changed file that a hunk covers, its context included."""
    start = hunk.body.partition("+")[2].partition(" ")[0]
    first, _, count = start.partition(",")
    if first.isdigit():
        yield from range(int(first), int(first) + int(count or 1))
