"""Tree of code: branches of a change, verified, the best developed further."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace

from coder.core.errors import LimitReached, ModelError
from coder.core.events import CandidateDropped, CandidateForked, FilesChanged
from coder.core.state import active_candidates, candidate_verdicts
from coder.core.values import Candidate, Value
from coder.session.context import SessionContext, Strategy
from coder.session.turn import add_user_message
from coder.strategies.candidate_status import (
    Score,
    has_deliverable_change,
    has_unjudged_source,
    is_finished,
    is_red,
    is_repairable,
    is_settled,
    summarize_attempt,
)
from coder.strategies.diagnosis import apply_test_hunks
from coder.strategies.verify_phase import attempts_left

ScoreCandidate = Callable[[SessionContext, Candidate], Awaitable[Score]]


def beam_search(
    *,
    edit: Strategy,
    repair: Strategy,
    check: Strategy,
    explain: Strategy,
    width: int,
    keep: int,
    rounds: int,
    score: ScoreCandidate,
) -> Strategy:
    """Return a strategy that searches over `width` branches and keeps the `keep` best after each round.

    Each branch is changed by `edit` (`repair` if its change failed) and judged by `check`. The remaining
    branches learn how the others failed; the search stops at the first branch that is proven and accepted.
    All branches share the attempts of the budget, and no more branches are made than attempts are left.
    Without a fix, `explain` runs on the best branch.
    """

    async def strategy(context: SessionContext, parent: Candidate) -> Candidate:
        contexts = await fork_branches(context, parent, max(1, min(width, attempts_left(context))))
        failures: list[Exception] = []

        async def grow(branch: Candidate) -> bool:
            try:
                await (repair if await is_red(context, branch) else edit)(contexts[branch], branch)
                if duplicate := find_duplicate(context, branch, contexts):
                    drop_candidate(context, branch, f"It is the same change as that of {duplicate}.")
                    return False
                if not await is_finished(context, branch):
                    drop_candidate(context, branch, "It changed nothing.")
                    return False
                await check(contexts[branch], branch)
                if await has_unjudged_source(context, branch):
                    drop_candidate(context, branch, "No attempt is left to judge its change.")
                    return False
            except (ModelError, LimitReached) as error:
                failures.append(error)
                drop_candidate(context, branch, str(error))
                return False
            return True

        active = [branch for branch in contexts if not has_deliverable_change(context, branch)]
        scores = {branch: await score(context, branch) for branch in contexts if branch not in active}
        for _ in range(rounds):
            completed_branches = await race_branches(context, active, grow)
            scores |= {branch: await score(context, branch) for branch in completed_branches}
            repairable = [branch for branch in completed_branches if is_repairable(context, branch)]
            if (
                not repairable
                or any(has_deliverable_change(context, branch) for branch in completed_branches)
                or attempts_left(context) < 1
            ):
                break
            active = sorted(repairable, key=scores.__getitem__, reverse=True)[:keep]
            share_failures(context, active, completed_branches)
        if not scores and failures:
            raise failures[-1]
        scores = scores or {parent: await score(context, parent)}
        best = max(scores, key=scores.__getitem__)
        return best if has_deliverable_change(context, best) else await explain(context, best)

    return strategy


class Seed(Value):
    """Variation of a branch: its approach and sampling temperature."""

    approach: str
    temperature: float | None = None


SEEDS = (
    Seed(
        approach=(
            "go to where the wrong value is made, not where it shows: who calls this code, and with what?"
        ),
        temperature=0.7,
    ),
    Seed(
        approach=(
            "look how this project solves the same thing elsewhere, and what its history says of these lines."
        ),
        temperature=1.0,
    ),
    Seed(
        approach=(
            "distrust the first place found; name two other places that could cause this, and look at them "
            "first."
        ),
        temperature=1.0,
    ),
    Seed(
        approach="take the issue word by word, and find the rule in the code that contradicts it.",
        temperature=0.7,
    ),
)


async def fork_branches(
    context: SessionContext, parent: Candidate, width: int
) -> dict[Candidate, SessionContext]:
    """Return the parent and its new siblings, each with an equal share of the remaining budget.

    Each sibling has an approach of its own.
    """
    contexts = {parent: replace(context, budget=context.budget.share(width))}
    for seed in SEEDS[: width - 1]:
        sibling_context = replace(
            contexts[parent], budget=context.budget.share(width), temperature=seed.temperature
        )
        contexts[await fork_sibling(sibling_context, parent, seed)] = sibling_context
    return contexts


async def fork_sibling(context: SessionContext, parent: Candidate, seed: Seed) -> Candidate:
    """Fork a sibling that shares the conversation so far and the tests.

    Other changes of the parent are set aside. `context` is the sibling's own.
    """
    count = sum(
        isinstance(record.event, CandidateForked) and record.event.role == "executor"
        for record in context.log.records
    )
    position = context.log.records[-1].number
    patch = await asyncio.to_thread(context.repository.candidate_patch, parent)
    child = await asyncio.to_thread(context.repository.create_candidate, f"c{count + 1}")
    context.log.append(
        CandidateForked(candidate=child.id, parent=parent.id, position=position, approach=seed.approach)
    )
    await asyncio.to_thread(apply_test_hunks, child, patch)
    test_patch = await asyncio.to_thread(context.repository.candidate_patch, child)
    context.log.append(FilesChanged(candidate=child.id, paths=test_patch.paths, diff=test_patch.diff))
    judgements = candidate_verdicts(context.log.records, parent.id)
    failure = (
        context.judge.explain_failure(judgements[-1])
        if judgements and not judgements[-1].is_deliverable
        else ""
    )
    dropped_paths = [path for path in patch.paths if path not in test_patch.paths]
    add_user_message(
        context,
        child,
        context.prompts.render("approach", aside=dropped_paths, failed=failure, approach=seed.approach),
    )
    return child


def drop_candidate(context: SessionContext, candidate: Candidate, reason: str) -> None:
    context.log.append(CandidateDropped(candidate=candidate.id, reason=reason))


def find_duplicate(context: SessionContext, candidate: Candidate, siblings: Iterable[Candidate]) -> str:
    """Return the sibling that made an equivalent change earlier; empty if there is none."""
    newest: dict[str, tuple[str, int]] = {}
    for record in context.log.records:
        if isinstance(record.event, FilesChanged) and record.event.fingerprint:
            newest[record.event.candidate] = record.event.fingerprint, record.number
    fingerprint, number = newest.get(candidate.id, ("", 0))
    active = {*active_candidates(context.log.records)} - {candidate.id}
    others = ((other.id, *newest.get(other.id, ("", 0))) for other in siblings if other.id in active)
    return next(
        (
            name
            for name, other_fingerprint, other_number in others
            if fingerprint and other_fingerprint == fingerprint and other_number < number
        ),
        "",
    )


def share_failures(
    context: SessionContext, learners: Sequence[Candidate], failed_candidates: Sequence[Candidate]
) -> None:
    """Tell each learner how the attempts of the others failed."""
    for learner in learners:
        if traces := [summarize_attempt(context, other) for other in failed_candidates if other != learner]:
            add_user_message(context, learner, context.prompts.render("siblings", traces=traces))


async def race_branches(
    context: SessionContext, branches: Sequence[Candidate], grow: Callable[[Candidate], Awaitable[bool]]
) -> list[Candidate]:
    """Grow all branches concurrently; return those that completed, in their order.

    The first that is proven and accepted ends the others.
    """
    tasks = {asyncio.ensure_future(grow(branch)): branch for branch in branches}
    pending = set(tasks)
    winner: Candidate | None = None
    try:
        while pending and winner is None:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            winner = next(
                (tasks[task] for task in done if task.result() and is_settled(context, tasks[task])), None
            )
    finally:
        for task in pending:
            task.cancel()
            drop_candidate(
                context, tasks[task], f"{winner.id} has it first." if winner else "The work was stopped."
            )
        await asyncio.gather(*pending, return_exceptions=True)
    return [branch for task, branch in tasks.items() if task not in pending and task.result()]
