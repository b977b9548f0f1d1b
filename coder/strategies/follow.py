"""The one loop: walk a route, a table from (phase, did it succeed) to the next phase."""

import asyncio
from collections.abc import Mapping

from coder.core.candidate import Candidate
from coder.core.errors import LimitReached, ModelError
from coder.core.events import PhaseEntered, Warned
from coder.core.notes import GiveUp
from coder.core.phases import PhaseName
from coder.core.state import named_tests
from coder.core.verdict import VerdictKind
from coder.loop.kit import Kit, Strategy
from coder.loop.phase import run
from coder.strategies.judge import attempt_number, judge
from coder.strategies.purposes import PURPOSES

Route = Mapping[tuple[PhaseName, bool], PhaseName]

DIRECT: Route = {
    ("locate", True): "reproduce",
    ("reproduce", True): "edit",
    ("reproduce", False): "edit",
    ("edit", True): "verify",
    ("verify", False): "diagnose",
    ("diagnose", True): "repair",
    ("repair", True): "verify",
}
"""The self-debug loop. A missing row is the honest end: after a good verification, or with nothing left to try."""


def follow(route: Route, start: PhaseName = "locate") -> Strategy:
    """A strategy that walks `route` from `start`, with as many red verifications as the budget has attempts."""

    async def strategy(kit: Kit, candidate: Candidate) -> Candidate:
        phase: PhaseName | None = start
        while phase is not None:
            attempt = attempt_number(kit, candidate)
            if phase == "verify":
                succeeded = await _verify(kit, candidate, attempt)
                if succeeded is None:
                    break
                if not succeeded and attempt >= kit.task.budget.attempts:
                    await _explain(kit, candidate, attempt)
                    break
            else:
                note = await run(kit, candidate, PURPOSES[phase], attempt)
                if isinstance(note, GiveUp):
                    break
                succeeded = note is not None
            phase = route.get((phase, succeeded))
        return candidate

    return strategy


async def _verify(kit: Kit, candidate: Candidate, attempt: int) -> bool | None:
    """Is the change good? None: nothing can be said, whatever the change is."""
    kit.log.append(PhaseEntered(candidate=candidate.id, phase="verify", attempt=attempt))
    patch = await asyncio.to_thread(kit.repository.patch, candidate)
    verdict = await judge(kit, candidate, patch, named_tests(kit.log.records, candidate.id))
    return None if verdict.kind is VerdictKind.INCONCLUSIVE else verdict.good


async def _explain(kit: Kit, candidate: Candidate, attempt: int) -> None:
    """Let the model say what it learnt; the report stands without it."""
    try:
        await run(kit, candidate, PURPOSES["explain"], attempt)
    except (LimitReached, ModelError) as error:
        kit.log.append(Warned(text=f"The model was not asked for a last word: {error}"))
