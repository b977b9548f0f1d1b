"""Strategies by name, each a composition of routes."""

from collections.abc import Mapping

from coder.core.events import StrategyChosen
from coder.core.notes import Sites
from coder.core.phases import PhaseName
from coder.core.state import candidate_notes
from coder.core.values import Candidate
from coder.session.context import SessionContext, Strategy
from coder.session.phase import PhaseSpec
from coder.strategies.candidate_status import is_abandoned, is_repairable, score_candidate
from coder.strategies.follow import (
    CHANGE_ROUTE,
    LINEAR_ROUTE,
    LOCATE_ROUTE,
    SINGLE_CHANGE_ROUTE,
    answer_question,
    follow_route,
    judge_unjudged_source,
    run_in_sequence,
)
from coder.strategies.offline import search_repair
from coder.strategies.phases import PHASE_SPECS
from coder.strategies.plan import plan_and_execute
from coder.strategies.research import research_question, write_sources
from coder.strategies.review import (
    ADVISED_PHASE_SPECS,
    committee_reviewers,
    repair_flagged,
    review_and_repair,
    risk_reviewers,
)
from coder.strategies.tree import beam_search
from coder.strategies.verify_phase import attempts_left

BEAM_WIDTH = 2
"""Branches that continue after a round without a proof."""


def build_strategy(
    name: str, *, width: int, rounds: int, review_rounds: int, reproduces: bool = True
) -> Strategy:
    """Return the strategy of this name.

    `rounds` limits the rounds of the tree search, `review_rounds` those of repairing what reviewers flag.
    `reproduces` tells whether a failing test is sought before the change.
    """
    trunk = follow_route(LOCATE_ROUTE if reproduces else {})
    linear_route = LINEAR_ROUTE if reproduces else CHANGE_ROUTE
    one_change = follow_route(SINGLE_CHANGE_ROUTE, "reproduce" if reproduces else "edit")
    judge_only = follow_route({}, "verify")
    explain = follow_route({}, "explain")

    def with_committee(strategy: Strategy) -> Strategy:
        return review_and_repair(
            strategy, repair_flagged, choose_reviewers=committee_reviewers, rounds=review_rounds
        )

    def with_risk_review(strategy: Strategy) -> Strategy:
        return review_and_repair(
            strategy, repair_flagged, choose_reviewers=risk_reviewers, rounds=review_rounds
        )

    def tree_search(check: Strategy, purposes: Mapping[PhaseName, PhaseSpec] = PHASE_SPECS) -> Strategy:
        edit, repair = (
            follow_route({}, "edit"),
            follow_route({("diagnose", True): "repair"}, "diagnose", purposes),
        )
        branches = beam_search(
            edit=edit,
            repair=repair,
            check=check,
            explain=explain,
            width=width,
            keep=BEAM_WIDTH,
            rounds=rounds,
            score=score_candidate,
        )
        return run_in_sequence(judge_unjudged_source(edit, check), branches)

    def plan() -> Strategy:
        return plan_and_execute(finish=one_change, explain=explain)

    strategies = {
        "linear": lambda: with_risk_review(follow_route(linear_route)),
        "plan": lambda: with_risk_review(plan()),
        "tree": lambda: with_risk_review(run_in_sequence(trunk, tree_search(judge_only))),
        "committee": lambda: run_in_sequence(
            trunk, tree_search(with_committee(judge_only), ADVISED_PHASE_SPECS)
        ),
        "auto": lambda: with_risk_review(
            auto_strategy(
                locate=follow_route({}, "locate"),
                linear=one_change,
                plan=plan(),
                tree=tree_search(judge_only),
            )
        ),
        "offline": search_repair,
    }
    return strategies[name]()


async def answer_strategy(context: SessionContext, candidate: Candidate) -> Candidate:
    """Answer the question of the task: by research where that was asked for, else by one reader."""
    write_sources(candidate.worktree, context.task.sources)
    answer = research_question if context.task.deep else answer_question
    return await answer(context, candidate)


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
