"""Tree of code: branches of a change, verified, the best developed further."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace

from coder.core.errors import LimitReached, ModelError
from coder.core.events import CandidateDropped, CandidateForked, FilesChanged, events_of
from coder.core.state import active_candidates, has_given_up, newest_verdict
from coder.core.values import Candidate
from coder.core.verdict_summary import summarize_failures
from coder.session.context import CandidateRun, SessionContext, Strategy
from coder.session.judging import (
    apply_test_hunks,
    attempts_left,
    has_deliverable_change,
    has_unjudged_source,
    is_finished,
    is_repairable,
    is_settled,
    score_candidate,
    summarize_attempt,
)
from coder.session.phase import add_user_message, render_prompt

BEAM_WIDTH = 2
"""Branches that continue after a round without a proof."""


def best_of(width: int, *, change: Strategy, check: Strategy, explain: Strategy, rounds: int) -> Strategy:
    """Return a strategy that makes `width` branches of a change and returns the best.

    Each branch is changed by `change`, and judged by `check`, which decides what is accepted. A change that
    exists already is judged first. After a round without a fix the best branches continue, and learn how the
    others failed; the search stops at the first that is proven and accepted. All branches share the attempts
    of the budget, and no more are made than attempts are left. Without a fix, `explain` runs on the best.
    """

    async def strategy(run: CandidateRun) -> Candidate:
        if await has_unjudged_source(run):
            await change(run)
            await check(run)
            if has_given_up(*run.own) or is_settled(run):
                return run.candidate
        branches = await fork_branches(run, max(1, min(width, attempts_left(run))))
        failures: list[Exception] = []

        async def grow(branch: Candidate) -> str:
            """Develop a branch; return why it is dropped, empty if it is judged."""
            try:
                await change(branches[branch])
                if not await is_finished(run.on(branch)):
                    return "It changed nothing."
                if duplicate := find_duplicate(run.on(branch), branches):
                    return f"It is the same change as that of {duplicate}."
                await check(branches[branch])
            except (ModelError, LimitReached) as error:
                failures.append(error)
                return str(error)
            is_unjudged = await has_unjudged_source(run.on(branch))
            return "No attempt is left to judge its change." if is_unjudged else ""

        active = [branch for branch in branches if not has_deliverable_change(run.on(branch))]
        judged = [branch for branch in branches if branch not in active]
        scores = {branch: await score_candidate(run.on(branch)) for branch in judged}
        for _ in range(rounds):
            judged = await race_branches(run, active, grow)
            scores |= {branch: await score_candidate(run.on(branch)) for branch in judged}
            repairable = select_repairable(run, judged)
            active = sorted(repairable, key=scores.__getitem__, reverse=True)[:BEAM_WIDTH]
            share_failures(run, active, judged)
        if not scores and failures:
            raise failures[-1]
        best = max(scores, key=scores.__getitem__, default=run.candidate)
        return best if has_deliverable_change(run.on(best)) else await explain(run.on(best))

    return strategy


def select_repairable(context: SessionContext, judged: Sequence[Candidate]) -> list[Candidate]:
    """Return the branches worth another round; none where one holds a fix or no attempt is left."""
    has_fix = any(has_deliverable_change(context.on(branch)) for branch in judged)
    if has_fix or attempts_left(context) < 1:
        return []
    return [branch for branch in judged if is_repairable(context.on(branch))]


APPROACHES = (
    "go to where the wrong value is made, not where it shows: who calls this code, and with what?",
    "look how this project solves the same thing elsewhere, and what its history says of these lines.",
    "distrust the first place found; name two other places that could cause this, and look at them first.",
    "take the issue word by word, and find the rule in the code that contradicts it.",
)
"""Approaches of the branches after the first."""


async def fork_branches(run: CandidateRun, width: int) -> dict[Candidate, CandidateRun]:
    """Return the parent and its new siblings, each with an equal share of the remaining budget.

    Each sibling has an approach of its own.
    """
    branches = {run.candidate: replace(run, budget=run.budget.share(width))}
    for approach in APPROACHES[: width - 1]:
        sibling = await fork_sibling(run, approach)
        branches[sibling] = replace(run, candidate=sibling, budget=run.budget.share(width))
    return branches


async def fork_sibling(run: CandidateRun, approach: str) -> Candidate:
    """Fork a sibling that shares the conversation so far and the tests.

    Other changes of the parent are set aside.
    """
    count = sum(fork.role == "executor" for fork in events_of(run.log.records, CandidateForked))
    position = run.log.records[-1].number
    patch = await run.read_patch()
    child = await asyncio.to_thread(run.repository.create_candidate, f"c{count + 1}")
    run.log.append(
        CandidateForked(candidate=child.id, parent=run.candidate.id, position=position, approach=approach)
    )
    await asyncio.to_thread(apply_test_hunks, child, patch)
    test_patch = await run.on(child).read_patch()
    run.log.append(FilesChanged(candidate=child.id, paths=test_patch.paths, diff=test_patch.diff))
    newest = newest_verdict(*run.own)
    failure = summarize_failures(newest) if newest and not newest.is_deliverable else ""
    dropped_paths = [path for path in patch.paths if path not in test_patch.paths]
    add_user_message(
        run.on(child),
        render_prompt("approach", aside=dropped_paths, failed=failure, approach=approach),
    )
    return child


def find_duplicate(run: CandidateRun, siblings: Iterable[Candidate]) -> str:
    """Return the sibling that made the same change earlier; empty if there is none."""
    newest: dict[str, tuple[str, int]] = {}
    for record in run.log.records:
        if isinstance(record.event, FilesChanged):
            newest[record.event.candidate] = record.event.diff, record.number
    diff, number = newest.get(run.candidate.id, ("", 0))
    active = {*active_candidates(run.log.records)} - {run.candidate.id}
    others = ((other.id, *newest.get(other.id, ("", number))) for other in siblings if other.id in active)
    return next((name for name, change, at in others if change == diff and at < number), "")


def share_failures(
    context: SessionContext, learners: Sequence[Candidate], failed_candidates: Sequence[Candidate]
) -> None:
    """Tell each learner how the attempts of the others failed."""
    for learner in learners:
        if traces := [
            summarize_attempt(context.on(other)) for other in failed_candidates if other != learner
        ]:
            add_user_message(context.on(learner), render_prompt("siblings", traces=traces))


async def race_branches(
    context: SessionContext, branches: Sequence[Candidate], grow: Callable[[Candidate], Awaitable[str]]
) -> list[Candidate]:
    """Grow all branches concurrently; return those that were judged, in their order.

    The first that is proven and accepted ends the others.
    """
    tasks = {asyncio.ensure_future(_grow_or_drop(context.on(branch), grow)): branch for branch in branches}
    pending = set(tasks)
    winner: Candidate | None = None
    try:
        while pending and winner is None:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            judged = [tasks[task] for task in done if task.result()]
            winner = next((branch for branch in judged if is_settled(context.on(branch))), None)
    finally:
        for task in pending:
            task.cancel()
            reason = f"{winner.id} has it first." if winner else "The work was stopped."
            context.log.append(CandidateDropped(candidate=tasks[task].id, reason=reason))
        await asyncio.gather(*pending, return_exceptions=True)
    return [branch for task, branch in tasks.items() if task not in pending and task.result()]


async def _grow_or_drop(run: CandidateRun, grow: Callable[[Candidate], Awaitable[str]]) -> bool:
    if reason := await grow(run.candidate):
        run.log.append(CandidateDropped(candidate=run.candidate.id, reason=reason))
    return not reason
