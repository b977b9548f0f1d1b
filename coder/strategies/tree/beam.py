"""Beam search over candidates that share a trunk, ranked by evidence; the best of them continue."""

from collections.abc import Awaitable, Callable

from coder.core.errors import LimitReached, ModelError
from coder.core.values.candidate import Candidate
from coder.session.context import SessionContext, Strategy
from coder.strategies.candidate_status import (
    Score,
    has_deliverable_change,
    has_unjudged_source,
    is_finished,
    is_red,
    is_repairable,
)
from coder.strategies.tree.branch import (
    drop_candidate,
    find_duplicate,
    fork_branches,
    race_branches,
    share_failures,
)
from coder.strategies.verify_phase import attempts_left

ScoreCandidate = Callable[[SessionContext, Candidate], Awaitable[Score]]


def beam_search(
    *,
    edit: Strategy,
    repair: Strategy,
    check: Strategy,
    explain: Strategy,
    width: int,
    keep: int,
    rounds: int,
    score: ScoreCandidate,
) -> Strategy:
    """Return a strategy that searches over `width` branches and keeps the `keep` best after each round.

    Each branch is changed by `edit` (`repair` if its change failed) and judged by `check`. The remaining
    branches learn how the others failed; the search stops at the first branch that is proven and accepted.
    All branches share the attempts of the budget, and no more branches are made than attempts are left.
    Without a fix, `explain` runs on the best branch.
    """

    async def strategy(context: SessionContext, trunk: Candidate) -> Candidate:
        contexts = await fork_branches(context, trunk, max(1, min(width, attempts_left(context))))
        failures: list[Exception] = []

        async def grow(branch: Candidate) -> bool:
            try:
                await (repair if await is_red(context, branch) else edit)(contexts[branch], branch)
                if duplicate := find_duplicate(context, branch, contexts):
                    drop_candidate(context, branch, f"It is the same change as that of {duplicate}.")
                    return False
                if not await is_finished(context, branch):
                    drop_candidate(context, branch, "It changed nothing.")
                    return False
                await check(contexts[branch], branch)
                if await has_unjudged_source(context, branch):
                    drop_candidate(context, branch, "No attempt is left to judge its change.")
                    return False
            except (ModelError, LimitReached) as error:
                failures.append(error)
                drop_candidate(context, branch, str(error))
                return False
            return True

        active = [branch for branch in contexts if not has_deliverable_change(context, branch)]
        scores = {branch: await score(context, branch) for branch in contexts if branch not in active}
        for _ in range(rounds):
            completed_branches = await race_branches(context, active, grow)
            scores |= {branch: await score(context, branch) for branch in completed_branches}
            repairable = [branch for branch in completed_branches if is_repairable(context, branch)]
            if (
                not repairable
                or any(has_deliverable_change(context, branch) for branch in completed_branches)
                or attempts_left(context) < 1
            ):
                break
            active = sorted(repairable, key=scores.__getitem__, reverse=True)[:keep]
            share_failures(context, active, completed_branches)
        if not scores and failures:
            raise failures[-1]
        scores = scores or {trunk: await score(context, trunk)}
        best = max(scores, key=scores.__getitem__)
        return best if has_deliverable_change(context, best) else await explain(context, best)

    return strategy
