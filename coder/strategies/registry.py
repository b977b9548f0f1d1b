"""The strategies that are offered by name, each a small composition over the one loop."""

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
"""Branches that are grown on after a round without a proof."""


def offered(name: str, *, width: int, rounds: int, review_rounds: int) -> Strategy:
    """Return the strategy of this name; `rounds` are of the tree, `review_rounds` of mending what reviewers flag."""
    judged = follow({}, "verify")
    last = follow({}, "explain")

    def read(strategy: Strategy) -> Strategy:
        return reviewed(strategy, mend, readers=committee, rounds=review_rounds)

    def careful(strategy: Strategy) -> Strategy:
        return reviewed(strategy, mend, readers=for_risk, rounds=review_rounds)

    def grown(check: Strategy, purposes: Mapping[PhaseName, Purpose] = PURPOSES) -> Strategy:
        first, then = follow({}, "edit"), follow({("diagnose", True): "repair"}, "diagnose", purposes)
        branches = beam(
            first=first, then=then, check=check, last=last, width=width, keep=KEEP, rounds=rounds, score=score
        )
        return chain(early(first, check), branches)

    def plan() -> Strategy:
        return planned(finish=follow(ONCE, "reproduce"), last=last)

    strategies = {
        "linear": lambda: careful(follow(DIRECT)),
        "plan": lambda: careful(plan()),
        "tree": lambda: careful(chain(follow(START), grown(judged))),
        "committee": lambda: chain(follow(START), grown(read(judged), ADVISED)),
        "auto": lambda: careful(
            auto(
                locate=follow({}, "locate"), linear=follow(ONCE, "reproduce"), plan=plan(), tree=grown(judged)
            )
        ),
        "offline": search_repair,
    }
    return strategies[name]()
