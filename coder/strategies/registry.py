"""Strategies by name, each a composition of routes."""

from collections.abc import Mapping

from coder.core.phases import PhaseName
from coder.session.context import Strategy
from coder.session.phase import Purpose
from coder.strategies.auto import auto
from coder.strategies.candidate_status import score
from coder.strategies.follow import DIRECT, ONCE, START, follow
from coder.strategies.offline import search_repair
from coder.strategies.phases import PURPOSES
from coder.strategies.planning.strategy import planned
from coder.strategies.review.advice import ADVISED
from coder.strategies.review.committee import reviewed
from coder.strategies.review.reviewers import committee, for_risk
from coder.strategies.review.targeted_repair import mend
from coder.strategies.sequence import chain, early
from coder.strategies.tree.beam import beam

KEEP = 2
"""Branches that continue after a round without a proof."""


def offered(name: str, *, width: int, rounds: int, review_rounds: int) -> Strategy:
    """Return the strategy of this name.

    `rounds` limits the rounds of the tree search, `review_rounds` those of repairing what reviewers flag.
    """
    judge_only = follow({}, "verify")
    explain = follow({}, "explain")

    def with_committee(strategy: Strategy) -> Strategy:
        return reviewed(strategy, mend, readers=committee, rounds=review_rounds)

    def with_risk_review(strategy: Strategy) -> Strategy:
        return reviewed(strategy, mend, readers=for_risk, rounds=review_rounds)

    def tree_search(check: Strategy, purposes: Mapping[PhaseName, Purpose] = PURPOSES) -> Strategy:
        edit, repair = follow({}, "edit"), follow({("diagnose", True): "repair"}, "diagnose", purposes)
        branches = beam(
            first=edit,
            then=repair,
            check=check,
            last=explain,
            width=width,
            keep=KEEP,
            rounds=rounds,
            score=score,
        )
        return chain(early(edit, check), branches)

    def plan() -> Strategy:
        return planned(finish=follow(ONCE, "reproduce"), last=explain)

    strategies = {
        "linear": lambda: with_risk_review(follow(DIRECT)),
        "plan": lambda: with_risk_review(plan()),
        "tree": lambda: with_risk_review(chain(follow(START), tree_search(judge_only))),
        "committee": lambda: chain(follow(START), tree_search(with_committee(judge_only), ADVISED)),
        "auto": lambda: with_risk_review(
            auto(
                locate=follow({}, "locate"),
                linear=follow(ONCE, "reproduce"),
                plan=plan(),
                tree=tree_search(judge_only),
            )
        ),
        "offline": search_repair,
    }
    return strategies[name]()
