"""Targeted repair of what reviewers flagged, concurrently if the places are independent."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from coder.core.errors import LimitReached, ModelError
from coder.core.events import CandidateForked
from coder.core.notes import Finding, Findings
from coder.core.values.candidate import Candidate, Patch
from coder.session.context import SessionContext, Strategy
from coder.session.phase import record_change
from coder.session.turn import add_user_message
from coder.strategies.follow import follow_route
from coder.strategies.review.merge import merge_texts
from coder.strategies.review.repair_phase import repair_findings
from coder.strategies.review.review_targets import (
    format_places,
    group_independent_findings,
    read_exact_text,
    repairable_findings,
)
from coder.strategies.tree.branch import drop_candidate

DIFF_CHARACTERS = 6_000


def repair_flagged(reviews: tuple[Findings, ...], patch: Patch) -> Strategy:
    """Return a strategy that repairs the flagged places and verifies the whole change again.

    Independent places are repaired concurrently, each in a fork; if the results clash, all in one
    conversation.
    """
    findings = tuple(finding for review in reviews for finding in repairable_findings(review, patch))

    async def strategy(context: SessionContext, candidate: Candidate) -> Candidate:
        groups = await asyncio.to_thread(group_independent_findings, candidate.worktree, findings)
        if len(groups) == 1 or not await _repair_concurrently(context, candidate, groups, patch):
            return await repair_findings(findings, patch, then={("repair", True): "verify"})(
                context, candidate
            )
        repaired_patch = await asyncio.to_thread(context.repository.candidate_patch, candidate)
        if repaired_patch.tree == patch.tree:
            return candidate
        await record_change(context, candidate, repaired_patch)
        add_user_message(
            context, candidate, context.prompts.render("mended", diff=repaired_patch.diff[:DIFF_CHARACTERS])
        )
        return await follow_route({}, "verify")(context, candidate)

    return strategy


async def _repair_concurrently(
    context: SessionContext, candidate: Candidate, groups: Sequence[Sequence[Finding]], patch: Patch
) -> bool:
    """Repair each group in a fork and merge the results; return False and change nothing at a clash."""
    forks = [await _fork_for_repair(context, candidate, group, patch) for group in groups]
    shared_context = replace(context, budget=context.budget.share(len(groups)))
    await asyncio.gather(
        *(
            _repair_group(shared_context, fork, group, patch)
            for fork, group in zip(forks, groups, strict=True)
        )
    )
    paths = dict.fromkeys(finding.path for group in groups for finding in group)
    merged_texts = {
        path: merge_texts(
            read_exact_text(candidate.worktree, path),
            [read_exact_text(fork.worktree, path) for fork in forks],
        )
        for path in paths
    }
    if clashes := [path for path, text in merged_texts.items() if not text]:
        for fork in forks:
            drop_candidate(context, fork, f"What was mended at once clashes in {', '.join(clashes)}.")
        return False
    for path, text in merged_texts.items():
        (candidate.worktree / path).write_bytes((text or "").encode("utf-8", "surrogateescape"))
    return True


async def _fork_for_repair(
    context: SessionContext, candidate: Candidate, group: Sequence[Finding], patch: Patch
) -> Candidate:
    """Fork the candidate as it is, for the repair of some findings alone."""
    repair_count = sum(
        isinstance(record.event, CandidateForked) and record.event.role == "mender"
        for record in context.log.records
    )
    position = context.log.records[-1].number
    child = await asyncio.to_thread(
        context.repository.create_candidate, f"{candidate.id}-mend-{repair_count + 1}"
    )
    approach = f"mends {format_places(group)}"
    context.log.append(
        CandidateForked(
            candidate=child.id, parent=candidate.id, position=position, role="mender", approach=approach
        )
    )
    await asyncio.to_thread(context.repository.rollback, child, patch.tree)
    return child


async def _repair_group(
    context: SessionContext, fork: Candidate, group: Sequence[Finding], patch: Patch
) -> None:
    """Repair one group of findings; if that fails, the other groups go on."""
    try:
        await repair_findings(group, patch, then={})(context, fork)
    except (ModelError, LimitReached) as error:
        await asyncio.to_thread(context.repository.rollback, fork, patch.tree)
        drop_candidate(context, fork, str(error))
