"""Judgement of an existing change, applied to the candidate's worktree."""

import asyncio

from coder.core.errors import UserError
from coder.core.events import FilesChanged, PhaseEntered
from coder.core.values.candidate import Candidate, Patch
from coder.patching import PatchError, apply
from coder.session.context import Kit, Strategy
from coder.strategies.verify_phase import judge


def judge_given(change: Patch, test_ids: tuple[str, ...] = ()) -> Strategy:
    """Return a strategy that judges one existing change, given as a tree or else as a diff."""

    async def strategy(context: Kit, candidate: Candidate) -> Candidate:
        await asyncio.to_thread(_apply_change, context, candidate, change)
        patch = await asyncio.to_thread(context.repository.patch, candidate)
        context.log.append(FilesChanged(candidate=candidate.id, paths=patch.paths, diff=patch.diff))
        context.log.append(PhaseEntered(candidate=candidate.id, phase="verify", attempt=1))
        await judge(context, candidate, patch, test_ids)
        return candidate

    return strategy


def _apply_change(context: Kit, candidate: Candidate, change: Patch) -> None:
    if change.tree:
        context.repository.rollback(candidate, change.tree)
        return
    try:
        apply(change.diff, candidate.worktree)
    except PatchError as error:
        raise UserError(f"The diff does not fit {context.repository.base[:10]}: {error}") from None
