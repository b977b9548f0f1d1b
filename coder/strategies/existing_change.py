"""Judgement and review of an existing change, applied to the candidate's worktree."""

import asyncio

from coder.core.errors import UserError
from coder.core.events import FilesChanged, PhaseEntered
from coder.core.values.candidate import Candidate, Patch
from coder.patching import PatchError, apply
from coder.session.context import SessionContext, Strategy
from coder.strategies.review.committee import ChooseReviewers
from coder.strategies.review.review_phase import try_review
from coder.strategies.verify_phase import judge_change


def judge_existing_change(change: Patch, test_ids: tuple[str, ...] = ()) -> Strategy:
    """Return a strategy that judges one existing change, given as a tree or else as a diff."""

    async def strategy(context: SessionContext, candidate: Candidate) -> Candidate:
        await asyncio.to_thread(_apply_change, context, candidate, change)
        patch = await asyncio.to_thread(context.repository.candidate_patch, candidate)
        context.log.append(FilesChanged(candidate=candidate.id, paths=patch.paths, diff=patch.diff))
        context.log.append(PhaseEntered(candidate=candidate.id, phase="verify", attempt=1))
        await judge_change(context, candidate, patch, test_ids)
        return candidate

    return strategy


def judge_and_review(judge: Strategy, *, choose_reviewers: ChooseReviewers) -> Strategy:
    """Return a strategy that judges an existing change and has it read; nothing is repaired."""

    async def strategy(context: SessionContext, candidate: Candidate) -> Candidate:
        candidate = await judge(context, candidate)
        patch = await asyncio.to_thread(context.repository.candidate_patch, candidate)
        await asyncio.gather(
            *(try_review(context, candidate, reviewer) for reviewer in choose_reviewers(patch))
        )
        return candidate

    return strategy


def _apply_change(context: SessionContext, candidate: Candidate, change: Patch) -> None:
    if change.tree:
        context.repository.rollback(candidate, change.tree)
        return
    try:
        apply(change.diff, candidate.worktree)
    except PatchError as error:
        raise UserError(f"The diff does not fit {context.repository.base[:10]}: {error}") from None
