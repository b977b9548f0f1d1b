"""Sequences of strategies."""

from coder.core.state import notes
from coder.core.values.candidate import Candidate
from coder.session.context import Kit, Strategy
from coder.strategies.candidate_status import fresh, given_up, settled


def chain(*strategies: Strategy) -> Strategy:
    """Return a strategy that runs the next strategy while there is still something to do."""

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


def early(edit: Strategy, check: Strategy) -> Strategy:
    """Return a strategy that judges a change that already exists, and does nothing without one."""

    async def strategy(kit: Kit, candidate: Candidate) -> Candidate:
        return await check(kit, await edit(kit, candidate)) if await fresh(kit, candidate) else candidate

    return strategy
