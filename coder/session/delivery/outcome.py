"""Outcome of a session: summary, delivery and exit code."""

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
    """Fields of SessionFinished beyond the totals."""

    kind: VerdictKind | None
    summary: str
    exit_code: int
    report: str = ""
    verdict: Verdict | None = None
    delivery: Delivery | None = None


async def conclude(context: Kit, candidate: Candidate) -> Ending:
    """Deliver what the newest verdict allows, or explain why nothing is delivered."""
    if context.task.plan_only:
        return _planning_outcome(context)
    all_verdicts = verdicts(context.log.records, candidate.id)
    newest = all_verdicts[-1] if all_verdicts else None
    if newest is not None and context.task.given:
        page = context.verifier.evidence(newest).page
        return Ending(
            kind=newest.kind,
            summary=newest.reason,
            report=page,
            verdict=newest,
            exit_code=newest.kind.exit_code,
        )
    patch = await asyncio.to_thread(context.repository.patch, candidate)
    if (
        newest is None
        or newest.tree != patch.tree
        or not newest.good
        or (gave_up(context.log.records, candidate.id) and newest.kind is not VerdictKind.PROVEN)
    ):
        return _outcome_without_delivery(context, candidate, newest)
    if context.task.minimise:
        patch, newest = await minimised(context, candidate, patch, newest)
    newest = newest.model_copy(
        update={"notes": (*newest.notes, *advice(opinions(context.log.records, candidate.id)))}
    )
    if context.reviews:
        announce(context, patch)
        accepted_part = await review(context, candidate, patch, newest)
        if accepted_part is None:
            return Ending(
                kind=VerdictKind.GAVE_UP,
                summary="You accepted nothing of it, so nothing was delivered.",
                exit_code=4,
            )
        patch, newest = accepted_part
        if not newest.good:
            return ended(VerdictKind.GAVE_UP, f"What you accepted is not delivered: {newest.reason}", context)
    confirmed_verdict = await clear(context, patch, newest)
    if confirmed_verdict is None:
        return ended(
            VerdictKind.GAVE_UP, "You did not want these files changed, so nothing was delivered.", context
        )
    verdict, delivery = await _deliver(context, candidate, patch, confirmed_verdict)
    return Ending(
        kind=verdict.kind,
        summary=verdict.reason,
        verdict=verdict,
        delivery=delivery,
        exit_code=verdict.kind.exit_code,
    )


def ended(kind: VerdictKind, summary: str, context: Kit) -> Ending:
    """Return an outcome without a fix, with a report of what was learnt."""
    return Ending(
        kind=kind,
        summary=summary,
        report=explanation(context.log.records),
        exit_code=kind.exit_code,
    )


def _planning_outcome(context: Kit) -> Ending:
    """Return the outcome of a session that only plans."""
    made_notes = [record.event.note for record in context.log.records if isinstance(record.event, NoteMade)]
    plan = next((note for note in reversed(made_notes) if isinstance(note, Plan)), None)
    if plan is None:
        return ended(
            VerdictKind.GAVE_UP,
            _first_line(made_notes[-1].summary) if made_notes else "No plan was made.",
            context,
        )
    return Ending(
        kind=None, summary="This is the plan; nothing was changed.", report=written(plan), exit_code=0
    )


def _outcome_without_delivery(context: Kit, candidate: Candidate, verdict: Verdict | None) -> Ending:
    if gave_up(context.log.records, candidate.id):
        return ended(
            VerdictKind.GAVE_UP, _first_line(notes(context.log.records, candidate.id)[-1].summary), context
        )
    if verdict is None:
        return ended(VerdictKind.GAVE_UP, "Nothing was verified.", context)
    kind = VerdictKind.INCONCLUSIVE if verdict.kind is VerdictKind.INCONCLUSIVE else VerdictKind.GAVE_UP
    return ended(kind, verdict.reason, context)


async def _deliver(
    context: Kit, candidate: Candidate, patch: Patch, verdict: Verdict
) -> tuple[Verdict, Delivery]:
    """Deliver the fix on top of HEAD, proven again there; as a diff only if it needs the uncommitted work."""
    repository = context.repository
    rebased_patch = await asyncio.to_thread(repository.rebased, patch)
    if rebased_patch is not None and repository.dirty:
        head_verifier = context.verifier_of(repository.on_head())
        new_verdict = await asyncio.to_thread(
            head_verifier.verify, rebased_patch, named_tests(context.log.records, candidate.id)
        )
        rebased_patch = rebased_patch if new_verdict.kind is verdict.kind else None
        notes = tuple(dict.fromkeys((*new_verdict.notes, *verdict.notes)))
        verdict = (
            verdict
            if rebased_patch is None
            else new_verdict.model_copy(update={"tree": rebased_patch.tree, "notes": notes})
        )
    if rebased_patch is None:
        context.log.append(
            Warned(
                text="The fix needs your uncommitted work: it is delivered as a diff, and no branch was made."
            )
        )
        return verdict, Delivery(diff=patch.diff, needs_uncommitted_work=True)
    if context.task.dry_run:
        return verdict, Delivery(diff=rebased_patch.diff)
    return verdict, await _finish_despite_cancellation(
        _deliver_on_head(context, candidate, rebased_patch, verdict)
    )


async def _deliver_on_head(context: Kit, candidate: Candidate, patch: Patch, verdict: Verdict) -> Delivery:
    delivery = await asyncio.to_thread(_commit, context, candidate, patch, verdict)
    if not context.task.merge:
        return delivery
    if verdict.kind is not VerdictKind.PROVEN:
        context.log.append(
            Warned(text=f"Not merged: --merge takes only what is PROVEN, and this is {verdict.kind}.")
        )
        return delivery
    if unreviewed_paths := unreviewed(context, patch):
        context.log.append(
            Warned(text=f"Not merged: nobody has reviewed {unreviewed_paths}. Look at it, then: coder apply.")
        )
        return delivery
    try:
        commit = await asyncio.to_thread(context.repository.merge, delivery)
    except (UserError, GitError) as error:
        context.log.append(Warned(text=f"Not merged: {error}"))
        return delivery
    if commit != delivery.commit:
        context.log.append(
            Warned(
                text=(
                    f"HEAD has moved on meanwhile: {commit[:10]} is UNVERIFIED there. Judge it: coder "
                    "verify HEAD"
                )
            )
        )
    return delivery.model_copy(update={"merged": True})


async def _finish_despite_cancellation(delivery: Coroutine[None, None, Delivery]) -> Delivery:
    """Finish a delivery once it has begun, because half a delivery helps nobody."""
    task = asyncio.ensure_future(delivery)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    return task.result()


def _commit(context: Kit, candidate: Candidate, patch: Patch, verdict: Verdict) -> Delivery:
    recent = context.repository.subjects(30)
    evidence = context.verifier.evidence(verdict)
    summary = _change_summary(context, candidate)
    text = context.secrets.masked(
        message(summary, context.task.issue, recent=recent, trailers=evidence.trailers)
    )
    page = context.secrets.masked(evidence.page)
    name = slug(subject(summary or context.task.issue, recent))
    steps_of = candidate if context.task.keep_steps else None
    return context.repository.deliver(patch, message=text, evidence=page, slug=name, steps_of=steps_of)


def _change_summary(context: Kit, candidate: Candidate) -> str:
    """Return what the change does in the model's words, from the newest note that says so."""
    phase_notes = notes(context.log.records, candidate.id)
    for kinds in ((Done,), (Diagnosis, Sites)):
        for note in reversed(phase_notes):
            if isinstance(note, kinds) and _first_line(note.summary):
                return note.summary
    return ""


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
