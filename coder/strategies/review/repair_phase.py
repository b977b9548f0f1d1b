"""REPAIR of what reviewers flagged: one conversation, some places, and nothing else."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from coder.core.events import FilesChanged
from coder.core.notes import Done, Finding, Note
from coder.core.phases import REPAIR
from coder.core.values.candidate import Candidate, Patch
from coder.session.context import Kit, Strategy
from coder.session.phase import Purpose, Standing
from coder.strategies.follow import Route, follow
from coder.strategies.phases import PURPOSES
from coder.strategies.review.review_targets import astray, places


def mending(findings: Sequence[Finding], patch: Patch, *, then: Route) -> Strategy:
    """A strategy that has some places mended in one conversation; what else it changes is taken back."""

    async def opening(kit: Kit, _candidate: Candidate) -> str:
        return kit.prompts.render("mend", findings=findings)

    async def settle(kit: Kit, candidate: Candidate, standing: Standing) -> Note | str | None:
        if standing.entry or not standing.changed:
            return (
                None
                if standing.note is None
                else "Nothing was changed. Mend what was found, or hand_over(kind='give_up')."
            )
        beside = await asyncio.to_thread(_beside, kit, candidate, findings, patch)
        if not beside:
            return standing.note or Done(summary=f"What was found in {places(findings)} is mended.")
        await asyncio.to_thread(kit.repository.rollback, candidate, patch.tree)
        kit.log.append(FilesChanged(candidate=candidate.id, paths=patch.paths, diff=patch.diff))
        return kit.prompts.render("astray", astray=beside, findings=findings)

    async def strategy(kit: Kit, candidate: Candidate) -> Candidate:
        only = tuple(dict.fromkeys(finding.path for finding in findings))
        narrow = replace(kit, workspace=lambda item: replace(kit.workspace(item), only=only))
        purposes = {**PURPOSES, "repair": Purpose(phase=REPAIR, opening=opening, settle=settle)}
        return await follow(then, "repair", purposes)(narrow, candidate)

    return strategy


def _beside(kit: Kit, candidate: Candidate, findings: Sequence[Finding], patch: Patch) -> list[str]:
    with kit.repository.checkout(patch.tree) as before:
        return astray(findings, before, candidate.worktree)
