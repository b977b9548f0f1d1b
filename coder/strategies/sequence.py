"""Sequences of strategies."""

from coder.core.state import notes
from coder.core.values.candidate import Candidate
from coder.session.context import Kit, Strategy
from coder.strategies.candidate_status import fresh, given_up, settled


def chain(*strategies: Strategy) -> Strategy:
    """Return a strategy that runs the next strategy while there is still something to do."""

    async def strategy(context: Kit, candidate: Candidate) -> Candidate:
        for part in strategies:
            candidate = await part(context, candidate)
            if (
                given_up(context, candidate)
                or settled(context, candidate)
                or not notes(context.log.records, candidate.id)
            ):
                break
        return candidate

    return strategy


def early(edit: Strategy, check: Strategy) -> Strategy:
    """Return a strategy that judges a change that already exists, and does nothing without one."""

    async def strategy(context: Kit, candidate: Candidate) -> Candidate:
        return (
            await check(context, await edit(context, candidate))
            if await fresh(context, candidate)
            else candidate
        )

    return strategy
