"""Tree of code: branches of a change, verified, the best developed further."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace

from coder.core.errors import LimitReached, ModelError
from coder.core.events import CandidateDropped, CandidateForked, FilesChanged, events_of
from coder.core.state import active_candidates, newest_verdict
from coder.core.values import Candidate
from coder.core.verdict_summary import summarize_failures
from coder.prompting import render_prompt
from coder.session.context import SessionContext, Strategy
from coder.session.judging import attempts_left
from coder.session.phase import add_user_message
from coder.strategies.candidate_status import (
    apply_test_hunks,
    has_deliverable_change,
    has_unjudged_source,
    is_abandoned,
    is_finished,
    is_repairable,
    is_settled,
    score_candidate,
    summarize_attempt,
)

BEAM_WIDTH = 2
"""Branches that continue after a round without a proof."""


def best_of(width: int, *, change: Strategy, check: Strategy, explain: Strategy, rounds: int) -> Strategy:
    """Return a strategy that makes `width` branches of a change and returns the best.

    Each branch is changed by `change`, and judged by `check`, which decides what is accepted. A change that
    exists already is judged first. After a round without a fix the best branches continue, and learn how the
    others failed; the search stops at the first that is proven and accepted. All branches share the attempts
    of the budget, and no more are made than attempts are left. Without a fix, `explain` runs on the best.
    """

    async def strategy(context: SessionContext, parent: Candidate) -> Candidate:
        if await has_unjudged_source(context, parent):
            await change(context, parent)
            await check(context, parent)
            if is_abandoned(context, parent) or is_settled(context, parent):
                return parent
        contexts = await fork_branches(context, parent, max(1, min(width, attempts_left(context))))
        failures: list[Exception] = []

        async def grow(branch: Candidate) -> str:
            """Develop a branch; return why it is dropped, empty if it is judged."""
            try:
                await change(contexts[branch], branch)
                if not await is_finished(context, branch):
                    return "It changed nothing."
                if duplicate := find_duplicate(context, branch, contexts):
                    return f"It is the same change as that of {duplicate}."
                await check(contexts[branch], branch)
            except (ModelError, LimitReached) as error:
                failures.append(error)
                return str(error)
            is_unjudged = await has_unjudged_source(context, branch)
            return "No attempt is left to judge its change." if is_unjudged else ""

        active = [branch for branch in contexts if not has_deliverable_change(context, branch)]
        judged = [branch for branch in contexts if branch not in active]
        scores = {branch: await score_candidate(context, branch) for branch in judged}
        for _ in range(rounds):
            judged = await race_branches(context, active, grow)
            scores |= {branch: await score_candidate(context, branch) for branch in judged}
            repairable = select_repairable(context, judged)
            active = sorted(repairable, key=scores.__getitem__, reverse=True)[:BEAM_WIDTH]
            share_failures(context, active, judged)
        if not scores and failures:
            raise failures[-1]
        best = max(scores, key=scores.__getitem__, default=parent)
        return best if has_deliverable_change(context, best) else await explain(context, best)

    return strategy


def select_repairable(context: SessionContext, judged: Sequence[Candidate]) -> list[Candidate]:
    """Return the branches worth another round; none where one holds a fix or no attempt is left."""
    has_fix = any(has_deliverable_change(context, branch) for branch in judged)
    if has_fix or attempts_left(context) < 1:
        return []
    return [branch for branch in judged if is_repairable(context, branch)]


APPROACHES = (
    "go to where the wrong value is made, not where it shows: who calls this code, and with what?",
    "look how this project solves the same thing elsewhere, and what its history says of these lines.",
    "distrust the first place found; name two other places that could cause this, and look at them first.",
    "take the issue word by word, and find the rule in the code that contradicts it.",
)
"""Approaches of the branches after the first."""


async def fork_branches(
    context: SessionContext, parent: Candidate, width: int
) -> dict[Candidate, SessionContext]:
    """Return the parent and its new siblings, each with an equal share of the remaining budget.

    Each sibling has an approach of its own.
    """
    contexts = {parent: replace(context, budget=context.budget.share(width))}
    for approach in APPROACHES[: width - 1]:
        sibling_context = replace(context, budget=context.budget.share(width))
        contexts[await fork_sibling(sibling_context, parent, approach)] = sibling_context
    return contexts


async def fork_sibling(context: SessionContext, parent: Candidate, approach: str) -> Candidate:
    """Fork a sibling that shares the conversation so far and the tests.

    Other changes of the parent are set aside. `context` is the sibling's own.
    """
    count = sum(fork.role == "executor" for fork in events_of(context.log.records, CandidateForked))
    position = context.log.records[-1].number
    patch = await context.read_patch(parent)
    child = await asyncio.to_thread(context.repository.create_candidate, f"c{count + 1}")
    context.log.append(
        CandidateForked(candidate=child.id, parent=parent.id, position=position, approach=approach)
    )
    await asyncio.to_thread(apply_test_hunks, child, patch)
    test_patch = await context.read_patch(child)
    context.log.append(FilesChanged(candidate=child.id, paths=test_patch.paths, diff=test_patch.diff))
    newest = newest_verdict(context.log.records, parent.id)
    failure = summarize_failures(newest) if newest and not newest.is_deliverable else ""
    dropped_paths = [path for path in patch.paths if path not in test_patch.paths]
    add_user_message(
        context,
        child,
        render_prompt("approach", aside=dropped_paths, failed=failure, approach=approach),
    )
    return child


def find_duplicate(context: SessionContext, candidate: Candidate, siblings: Iterable[Candidate]) -> str:
    """Return the sibling that made the same change earlier; empty if there is none."""
    newest: dict[str, tuple[str, int]] = {}
    for record in context.log.records:
        if isinstance(record.event, FilesChanged):
            newest[record.event.candidate] = record.event.diff, record.number
    diff, number = newest[candidate.id]
    active = {*active_candidates(context.log.records)} - {candidate.id}
    others = ((other.id, *newest.get(other.id, ("", number))) for other in siblings if other.id in active)
    return next((name for name, change, at in others if change == diff and at < number), "")


def share_failures(
    context: SessionContext, learners: Sequence[Candidate], failed_candidates: Sequence[Candidate]
) -> None:
    """Tell each learner how the attempts of the others failed."""
    for learner in learners:
        if traces := [summarize_attempt(context, other) for other in failed_candidates if other != learner]:
            add_user_message(context, learner, render_prompt("siblings", traces=traces))


async def race_branches(
    context: SessionContext, branches: Sequence[Candidate], grow: Callable[[Candidate], Awaitable[str]]
) -> list[Candidate]:
    """Grow all branches concurrently; return those that were judged, in their order.

    The first that is proven and accepted ends the others.
    """
    tasks = {asyncio.ensure_future(_grow_or_drop(context, branch, grow)): branch for branch in branches}
    pending = set(tasks)
    winner: Candidate | None = None
    try:
        while pending and winner is None:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            judged = [tasks[task] for task in done if task.result()]
            winner = next((branch for branch in judged if is_settled(context, branch)), None)
    finally:
        for task in pending:
            task.cancel()
            reason = f"{winner.id} has it first." if winner else "The work was stopped."
            context.log.append(CandidateDropped(candidate=tasks[task].id, reason=reason))
        await asyncio.gather(*pending, return_exceptions=True)
    return [branch for task, branch in tasks.items() if task not in pending and task.result()]


async def _grow_or_drop(
    context: SessionContext, branch: Candidate, grow: Callable[[Candidate], Awaitable[str]]
) -> bool:
    if reason := await grow(branch):
        context.log.append(CandidateDropped(candidate=branch.id, reason=reason))
    return not reason
