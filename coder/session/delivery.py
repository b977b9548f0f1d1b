"""Outcome of a session: summary, delivery and exit code."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from functools import partial

from coder.core.errors import GitError, IdentityError, UserError
from coder.core.events import NoteMade, SessionFinished, events_of
from coder.core.notes import Plan, ResearchReport, WrittenAnswer, format_report
from coder.core.plan import format_plan
from coder.core.state import (
    candidate_notes,
    has_given_up,
    named_tests,
    newest_verdict,
    reviewer_findings,
)
from coder.core.text import first_line
from coder.core.values import Candidate, Delivery, Patch
from coder.core.verdict import Finding, Verdict, VerdictKind, required_exit_code
from coder.core.verdict_summary import commit_trailers, markdown_report
from coder.patching import apply
from coder.session.commit_message import (
    branch_slug,
    compose_message,
    describe_by_test,
    format_subject,
    summarize_change,
)
from coder.session.context import SessionContext
from coder.session.judging import verify_change
from coder.session.report import (
    KeptChange,
    components_section,
    find_kept_change,
    session_report,
    summarize_reviews,
)
from coder.session.review import (
    RevisionRequest,
    confirm_open_lines,
    confirm_risky_files,
    offer_acceptance,
    review_change,
    unreviewed_files,
    warn_of_risky_files,
)

UNCHANGED = "Nothing was changed."
INCOMPLETE = re.compile(r"^\W{0,4}Incomplete\b", re.MULTILINE)
"""The line with which an answer says that something is missing, as its prompt asks for."""
INTERRUPTED = 130
MISUSE = 2
DECLINED = 4
"""As for VerdictKind.GAVE_UP: nothing was delivered."""
BUG = 1


async def conclude(context: SessionContext, candidate: Candidate) -> SessionFinished:
    """Deliver what the newest verdict allows, or explain why nothing is delivered."""
    newest = newest_verdict(context.log.records, candidate.id)
    if context.task.plan_only:
        return _planning_outcome(context)
    if context.task.mode == "ask":
        return _answer_outcome(context, candidate)
    if newest is not None and context.task.given:
        newest = await offer_acceptance(context, candidate, newest)
        return SessionFinished(
            kind=newest.kind,
            summary=newest.reason,
            report=markdown_report(newest),
            verdict=newest,
            exit_code=required_exit_code(newest.kind, context.task.require),
        )
    patch = await context.read_patch(candidate)
    if (
        newest is None
        or newest.tree != patch.tree
        or not newest.is_deliverable
        or not patch.paths
        or (has_given_up(context.log.records, candidate.id) and not newest.kind.shows_fix)
    ):
        outcome = _outcome_without_delivery(context, candidate, newest)
        return await keep_change(context, outcome)
    denial = await context.deny("Stop", candidate, verdict=newest.kind.value)
    newest = newest.model_copy(
        update={
            "notes": (*newest.notes, *summarize_reviews(reviewer_findings(context.log.records, candidate.id)))
        }
    )
    if context.needs_review:
        warn_of_risky_files(context, patch)
        accepted_part = await review_change(context, candidate, patch, newest)
        if accepted_part is None:
            return _declined_outcome(context, patch, newest, "you accepted nothing of it")
        if isinstance(accepted_part, RevisionRequest):
            return await _revise(context, candidate, accepted_part)
        patch, newest = accepted_part
    confirmed = await _confirm_delivery(context, candidate, patch, newest, denial)
    if isinstance(confirmed, str):
        return _declined_outcome(context, patch, newest, confirmed)
    verdict, delivery = await _deliver(context, candidate, patch, confirmed)
    return SessionFinished(
        kind=verdict.kind,
        summary=verdict.reason,
        report="\n\n".join(
            filter(
                None,
                (
                    components_section(context.log.records),
                    _describe_test_edits(context, candidate, verdict),
                ),
            )
        ),
        verdict=verdict,
        delivery=delivery,
        exit_code=required_exit_code(verdict.kind, context.task.require),
    )


async def _confirm_delivery(
    context: SessionContext, candidate: Candidate, patch: Patch, verdict: Verdict, denial: str
) -> Verdict | str:
    """Return the verdict to deliver with, or why there is no delivery: a hook's `denial`, the user's wish."""
    if denial:
        return f"a hook denies it: {' '.join(denial.split())}"
    seen = await confirm_open_lines(context, candidate, patch, verdict)
    if seen is None:
        return "you dropped it"
    return await confirm_risky_files(context, patch, seen) or "you did not want these files changed"


def _declined_outcome(
    context: SessionContext, patch: Patch, verdict: Verdict, reason: str
) -> SessionFinished:
    """Return the outcome of a declined change: nothing is written, and its diff can be applied."""
    return SessionFinished(
        kind=verdict.kind,
        summary=f"Not delivered: {reason}.",
        verdict=verdict,
        delivery=Delivery(diff=patch.diff, needs_uncommitted_work=context.repository.dirty),
        exit_code=DECLINED,
    )


async def _revise(context: SessionContext, candidate: Candidate, request: RevisionRequest) -> SessionFinished:
    """Have the user's comments worked on, then review the change again."""
    assert context.revise is not None, "comments are only taken where somebody can work on them"
    revise = context.revise(request.findings, request.patch)
    return await conclude(context, await revise(context, candidate))


def outcome_without_fix(kind: VerdictKind, summary: str, context: SessionContext) -> SessionFinished:
    """Return an outcome without a fix, with a report of what was learnt."""
    return SessionFinished(
        kind=kind,
        summary=summary,
        report=session_report(context.log.records),
        exit_code=kind.exit_code,
    )


def _planning_outcome(context: SessionContext) -> SessionFinished:
    """Return the outcome of a session that only plans."""
    made_notes = [made.note for made in events_of(context.log.records, NoteMade)]
    plan = next((note for note in reversed(made_notes) if isinstance(note, Plan)), None)
    if plan is None:
        return outcome_without_fix(
            VerdictKind.GAVE_UP,
            first_line(made_notes[-1].summary) if made_notes else "No plan was made.",
            context,
        )
    return SessionFinished(
        kind=None, summary="This is the plan; nothing was changed.", report=format_plan(plan), exit_code=0
    )


def _answer_outcome(context: SessionContext, candidate: Candidate) -> SessionFinished:
    note = next(reversed(candidate_notes(context.log.records, candidate.id)), None)
    if isinstance(note, ResearchReport):
        page = format_report(note, context.task.issue)
        return SessionFinished(kind=None, summary=UNCHANGED, report=page, exit_code=0)
    if isinstance(note, WrittenAnswer):
        is_incomplete = bool(INCOMPLETE.search(note.summary))
        advice = " The answer is incomplete: coder ask --deep looks further." if is_incomplete else ""
        return SessionFinished(kind=None, summary=f"{UNCHANGED}{advice}", report=note.summary, exit_code=0)
    reason = first_line(note.summary) if note is not None else "The model gave no answer."
    return outcome_without_fix(VerdictKind.GAVE_UP, reason, context)


def _outcome_without_delivery(
    context: SessionContext, candidate: Candidate, verdict: Verdict | None
) -> SessionFinished:
    if has_given_up(context.log.records, candidate.id):
        return outcome_without_fix(
            VerdictKind.GAVE_UP,
            first_line(candidate_notes(context.log.records, candidate.id)[-1].summary),
            context,
        )
    if verdict is None:
        return outcome_without_fix(VerdictKind.GAVE_UP, "Nothing was verified.", context)
    kind = VerdictKind.NOT_TESTED if verdict.kind is VerdictKind.NOT_TESTED else VerdictKind.GAVE_UP
    return outcome_without_fix(kind, verdict.reason, context)


async def keep_change(context: SessionContext, outcome: SessionFinished) -> SessionFinished:
    """Return the outcome of a session that ends without delivering, with what it leaves delivered.

    That is the newest change that was FIXED. Where no model was asked, it is also one that is PASSING, an
    edit that has passed the search, or the failing test that was written for the issue.
    """
    task, repository = context.task, context.repository
    kept = find_kept_change(context.log.records, includes_passing=not context.budget.spent.requests)
    if kept is None or task.given or task.plan_only or await _is_opposed(context, kept):
        return outcome
    place = await asyncio.to_thread(repository.create_candidate, "kept")
    await asyncio.to_thread(apply, kept.diff, place.worktree)
    patch = await context.read_patch(place)
    delivery = Delivery(diff=patch.diff, needs_uncommitted_work=repository.dirty)
    may_commit = not (task.dry_run or context.needs_review)
    if kept.verdict is None:
        rebased = await asyncio.to_thread(repository.rebase_on_head, patch)
        if rebased and may_commit:
            delivery = await _commit_or_diff(
                context, rebased, partial(_commit_unjudged, context, rebased, kept)
            )
        where = f"The branch {delivery.branch}" if delivery.branch else "The diff"
        advice = f" Judge it: coder verify {delivery.branch}" if kept.is_edit and delivery.branch else ""
        summary = f"{outcome.summary} {where} holds {kept.text}.{advice}"
        return outcome.model_copy(update={"summary": summary, "delivery": delivery})
    verdict = kept.verdict
    if verdict.is_examinable and verdict.kind.shows_fix:
        unexamined = Finding(
            rule="unexamined", effect="open", text="the session ended before the examination"
        )
        verdict = verdict.model_copy(update={"findings": (*verdict.findings, unexamined)})
    if may_commit and not repository.dirty:
        candidate = place.model_copy(update={"id": kept.candidate})
        delivery = await _deliver_on_head(context, candidate, patch, verdict)
    summary = f"{outcome.summary} The change that was {verdict.kind} before is delivered."
    if outcome.kind is None:
        return outcome.model_copy(update={"summary": summary, "verdict": verdict, "delivery": delivery})
    context.log.warn(summary)
    code = required_exit_code(verdict.kind, task.require)
    return SessionFinished(
        kind=verdict.kind, summary=verdict.reason, verdict=verdict, delivery=delivery, exit_code=code
    )


async def _is_opposed(context: SessionContext, kept: KeptChange) -> bool:
    """Tell whether a reviewer or a hook is against delivering a judged change."""
    if kept.verdict is None:
        return False
    reviews = reviewer_findings(context.log.records, kept.candidate).values()
    candidate = Candidate(id=kept.candidate, worktree=context.repository.root, base=context.repository.base)
    return not all(review.approve for review in reviews) or bool(
        await context.deny("Stop", candidate, verdict=kept.verdict.kind.value)
    )


def _commit_unjudged(context: SessionContext, patch: Patch, kept: KeptChange) -> Delivery:
    """Put a change without a verdict on a branch."""
    subject = format_subject(kept.subject, context.repository.recent_subjects(30))
    message = f"{subject}\n\nThis is {kept.text}. It has no verdict.\n"
    return context.repository.deliver(patch, message=message, evidence="", slug=branch_slug(subject))


async def _deliver(
    context: SessionContext, candidate: Candidate, patch: Patch, verdict: Verdict
) -> tuple[Verdict, Delivery]:
    """Deliver the fix on top of HEAD, proven again there; as a diff only if it needs the uncommitted work."""
    repository = context.repository
    rebased_patch = await asyncio.to_thread(repository.rebase_on_head, patch)
    if rebased_patch is not None and repository.dirty:
        on_head = repository.on_head()
        judging = replace(context.judging, alone=on_head, whole=on_head, since="")
        new_verdict = await verify_change(
            replace(context, judging=judging),
            candidate,
            rebased_patch,
            named_tests(context.log.records, candidate.id),
        )
        shows_as_much = (new_verdict.kind.shows_fix or not verdict.kind.shows_fix) and (
            bool(new_verdict.targets) or not verdict.targets
        )
        is_as_good = new_verdict.is_deliverable and (verdict.cut_short or shows_as_much)
        rebased_patch = rebased_patch if is_as_good else None
        if rebased_patch is not None:
            verdict = new_verdict.with_examination_of(verdict)
    if rebased_patch is None:
        context.log.warn(
            "The fix needs your uncommitted work: it is delivered as a diff, and no branch was made."
        )
        return verdict, Delivery(diff=patch.diff, needs_uncommitted_work=True)
    if context.task.dry_run:
        return verdict, Delivery(diff=rebased_patch.diff)
    return verdict, await _finish_despite_cancellation(
        _deliver_on_head(context, candidate, rebased_patch, verdict)
    )


async def _deliver_on_head(
    context: SessionContext, candidate: Candidate, patch: Patch, verdict: Verdict
) -> Delivery:
    commit_change = partial(_commit, context, candidate, patch, verdict)
    delivery = await _commit_or_diff(context, patch, commit_change)
    if not (context.task.merge and delivery.commit):
        return delivery
    if verdict.kind is not VerdictKind.PROVEN:
        context.log.warn(f"Not merged: --merge takes only what is PROVEN, and this is {verdict.kind}.")
        return delivery
    if unreviewed_paths := unreviewed_files(context, patch):
        context.log.warn(
            f"Not merged: nobody has reviewed {unreviewed_paths}. Look at it, then: coder apply."
        )
        return delivery
    try:
        commit = await asyncio.to_thread(context.repository.merge, delivery)
    except (UserError, GitError) as error:
        context.log.warn(f"Not merged: {error}")
        return delivery
    if commit.remark:
        context.log.warn(commit.remark)
    if commit.id != delivery.commit:
        context.log.warn(
            f"HEAD has moved on meanwhile: {commit.id[:10]} is UNVERIFIED there. Judge it: coder verify HEAD"
        )
    return delivery.model_copy(update={"merged": True})


async def _commit_or_diff(
    context: SessionContext, patch: Patch, commit_change: Callable[[], Delivery]
) -> Delivery:
    """Commit a change on a branch; return it as a diff where git knows no author."""
    try:
        delivery = await asyncio.to_thread(commit_change)
    except IdentityError as error:
        context.log.warn(f"The change is delivered as a diff, and no branch was made: {error}")
        return Delivery(diff=patch.diff)
    if delivery.remark:
        context.log.warn(delivery.remark)
    return delivery


async def _finish_despite_cancellation(delivery: Coroutine[None, None, Delivery]) -> Delivery:
    """Finish a delivery once it has begun, because half a delivery helps nobody."""
    task = asyncio.ensure_future(delivery)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    return task.result()


def _commit(context: SessionContext, candidate: Candidate, patch: Patch, verdict: Verdict) -> Delivery:
    recent = context.repository.recent_subjects(30)
    summary = describe_by_test(summarize_change(context, candidate), verdict)
    prefix = "Fix: " if context.task.mode == "fix" else ""
    summary = summary or f"{prefix}{first_line(context.task.issue).lstrip('# ')}"
    text = context.secrets.mask(compose_message(summary, recent=recent, trailers=commit_trailers(verdict)))
    page = context.secrets.mask(markdown_report(verdict))
    name = branch_slug(format_subject(summary, recent))
    steps_of = candidate if context.task.keep_steps else None
    return context.repository.deliver(patch, message=text, evidence=page, slug=name, steps_of=steps_of)


def _describe_test_edits(context: SessionContext, candidate: Candidate, verdict: Verdict) -> str:
    """Return the assertions that the change replaces, and the model's explanation of the whole change."""
    if not verdict.replaced_assertions:
        return ""
    lines = [f"- {replaced.line}" for replaced in verdict.replaced_assertions]
    return "\n".join(
        ["The change edits tests that contradict it:", "", *lines, "", summarize_change(context, candidate)]
    )
