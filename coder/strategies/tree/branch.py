"""Candidates that grow out of another one: what they share with it, and what sets them apart."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace

from coder.core.events import CandidateDropped, CandidateForked, FilesChanged
from coder.core.state import verdicts, working
from coder.core.values.base import Value
from coder.core.values.candidate import Candidate
from coder.session.context import Kit
from coder.session.turn import say
from coder.strategies.candidate_status import settled, trace
from coder.strategies.restart import bring_tests


class Seed(Value):
    """What makes a branch think otherwise than its siblings."""

    approach: str
    temperature: float | None = None


SEEDS = (
    Seed(
        approach="go to where the wrong value is made, not where it shows: who calls this code, and with what?",
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


async def branches(kit: Kit, trunk: Candidate, width: int) -> dict[Candidate, Kit]:
    """The trunk and its new siblings, each with a share of what is left to spend, and all but the trunk with thoughts of their own."""
    kits = {trunk: replace(kit, purse=kit.purse.share(width))}
    for number, seed in enumerate(SEEDS[: width - 1], start=1):
        role = f"branch {number}"
        own = replace(
            kits[trunk],
            purse=kit.purse.share(width),
            temperature=seed.temperature,
            role=role if role in kit.models else kit.role,
        )
        kits[await fork(own, trunk, seed)] = own
    return kits


async def fork(kit: Kit, parent: Candidate, seed: Seed) -> Candidate:
    """A sibling that shares the conversation so far and the tests in place; the parent's other changes are set aside for it.

    `kit` is the sibling's own.
    """
    count = sum(
        isinstance(record.event, CandidateForked) and record.event.role == "executor"
        for record in kit.log.records
    )
    position = kit.log.records[-1].number
    patch = await asyncio.to_thread(kit.repository.patch, parent)
    child = await asyncio.to_thread(kit.repository.candidate, f"c{count + 1}")
    who = kit.speakers[0].name
    approach = seed.approach if who == kit.model.name else f"{seed.approach} ({who})"
    kit.log.append(
        CandidateForked(candidate=child.id, parent=parent.id, position=position, approach=approach)
    )
    await asyncio.to_thread(bring_tests, child, patch)
    kept = await asyncio.to_thread(kit.repository.patch, child)
    kit.log.append(FilesChanged(candidate=child.id, paths=kept.paths, diff=kept.diff))
    share_views(kit, parent, child)
    judged = verdicts(kit.log.records, parent.id)
    failed = kit.verifier.explain(judged[-1]) if judged and not judged[-1].good else ""
    aside = [path for path in patch.paths if path not in kept.paths]
    say(kit, child, kit.prompts.render("approach", aside=aside, failed=failed, approach=seed.approach))
    return child


def share_views(kit: Kit, parent: Candidate, child: Candidate) -> None:
    """What the parent has been shown counts as shown to the child, who shares the conversation."""
    for path, lines in kit.workspace(parent).named.items():
        kit.workspace(child).named.setdefault(path, set()).update(lines)


def drop(kit: Kit, candidate: Candidate, reason: str) -> None:
    kit.log.append(CandidateDropped(candidate=candidate.id, reason=reason))


def twin(kit: Kit, candidate: Candidate, siblings: Iterable[Candidate]) -> str:
    """The sibling that made a change of the same meaning before this one did; empty where there is none."""
    newest: dict[str, tuple[str, int]] = {}
    for record in kit.log.records:
        if isinstance(record.event, FilesChanged) and record.event.fingerprint:
            newest[record.event.candidate] = record.event.fingerprint, record.number
    meaning, number = newest.get(candidate.id, ("", 0))
    living = {*working(kit.log.records)} - {candidate.id}
    others = ((other.id, *newest.get(other.id, ("", 0))) for other in siblings if other.id in living)
    return next(
        (name for name, theirs, earlier in others if meaning and theirs == meaning and earlier < number), ""
    )


def teach(kit: Kit, learners: Sequence[Candidate], failed: Sequence[Candidate]) -> None:
    """Let each learner hear what came of the others' attempts."""
    for learner in learners:
        if traces := [trace(kit, other) for other in failed if other != learner]:
            say(kit, learner, kit.prompts.render("siblings", traces=traces))


async def race(
    kit: Kit, branches: Sequence[Candidate], grow: Callable[[Candidate], Awaitable[bool]]
) -> list[Candidate]:
    """Grow all at once; those that came through, in their order. The first that is proven and accepted ends it for the others."""
    tasks = {asyncio.ensure_future(grow(branch)): branch for branch in branches}
    pending = set(tasks)
    winner: Candidate | None = None
    try:
        while pending and winner is None:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            winner = next((tasks[task] for task in done if task.result() and settled(kit, tasks[task])), None)
    finally:
        for task in pending:
            task.cancel()
            drop(kit, tasks[task], f"{winner.id} has it first." if winner else "The work was stopped.")
        await asyncio.gather(*pending, return_exceptions=True)
    return [branch for task, branch in tasks.items() if task not in pending and task.result()]
