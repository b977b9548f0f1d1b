"""Strategies by name, each a composition of routes."""

from typing import Literal

from coder.core.events import StrategyChosen
from coder.core.notes import Sites
from coder.core.state import candidate_notes, has_given_up
from coder.core.values import Candidate, Value
from coder.session.context import CandidateRun, Strategy, run_part
from coder.session.judging import attempts_left, is_red, is_repairable
from coder.strategies.follow import (
    CHANGE_ROUTE,
    LINEAR_ROUTE,
    LOCATE_ROUTE,
    PHASE_SPECS,
    SINGLE_CHANGE_ROUTE,
    answer_question,
    follow_route,
    run_in_sequence,
)
from coder.strategies.plan import plan_and_execute
from coder.strategies.research import research_question, write_sources
from coder.strategies.review import (
    ADVISED_PHASE_SPECS,
    committee_reviewers,
    repair_flagged,
    review_and_repair,
    risk_reviewers,
)
from coder.strategies.tree import best_of


def build_strategy(name: str, *, width: int, rounds: int, reproduces: bool = True) -> Strategy:
    """Return the strategy of this name.

    `rounds` limits the rounds of the tree search. `reproduces` tells whether a failing test is sought before
    the change.
    """
    trunk = follow_route(LOCATE_ROUTE if reproduces else {})
    linear_route = LINEAR_ROUTE if reproduces else CHANGE_ROUTE
    one_change = follow_route(SINGLE_CHANGE_ROUTE, "reproduce" if reproduces else "edit")
    explain = follow_route({}, "explain")

    def with_risk_review(strategy: Strategy) -> Strategy:
        return review_and_repair(strategy, repair_flagged, choose_reviewers=risk_reviewers)

    def tree_search(*, is_reviewed: bool = False) -> Strategy:
        return best_of(
            width,
            change=_run_as_part(BranchStep(name="change", is_reviewed=is_reviewed)),
            check=_run_as_part(BranchStep(name="check", is_reviewed=is_reviewed)),
            explain=explain,
            rounds=rounds,
        )

    def plan() -> Strategy:
        return plan_and_execute(finish=one_change, explain=explain)

    def offline() -> Strategy:
        from coder.strategies.offline import search_repair

        return search_repair()

    strategies = {
        "linear": lambda: with_risk_review(follow_route(linear_route)),
        "plan": lambda: with_risk_review(plan()),
        "tree": lambda: with_risk_review(run_in_sequence(trunk, tree_search())),
        "committee": lambda: run_in_sequence(trunk, tree_search(is_reviewed=True)),
        "auto": lambda: with_risk_review(
            auto_strategy(
                locate=follow_route({}, "locate"),
                linear=one_change,
                plan=plan(),
                tree=tree_search(),
            )
        ),
        "offline": offline,
    }
    return strategies[name]()


class BranchStep(Value):
    """A step of one branch, as a part of the tree's stage."""

    name: Literal["change", "check"]
    is_reviewed: bool
    """Whether what a committee flags is repaired; otherwise what is proven is accepted."""

    async def perform(self, run: CandidateRun) -> None:
        if self.name == "check":
            strategy = follow_route({}, "verify")
            if self.is_reviewed:
                strategy = review_and_repair(strategy, repair_flagged, choose_reviewers=committee_reviewers)
        elif await is_red(run):
            specs = ADVISED_PHASE_SPECS if self.is_reviewed else PHASE_SPECS
            strategy = follow_route({("diagnose", True): "repair"}, "diagnose", specs)
        else:
            strategy = follow_route({}, "edit")
        await strategy(run)


def _run_as_part(step: BranchStep) -> Strategy:
    async def strategy(run: CandidateRun) -> Candidate:
        if run.run_elsewhere is None or step.name != "check":
            await run_part(run, step)
            return run.candidate
        # Elsewhere nobody knows of the attempts that other branches are about to spend.
        async with run.models.rate_limiter.attempt_slot(lambda: attempts_left(run)) as is_granted:
            if is_granted:
                await run_part(run, step)
        return run.candidate

    return strategy


async def answer_strategy(run: CandidateRun) -> Candidate:
    """Answer the question of the task: by research where that was asked for, else by one reader."""
    write_sources(run.candidate.worktree, run.task.sources)
    answer = research_question if run.task.deep else answer_question
    return await answer(run)


MANY_FILES = 3
"""Number of files of one issue from which a plan is worth its requests."""


def log_strategy_choice(name: str, reason: str, strategy: Strategy) -> Strategy:
    """Return the strategy, with its choice logged when it starts."""

    async def log_and_run(run: CandidateRun) -> Candidate:
        run.log.append(StrategyChosen(strategy=name, reason=reason))
        return await strategy(run)

    return log_and_run


def auto_strategy(*, locate: Strategy, linear: Strategy, plan: Strategy, tree: Strategy) -> Strategy:
    """Return a strategy that edits directly, plans for many files, and branches after a failure."""

    async def strategy(run: CandidateRun) -> Candidate:
        await locate(run)
        phase_notes = candidate_notes(*run.own)
        if not phase_notes or has_given_up(*run.own):
            return run.candidate
        sites = (note.places for note in phase_notes if isinstance(note, Sites))
        files = [*dict.fromkeys(place.partition(":")[0] for places in sites for place in places)]
        if len(files) >= MANY_FILES:
            return await log_strategy_choice(
                "plan", f"it is spread over {len(files)} files: {', '.join(files)}", plan
            )(run)
        why = f"it was located in {' and '.join(files)}" if files else "a change was made straight away"
        run = run.on(await log_strategy_choice("linear", why, linear)(run))
        remaining = attempts_left(run)
        if not is_repairable(run) or remaining < 1:
            return run.candidate
        return await log_strategy_choice(
            "tree", f"the first attempt failed and {remaining} {'is' if remaining == 1 else 'are'} left", tree
        )(run)

    return strategy
