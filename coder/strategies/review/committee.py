"""Review of a change by independent reviewers, and repair of what they flag."""

import asyncio
from collections.abc import Callable, Sequence

from coder.core.errors import LimitReached, ModelError
from coder.core.events import FilesChanged, Warned
from coder.core.notes import Finding, Findings
from coder.core.state import named_tests
from coder.core.values.candidate import Candidate, Patch
from coder.session.context import SessionContext, Strategy
from coder.strategies.candidate_status import has_deliverable_change, is_judged_good
from coder.strategies.review.repair_phase import repair_findings
from coder.strategies.review.review_phase import try_review
from coder.strategies.review.review_targets import repairable_findings
from coder.strategies.verify_phase import judge_change

MakeRepair = Callable[[tuple[Findings, ...], Patch], Strategy]


ChooseReviewers = Callable[[Patch], Sequence[str]]


def review_and_repair(
    strategy: Strategy, make_repair: MakeRepair, *, choose_reviewers: ChooseReviewers, rounds: int
) -> Strategy:
    """Return a strategy that has its good change reviewed, and flagged places repaired, up to `rounds` times.

    After a repair, reviewers who objected review it again, with those that `choose_reviewers` chooses for
    the new change. A repair that leaves no good change is rolled back; the findings then go into evidence as
    advice.
    """

    async def run_and_review(context: SessionContext, candidate: Candidate) -> Candidate:
        candidate = await strategy(context, candidate)
        reviewed_tree, objectors = "", tuple[str, ...]()
        for number in range(1, rounds + 2):
            patch = await asyncio.to_thread(context.repository.candidate_patch, candidate)
            reviewers = dict.fromkeys((*choose_reviewers(patch), *objectors))
            if patch.tree == reviewed_tree or not (reviewers and has_deliverable_change(context, candidate)):
                return candidate
            reviews = await asyncio.gather(
                *(try_review(context, candidate, reviewer) for reviewer in reviewers)
            )
            repairable = tuple(
                review
                for review in reviews
                if review is not None and not review.approve and repairable_findings(review, patch)
            )
            reviewed_tree = patch.tree
            objectors = tuple(
                reviewer
                for reviewer, findings in zip(reviewers, reviews, strict=True)
                if findings is not None and not findings.approve
            )
            if not repairable or number > rounds:
                return candidate
            try:
                await make_repair(repairable, patch)(context, candidate)
            except (ModelError, LimitReached) as error:
                context.log.append(Warned(text=f"What was found is not mended: {error}"))
            if not await is_judged_good(context, candidate):
                await _roll_back(context, candidate, patch)
                return candidate
        return candidate

    return run_and_review


def revise_flagged(findings: Sequence[Finding], patch: Patch) -> Strategy:
    """Return a strategy that works on what the user flagged, and takes back what leaves no good change."""

    async def strategy(context: SessionContext, candidate: Candidate) -> Candidate:
        try:
            await repair_findings(findings, patch, then={("repair", True): "verify"})(context, candidate)
        except (ModelError, LimitReached) as error:
            context.log.append(Warned(text=f"Your comments were not worked on: {error}"))
        if not await is_judged_good(context, candidate):
            context.log.append(Warned(text="What was made of your comments is no good: it is taken back."))
            await _roll_back(context, candidate, patch)
        return candidate

    return strategy


async def _roll_back(context: SessionContext, candidate: Candidate, patch: Patch) -> None:
    await asyncio.to_thread(context.repository.rollback, candidate, patch.tree)
    context.log.append(FilesChanged(candidate=candidate.id, paths=patch.paths, diff=patch.diff))
    await judge_change(context, candidate, patch, named_tests(context.log.records, candidate.id))
