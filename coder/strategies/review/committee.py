"""Review of a change by independent reviewers, and repair of what they flag."""

import asyncio
from collections.abc import Callable, Sequence

from coder.core.errors import LimitReached, ModelError
from coder.core.events import FilesChanged, Warned
from coder.core.notes import Findings
from coder.core.state import named_tests
from coder.core.values.candidate import Candidate, Patch
from coder.session.context import Kit, Strategy
from coder.strategies.candidate_status import good, stands
from coder.strategies.review.review_phase import opinion
from coder.strategies.review.review_targets import flagged
from coder.strategies.verify_phase import judge

Mend = Callable[[tuple[Findings, ...], Patch], Strategy]


Readers = Callable[[Patch], Sequence[str]]


def reviewed(strategy: Strategy, mend: Mend, *, readers: Readers, rounds: int) -> Strategy:
    """Return a strategy that has its good change reviewed, and flagged places repaired, up to `rounds` times.

    After a repair, the reviewers who objected review it again, with those that `readers` chooses for the new
    change. A repair that leaves no good change is rolled back; the findings then go into the evidence as
    advice.
    """

    async def run_and_review(context: Kit, candidate: Candidate) -> Candidate:
        candidate = await strategy(context, candidate)
        reviewed_tree, objectors = "", tuple[str, ...]()
        for number in range(1, rounds + 2):
            patch = await asyncio.to_thread(context.repository.patch, candidate)
            reviewers = dict.fromkeys((*readers(patch), *objectors))
            if patch.tree == reviewed_tree or not (reviewers and good(context, candidate)):
                return candidate
            reviews = await asyncio.gather(*(opinion(context, candidate, reviewer) for reviewer in reviewers))
            repairable = tuple(
                review
                for review in reviews
                if review is not None and not review.approve and flagged(review, patch)
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
                await mend(repairable, patch)(context, candidate)
            except (ModelError, LimitReached) as error:
                context.log.append(Warned(text=f"What was found is not mended: {error}"))
            if not await stands(context, candidate):
                await _roll_back(context, candidate, patch)
                return candidate
        return candidate

    return run_and_review


async def _roll_back(context: Kit, candidate: Candidate, patch: Patch) -> None:
    await asyncio.to_thread(context.repository.rollback, candidate, patch.tree)
    context.log.append(FilesChanged(candidate=candidate.id, paths=patch.paths, diff=patch.diff))
    await judge(context, candidate, patch, named_tests(context.log.records, candidate.id))
