"""Beam search over candidates that share a trunk, ranked by evidence; the best of them continue."""

from collections.abc import Awaitable, Callable

from coder.core.errors import LimitReached, ModelError
from coder.core.values.candidate import Candidate
from coder.session.context import Kit, Strategy
from coder.strategies.candidate_status import Score, fresh, good, mendable, red
from coder.strategies.tree.branch import branches, drop, race, teach, twin
from coder.strategies.verify_phase import attempts_left

Scoring = Callable[[Kit, Candidate], Awaitable[Score]]


def beam(
    *,
    first: Strategy,
    then: Strategy,
    check: Strategy,
    last: Strategy,
    width: int,
    keep: int,
    rounds: int,
    score: Scoring,
) -> Strategy:
    """Return a strategy that searches over `width` branches and keeps the `keep` best after each round.

    Each branch is changed by `first` (`then` if its change failed) and judged by `check`. The remaining
    branches learn how the others failed; the search stops at the first branch that is proven and accepted.
    All branches share the attempts of the budget, and no more branches are made than attempts are left.
    Without a fix, `last` runs on the best branch.
    """

    async def strategy(context: Kit, trunk: Candidate) -> Candidate:
        contexts = await branches(context, trunk, max(1, min(width, attempts_left(context))))
        failures: list[Exception] = []

        async def grow(branch: Candidate) -> bool:
            try:
                await (then if await red(context, branch) else first)(contexts[branch], branch)
                if duplicate := twin(context, branch, contexts):
                    drop(context, branch, f"It is the same change as that of {duplicate}.")
                    return False
                await check(contexts[branch], branch)
                if await fresh(context, branch):
                    drop(context, branch, "No attempt is left to judge its change.")
                    return False
            except (ModelError, LimitReached) as error:
                failures.append(error)
                drop(context, branch, str(error))
                return False
            return True

        active = [branch for branch in contexts if not good(context, branch)]
        scores = {branch: await score(context, branch) for branch in contexts if branch not in active}
        for _ in range(rounds):
            completed_branches = await race(context, active, grow)
            scores |= {branch: await score(context, branch) for branch in completed_branches}
            repairable = [branch for branch in completed_branches if mendable(context, branch)]
            if (
                not repairable
                or any(good(context, branch) for branch in completed_branches)
                or attempts_left(context) < 1
            ):
                break
            active = sorted(repairable, key=scores.__getitem__, reverse=True)[:keep]
            teach(context, active, completed_branches)
        if not scores and failures:
            raise failures[-1]
        scores = scores or {trunk: await score(context, trunk)}
        best = max(scores, key=scores.__getitem__)
        return best if good(context, best) else await last(context, best)

    return strategy
