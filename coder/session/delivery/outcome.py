"""How a session ends: what is said, what is delivered, what the exit code is."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress

from coder.core.errors import GitError, UserError
from coder.core.events import NoteMade, Warned
from coder.core.notes import Diagnosis, Done, Plan, Sites
from coder.core.state import gave_up, named_tests, notes, opinions, verdicts
from coder.core.values.base import Value
from coder.core.values.candidate import Candidate, Delivery, Patch
from coder.core.values.plan import written
from coder.core.values.verdict import Verdict, VerdictKind
from coder.session.context import Kit
from coder.session.delivery.commit_message import message, slug, subject
from coder.session.delivery.minimize import minimised
from coder.session.delivery.report import advice, explanation
from coder.session.delivery.review import announce, clear, review, unreviewed

INTERRUPTED = 130
MISUSE = 2
BUG = 1


class Ending(Value):
    """What SessionFinished says beyond the totals."""

    kind: VerdictKind | None
    summary: str
    exit_code: int
    report: str = ""
    verdict: Verdict | None = None
    delivery: Delivery | None = None


async def conclude(kit: Kit, candidate: Candidate) -> Ending:
    """Deliver what the newest verdict allows, or explain why nothing is delivered."""
    if kit.task.plan_only:
        return _planned(kit)
    judged = verdicts(kit.log.records, candidate.id)
    newest = judged[-1] if judged else None
    if newest is not None and kit.task.given:
        page = kit.verifier.evidence(newest).page
        return Ending(
            kind=newest.kind,
            summary=newest.reason,
            report=page,
            verdict=newest,
            exit_code=newest.kind.exit_code,
        )
    patch = await asyncio.to_thread(kit.repository.patch, candidate)
    if (
        newest is None
        or newest.tree != patch.tree
        or not newest.good
        or (gave_up(kit.log.records, candidate.id) and newest.kind is not VerdictKind.PROVEN)
    ):
        return _without(kit, candidate, newest)
    if kit.task.minimise:
        patch, newest = await minimised(kit, candidate, patch, newest)
    newest = newest.model_copy(
        update={"notes": (*newest.notes, *advice(opinions(kit.log.records, candidate.id)))}
    )
    if kit.reviews:
        announce(kit, patch)
        accepted = await review(kit, candidate, patch, newest)
        if accepted is None:
            return Ending(
                kind=VerdictKind.GAVE_UP,
                summary="You accepted nothing of it, so nothing was delivered.",
                exit_code=4,
            )
        patch, newest = accepted
        if not newest.good:
            return ended(VerdictKind.GAVE_UP, f"What you accepted is not delivered: {newest.reason}", kit)
    cleared = await clear(kit, patch, newest)
    if cleared is None:
        return ended(
            VerdictKind.GAVE_UP, "You did not want these files changed, so nothing was delivered.", kit
        )
    verdict, delivery = await _deliver(kit, candidate, patch, cleared)
    return Ending(
        kind=verdict.kind,
        summary=verdict.reason,
        verdict=verdict,
        delivery=delivery,
        exit_code=verdict.kind.exit_code,
    )


def ended(kind: VerdictKind, summary: str, kit: Kit) -> Ending:
    """An end without a fix, with the report of what was learnt."""
    return Ending(
        kind=kind,
        summary=summary,
        report=explanation(kit.log.records, kit.store.keep),
        exit_code=kind.exit_code,
    )


def _planned(kit: Kit) -> Ending:
    """The plan as it was made, and nothing else."""
    made = [record.event.note for record in kit.log.records if isinstance(record.event, NoteMade)]
    plan = next((note for note in reversed(made) if isinstance(note, Plan)), None)
    if plan is None:
        return ended(VerdictKind.GAVE_UP, _first_line(made[-1].summary) if made else "No plan was made.", kit)
    return Ending(
        kind=None, summary="This is the plan; nothing was changed.", report=written(plan), exit_code=0
    )


def _without(kit: Kit, candidate: Candidate, verdict: Verdict | None) -> Ending:
    if gave_up(kit.log.records, candidate.id):
        return ended(VerdictKind.GAVE_UP, _first_line(notes(kit.log.records, candidate.id)[-1].summary), kit)
    if verdict is None:
        return ended(VerdictKind.GAVE_UP, "No change came as far as a verification.", kit)
    kind = VerdictKind.INCONCLUSIVE if verdict.kind is VerdictKind.INCONCLUSIVE else VerdictKind.GAVE_UP
    return ended(kind, verdict.reason, kit)


async def _deliver(
    kit: Kit, candidate: Candidate, patch: Patch, verdict: Verdict
) -> tuple[Verdict, Delivery]:
    """The fix alone on top of HEAD, proven again there; on top of the uncommitted work only as a diff."""
    repository = kit.repository
    rebased = await asyncio.to_thread(repository.rebased, patch)
    if rebased is not None and repository.dirty:
        on_head = kit.verifier_of(repository.on_head())
        again = await asyncio.to_thread(on_head.verify, rebased, named_tests(kit.log.records, candidate.id))
        rebased = rebased if again.kind is verdict.kind else None
        notes = tuple(dict.fromkeys((*again.notes, *verdict.notes)))
        verdict = (
            verdict if rebased is None else again.model_copy(update={"tree": rebased.tree, "notes": notes})
        )
    if rebased is None:
        kit.log.append(
            Warned(
                text="The fix needs your uncommitted work: it is delivered as a diff, and no branch was made."
            )
        )
        return verdict, Delivery(diff=patch.diff, needs_uncommitted_work=True)
    if kit.task.dry_run:
        return verdict, Delivery(diff=rebased.diff)
    return verdict, await _unstoppable(_deliver_on_head(kit, candidate, rebased, verdict))


async def _deliver_on_head(kit: Kit, candidate: Candidate, patch: Patch, verdict: Verdict) -> Delivery:
    delivery = await asyncio.to_thread(_commit, kit, candidate, patch, verdict)
    if not kit.task.merge:
        return delivery
    if verdict.kind is not VerdictKind.PROVEN:
        kit.log.append(
            Warned(text=f"Not merged: --merge takes only what is PROVEN, and this is {verdict.kind}.")
        )
        return delivery
    if unseen := unreviewed(kit, patch):
        kit.log.append(
            Warned(text=f"Not merged: nobody has reviewed {unseen}. Look at it, then: coder apply.")
        )
        return delivery
    try:
        brought = await asyncio.to_thread(kit.repository.merge, delivery)
    except (UserError, GitError) as error:
        kit.log.append(Warned(text=f"Not merged: {error}"))
        return delivery
    if brought != delivery.commit:
        kit.log.append(
            Warned(
                text=(
                    f"HEAD has moved on meanwhile: {brought[:10]} is UNVERIFIED there. Judge it: coder "
                    "verify HEAD"
                )
            )
        )
    return delivery.model_copy(update={"merged": True})


async def _unstoppable(delivering: Coroutine[None, None, Delivery]) -> Delivery:
    """A delivery, once begun, is ended and told: half of one would be nobody's."""
    task = asyncio.ensure_future(delivering)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    return task.result()


def _commit(kit: Kit, candidate: Candidate, patch: Patch, verdict: Verdict) -> Delivery:
    recent = kit.repository.subjects(30)
    evidence = kit.verifier.evidence(verdict)
    summary = _change(kit, candidate)
    text = kit.secrets.masked(message(summary, kit.task.issue, recent=recent, trailers=evidence.trailers))
    page = kit.secrets.masked(evidence.page)
    name = slug(subject(summary or kit.task.issue, recent))
    steps_of = candidate if kit.task.keep_steps else None
    return kit.repository.deliver(patch, message=text, evidence=page, slug=name, steps_of=steps_of)


def _change(kit: Kit, candidate: Candidate) -> str:
    """What the change does, in the model's words: the newest note that says so."""
    made = notes(kit.log.records, candidate.id)
    for kinds in ((Done,), (Diagnosis, Sites)):
        for note in reversed(made):
            if isinstance(note, kinds) and _first_line(note.summary):
                return note.summary
    return ""


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
