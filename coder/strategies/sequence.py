"""Strategies one after the other."""

from coder.core.state import notes
from coder.core.values.candidate import Candidate
from coder.session.context import Kit, Strategy
from coder.strategies.candidate_status import fresh, given_up, settled


def chain(*strategies: Strategy) -> Strategy:
    """A strategy that goes on with the next one while there is still something to do."""

    async def strategy(kit: Kit, candidate: Candidate) -> Candidate:
        for part in strategies:
            candidate = await part(kit, candidate)
            if (
                given_up(kit, candidate)
                or settled(kit, candidate)
                or not notes(kit.log.records, candidate.id)
            ):
                break
        return candidate

    return strategy


def early(first: Strategy, check: Strategy) -> Strategy:
    """A strategy that has a change judged which is there already, and does nothing without one."""

    async def strategy(kit: Kit, candidate: Candidate) -> Candidate:
        return await check(kit, await first(kit, candidate)) if await fresh(kit, candidate) else candidate

    return strategy
