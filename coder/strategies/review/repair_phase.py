"""REPAIR phase for flagged places: one conversation that may change these places and nothing else."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from coder.core.events import FilesChanged
from coder.core.notes import Done, Finding, Note
from coder.core.phases import REPAIR
from coder.core.values.candidate import Candidate, Patch
from coder.session.context import SessionContext, Strategy
from coder.session.phase import PhaseSpec, PhaseState
from coder.strategies.follow import Route, follow_route
from coder.strategies.phases import PHASE_SPECS
from coder.strategies.review.review_targets import changes_outside_findings


def repair_findings(findings: Sequence[Finding], patch: Patch, *, then: Route) -> Strategy:
    """Return a strategy that repairs flagged places in one conversation, and rolls back changes elsewhere."""

    async def opening(context: SessionContext, _candidate: Candidate) -> str:
        return context.prompts.render("mend", findings=findings)

    async def settle(context: SessionContext, candidate: Candidate, state: PhaseState) -> Note | str | None:
        if state.entry or not state.changed:
            return (
                None
                if state.note is None
                else "Nothing was changed. Mend what was found, or hand_over(kind='give_up')."
            )
        outside_places = await asyncio.to_thread(_changes_outside, context, candidate, findings, patch)
        if not outside_places:
            return state.note or Done(summary="")  # what the whole change does was said before
        await asyncio.to_thread(context.repository.rollback, candidate, patch.tree)
        context.log.append(FilesChanged(candidate=candidate.id, paths=patch.paths, diff=patch.diff))
        return context.prompts.render("astray", astray=outside_places, findings=findings)

    async def strategy(context: SessionContext, candidate: Candidate) -> Candidate:
        only = tuple(dict.fromkeys(finding.path for finding in findings))
        restricted_context = replace(
            context, workspace=lambda other: replace(context.workspace(other), only=only)
        )
        purposes = {**PHASE_SPECS, "repair": PhaseSpec(phase=REPAIR, opening=opening, settle=settle)}
        return await follow_route(then, "repair", purposes)(restricted_context, candidate)

    return strategy


def _changes_outside(
    context: SessionContext, candidate: Candidate, findings: Sequence[Finding], patch: Patch
) -> list[str]:
    with context.repository.checkout(patch.tree) as before:
        return changes_outside_findings(findings, before, candidate.worktree)
