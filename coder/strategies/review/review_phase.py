"""REVIEW: one reader with one brief, who sees the issue, the change, what tests said and the code around it, and nothing else."""

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


async def read(kit: Kit, candidate: Candidate, reader: str) -> Findings | None:
    """What one reader finds in the candidate's change, with eyes that have seen nothing yet; None where no opinion was handed over."""
    number = 1 + sum(_reads(record.event, candidate, reader) for record in kit.log.records)
    eyes = candidate.model_copy(update={"id": f"{candidate.id}/review-{number}/{reader}"})
    kit.log.append(CandidateForked(candidate=eyes.id, role="reviewer", approach=reader))
    fresh = replace(kit, role="reviewer", system="system_review", tools=REVIEWING)
    purpose = Purpose(
        phase=REVIEW, opening=lambda _kit, _eyes: _open(kit, candidate, eyes, reader), settle=_settle
    )
    note = await run(fresh, eyes, purpose, number)
    return note if isinstance(note, Findings) else None


async def opinion(kit: Kit, candidate: Candidate, reader: str) -> Findings | None:
    """What a reader says; a review that cannot be had stops nothing."""
    try:
        return await read(kit, candidate, reader)
    except (ModelError, LimitReached) as error:
        kit.log.append(Warned(text=f"Nobody read the change for {reader}: {error}"))
        return None


def _reads(event: Event, candidate: Candidate, reader: str) -> bool:
    return (
        isinstance(event, CandidateForked)
        and event.candidate.startswith(f"{candidate.id}/review-")
        and event.approach == reader
    )


async def _settle(_kit: Kit, _candidate: Candidate, standing: Standing) -> Note | None:
    return standing.note


async def _open(kit: Kit, candidate: Candidate, eyes: Candidate, reader: str) -> str:
    patch = await asyncio.to_thread(kit.repository.patch, candidate)
    verdict = verdicts(kit.log.records, candidate.id)[-1]
    around = await asyncio.to_thread(surroundings, candidate, patch)
    for hunk in hunks(patch.diff):
        for line in new_lines(hunk):
            kit.workspace(eyes).name(hunk.path, line)
    return kit.prompts.render(
        "review",
        brief=kit.prompts.render(f"review_{reader}"),
        task=kit.task,
        diff=patch.diff[:DIFF_CHARACTERS],
        verdict=verdict,
        failure="" if verdict.good else await asyncio.to_thread(kit.verifier.explain, verdict),
        around=around,
        paths=patch.paths,
    )


def surroundings(candidate: Candidate, patch: Patch) -> str:
    """The changed files around their changes, with line numbers."""
    shown = "\n\n".join(_around(candidate, hunk) for hunk in hunks(patch.diff))
    return shown[:AROUND_CHARACTERS]


def _around(candidate: Candidate, hunk: Hunk) -> str:
    file = candidate.worktree / hunk.path
    touched = tuple(new_lines(hunk))
    if not touched or file.is_symlink() or not file.is_file():
        return f"{hunk.path}: gone, or not to be shown"
    lines = file.read_text("utf-8", "replace").splitlines()
    first, last = max(1, touched[0] - AROUND), min(len(lines), touched[-1] + AROUND)
    return "\n".join(
        [hunk.path, *(f"{number:>5}| {lines[number - 1][:200]}" for number in range(first, last + 1))]
    )


def new_lines(hunk: Hunk) -> Iterator[int]:
    """Numbers of the lines in the changed file that a hunk covers, its context included."""
    start = hunk.body.partition("+")[2].partition(" ")[0]
    first, _, count = start.partition(",")
    if first.isdigit():
        yield from range(int(first), int(first) + int(count or 1))
