"""Tree-of-code: several candidates that share their trunk, judged by evidence, the best of them grown on."""

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
    """Return a strategy that grows what it is given into `width` candidates, each with `first` (`then` where its change was red), and has
    each judged by `check`; it keeps the best, lets them hear how the others failed, and stops at the first that is proven and accepted.

    All branches share the attempts of the budget: no more are made than attempts are left. With nothing found, the best has the `last`
    word.
    """

    async def strategy(kit: Kit, trunk: Candidate) -> Candidate:
        kits = await branches(kit, trunk, max(1, min(width, attempts_left(kit))))
        failures: list[Exception] = []

        async def grow(branch: Candidate) -> bool:
            try:
                await (then if await red(kit, branch) else first)(kits[branch], branch)
                if other := twin(kit, branch, kits):
                    drop(kit, branch, f"It is the same change as that of {other}.")
                    return False
                await check(kits[branch], branch)
                if await fresh(kit, branch):
                    drop(kit, branch, "No attempt is left to judge its change.")
                    return False
            except (ModelError, LimitReached) as error:
                failures.append(error)
                drop(kit, branch, str(error))
                return False
            return True

        alive = [branch for branch in kits if not good(kit, branch)]
        scores = {branch: await score(kit, branch) for branch in kits if branch not in alive}
        for _ in range(rounds):
            grown = await race(kit, alive, grow)
            scores |= {branch: await score(kit, branch) for branch in grown}
            hopeful = [branch for branch in grown if mendable(kit, branch)]
            if not hopeful or any(good(kit, branch) for branch in grown) or attempts_left(kit) < 1:
                break
            alive = sorted(hopeful, key=scores.__getitem__, reverse=True)[:keep]
            teach(kit, alive, grown)
        if not scores and failures:
            raise failures[-1]
        scores = scores or {trunk: await score(kit, trunk)}
        best = max(scores, key=scores.__getitem__)
        return best if good(kit, best) else await last(kit, best)

    return strategy
