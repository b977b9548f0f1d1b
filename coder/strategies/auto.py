"""The choice of a strategy by what is seen on the way, each with its reason."""

from coder.core.events import StrategyChosen
from coder.core.notes import Sites
from coder.core.state import notes
from coder.core.values.candidate import Candidate
from coder.session.context import Kit, Strategy
from coder.strategies.candidate_status import given_up, mendable
from coder.strategies.verify_phase import attempts_left

MANY_FILES = 3
"""So many files that belong to one issue make a plan worth its requests."""


def chosen(name: str, reason: str, strategy: Strategy) -> Strategy:
    """The same strategy, announced."""

    async def announced(kit: Kit, candidate: Candidate) -> Candidate:
        kit.log.append(StrategyChosen(strategy=name, reason=reason))
        return await strategy(kit, candidate)

    return announced


def auto(*, locate: Strategy, linear: Strategy, plan: Strategy, tree: Strategy) -> Strategy:
    """A strategy that goes straight ahead where the issue is small and clear, plans where it is spread, and branches after a failure."""

    async def strategy(kit: Kit, candidate: Candidate) -> Candidate:
        await locate(kit, candidate)
        found = notes(kit.log.records, candidate.id)
        if not found or given_up(kit, candidate):
            return candidate
        files = list(
            dict.fromkeys(
                place.partition(":")[0] for note in found if isinstance(note, Sites) for place in note.places
            )
        )
        if len(files) >= MANY_FILES:
            return await chosen("plan", f"it is spread over {len(files)} files: {', '.join(files)}", plan)(
                kit, candidate
            )
        why = f"it was located in {' and '.join(files)}" if files else "a change was made straight away"
        candidate = await chosen("linear", why, linear)(kit, candidate)
        left = attempts_left(kit)
        if not mendable(kit, candidate) or left < 1:
            return candidate
        return await chosen(
            "tree", f"the first attempt failed and {left} {'is' if left == 1 else 'are'} left", tree
        )(kit, candidate)

    return strategy
