"""Work in parts: done in parallel, evaluated, and done again where the evaluation asks for it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from coder.core.errors import LimitReached, ModelError
from coder.core.notes import Note
from coder.session.context import SessionContext, StagePart

P = TypeVar("P", bound=StagePart)


@dataclass(frozen=True, kw_only=True)
class PartOutcome(Generic[P]):
    """The end of one part: the note that it ended with, or the error that stopped it."""

    part: P
    note: Note | None = None
    error: LimitReached | ModelError | None = None


async def fan_out(
    context: SessionContext,
    parts: Sequence[P],
    *,
    work: Callable[[SessionContext, P], Awaitable[Note | None]],
    evaluate: Callable[[int, Sequence[PartOutcome[P]]], Awaitable[Sequence[P]]],
    rounds: int,
    reserved_shares: int = 0,
    log_round: Callable[[int], AbstractContextManager[object]] = lambda _number: nullcontext(),
) -> None:
    """Do all parts at the same time, then those that `evaluate` returns, in at most `rounds` rounds.

    Each part has an equal share of what is left of the budget; `reserved_shares` are left for what follows.
    A part that fails does not stop the others.
    """
    for number in range(1, rounds + 1):
        shares = [context.budget.share(len(parts) + reserved_shares) for _ in parts]
        with log_round(number) if parts else nullcontext():
            tasks = [
                asyncio.ensure_future(_do_part(replace(context, budget=share), part, work))
                for part, share in zip(parts, shares, strict=True)
            ]
            try:
                outcomes = await asyncio.gather(*tasks)
            finally:
                for task in tasks:  # a bug in one must not leave the others at work
                    task.cancel()
        parts = await evaluate(number, outcomes)
        if not parts:
            return


async def _do_part(
    context: SessionContext, part: P, work: Callable[[SessionContext, P], Awaitable[Note | None]]
) -> PartOutcome[P]:
    try:
        return PartOutcome(part=part, note=await work(context, part))
    except (LimitReached, ModelError) as error:
        return PartOutcome(part=part, error=error)
