"""Automatic choice of a strategy during a session, logged with its reason."""

from coder.core.events import StrategyChosen
from coder.core.notes import Sites
from coder.core.state import candidate_notes
from coder.core.values.candidate import Candidate
from coder.session.context import SessionContext, Strategy
from coder.strategies.candidate_status import is_abandoned, is_repairable
from coder.strategies.verify_phase import attempts_left

MANY_FILES = 3
"""Number of files of one issue from which a plan is worth its requests."""


def log_strategy_choice(name: str, reason: str, strategy: Strategy) -> Strategy:
    """Return the strategy, with its choice logged when it starts."""

    async def log_and_run(context: SessionContext, candidate: Candidate) -> Candidate:
        context.log.append(StrategyChosen(strategy=name, reason=reason))
        return await strategy(context, candidate)

    return log_and_run


def auto_strategy(*, locate: Strategy, linear: Strategy, plan: Strategy, tree: Strategy) -> Strategy:
    """Return a strategy that edits directly, plans for many files, and branches after a failure."""

    async def strategy(context: SessionContext, candidate: Candidate) -> Candidate:
        await locate(context, candidate)
        phase_notes = candidate_notes(context.log.records, candidate.id)
        if not phase_notes or is_abandoned(context, candidate):
            return candidate
        files = list(
            dict.fromkeys(
                place.partition(":")[0]
                for note in phase_notes
                if isinstance(note, Sites)
                for place in note.places
            )
        )
        if len(files) >= MANY_FILES:
            return await log_strategy_choice(
                "plan", f"it is spread over {len(files)} files: {', '.join(files)}", plan
            )(context, candidate)
        why = f"it was located in {' and '.join(files)}" if files else "a change was made straight away"
        candidate = await log_strategy_choice("linear", why, linear)(context, candidate)
        remaining = attempts_left(context)
        if not is_repairable(context, candidate) or remaining < 1:
            return candidate
        return await log_strategy_choice(
            "tree", f"the first attempt failed and {remaining} {'is' if remaining == 1 else 'are'} left", tree
        )(context, candidate)

    return strategy
