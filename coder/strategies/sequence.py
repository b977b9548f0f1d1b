"""Sequences of strategies."""

from coder.core.state import candidate_notes
from coder.core.values.candidate import Candidate
from coder.session.context import SessionContext, Strategy
from coder.strategies.candidate_status import has_unjudged_source, is_abandoned, is_settled


def run_in_sequence(*strategies: Strategy) -> Strategy:
    """Return a strategy that runs the next strategy while there is still something to do."""

    async def strategy(context: SessionContext, candidate: Candidate) -> Candidate:
        for part in strategies:
            candidate = await part(context, candidate)
            if (
                is_abandoned(context, candidate)
                or is_settled(context, candidate)
                or not candidate_notes(context.log.records, candidate.id)
            ):
                break
        return candidate

    return strategy


def judge_unjudged_source(edit: Strategy, check: Strategy) -> Strategy:
    """Return a strategy that judges a change that already exists, and does nothing without one."""

    async def strategy(context: SessionContext, candidate: Candidate) -> Candidate:
        return (
            await check(context, await edit(context, candidate))
            if await has_unjudged_source(context, candidate)
            else candidate
        )

    return strategy
