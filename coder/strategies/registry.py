"""Strategies by name, each a composition of routes."""

from collections.abc import Mapping

from coder.core.phases import PhaseName
from coder.core.values.candidate import Candidate
from coder.session.context import SessionContext, Strategy
from coder.session.phase import PhaseSpec
from coder.strategies.auto import auto_strategy
from coder.strategies.candidate_status import score_candidate
from coder.strategies.follow import (
    CHANGE_ROUTE,
    LINEAR_ROUTE,
    SINGLE_CHANGE_ROUTE,
    TRUNK_ROUTE,
    answer_question,
    follow_route,
)
from coder.strategies.offline import search_repair
from coder.strategies.phases import PHASE_SPECS
from coder.strategies.planning.strategy import plan_and_execute
from coder.strategies.research.sources import write_sources
from coder.strategies.research.strategy import research_question
from coder.strategies.review.advice import ADVISED_PHASE_SPECS
from coder.strategies.review.committee import review_and_repair
from coder.strategies.review.reviewers import committee_reviewers, risk_reviewers
from coder.strategies.review.targeted_repair import repair_flagged
from coder.strategies.sequence import judge_unjudged_source, run_in_sequence
from coder.strategies.tree.beam import beam_search

BEAM_WIDTH = 2
"""Branches that continue after a round without a proof."""


def build_strategy(
    name: str, *, width: int, rounds: int, review_rounds: int, reproduces: bool = True
) -> Strategy:
    """Return the strategy of this name.

    `rounds` limits the rounds of the tree search, `review_rounds` those of repairing what reviewers flag.
    `reproduces` tells whether a failing test is sought before the change.
    """
    trunk = follow_route(TRUNK_ROUTE if reproduces else {})
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
