"""Session: one task from its first event to its last, and its outcome.

That is a summary, a delivery and an exit code; the commit's message and the branch's name.
"""

import asyncio
import errno
import re
import traceback
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import inf
from typing import assert_never

from coder.core import events
from coder.core.errors import CoderError, GitError, LimitReached, ModelError, UserError
from coder.core.events import NoteMade, SessionFinished, events_of
from coder.core.notes import Diagnosis, Done, Plan, ResearchReport, Sites, WrittenAnswer, format_report
from coder.core.paths import test_name_of
from coder.core.plan import format_plan
from coder.core.state import (
    candidate_notes,
    candidate_records,
    component_plan,
    has_given_up,
    named_tests,
    newest_verdict,
    reviewer_findings,
    session_status,
)
from coder.core.text import CONVENTIONAL, first_line, format_subject, sanitize_text
from coder.core.values import Candidate, Delivery, Patch
from coder.core.verdict import Finding, Verdict, VerdictKind, required_exit_code
from coder.core.verdict_summary import commit_trailers, markdown_report, shorten_value
from coder.patching import PatchError, apply
from coder.python.source import module_of_path
from coder.session.context import CandidateRun, SessionContext, Strategy
from coder.session.judging import ensure_dependencies, measure_baseline, refuse_missing_tests, verify_change
from coder.session.phase import record_change
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

BASELINE_WAIT_SECONDS = 2.0
"""Longest wait for the baseline before the first message: a longer one is measured beside the first reply."""
LAST_SECONDS = 5.0
"""So long before the time limit, tests in progress are cut short, and what ran so far is judged."""
NOTHING_TO_CUT_SHORT = (
    "Nothing to cut short yet: only impacted tests or the suite can be, once the targets are green."
)
TOLERATED_PROBLEMS = ("timeout", "no_tests")
"""Problems of the baseline that a change of the code may solve; no change solves any other."""

DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
"""Errors of a write that are no bug."""


class Session:
    """Runs a strategy once; only the session delivers, so that nothing is delivered twice."""

    def __init__(
        self,
        context: SessionContext,
        strategy: Strategy,
        *,
        id: str,
        version: str,
        notices: Sequence[str] = (),
    ) -> None:
        """Take `notices` for the user before the work begins, such as files that were left out."""
        self.context = context
        self.log = context.log
        self._strategy = strategy
        self.id = id
        self._version = version
        self._notices = notices
        self._work: asyncio.Task[events.SessionFinished] | None = None
        self._is_stopped = False
        self.release: Callable[[], object] | None = None
        """Releases the session's resources once it has ended; called in a thread."""

    @property
    def finish_event(self) -> events.SessionFinished:
        """Last event of the session; available once it has ended."""
        event = self.log.records[-1].event
        assert isinstance(event, events.SessionFinished)
        return event

    def send(self, command: events.SessionCommand) -> None:
        """Handle a command from a front end; call only from the event loop's thread."""
        match command:
            case events.Say(text=text):
                self.context.remarks.add(text)
            case events.Withdraw(text=text):
                self.context.remarks.withdraw(text)
            case events.QuestionAnswered() | events.ReviewAnswered() | events.PlanAnswered():
                self.context.approval.deliver_answer(command)
            case events.DeliverNow():
                is_running = self._work is not None and not self._work.done()
                if is_running and not self.context.judging.cutoff.request():
                    self.context.log.warn(NOTHING_TO_CUT_SHORT)
            case events.Stop():
                if self.end_examination():
                    return
                self._is_stopped = True
                self.context.sandbox.stop()
                if self._work is not None:
                    self._work.cancel()
            case _:
                assert_never(command)

    def end_examination(self) -> bool:
        """End the examination of a FIXED change, which is delivered then; return whether there was one.

        Callable from any thread, and from a handler of signals.
        """
        newest = events.newest_event(self.context.log.records, events.Verified)
        is_examined = newest is not None and newest.verdict.is_examinable and newest.verdict.kind.shows_fix
        return is_examined and self.context.judging.cutoff.request(ahead=True)

    async def run(self) -> events.SessionFinished:
        """Run the session to its end, remove everything but what was delivered, and close the log."""
        try:
            return await self._run()
        finally:
            self.context.log.close()
            if self.release is not None:
                await asyncio.to_thread(self.release)

    async def _run(self) -> events.SessionFinished:
        context = self.context
        context.log.append(
            events.SessionStarted(
                session=self.id,
                task=context.task.without_images(),
                repository=str(context.repository.root),
                head=context.repository.head,
                base=context.repository.base,
                dirty=context.repository.dirty,
                judged_since=context.judging.since,
                model=context.model.name,
                base_url=context.models.base_url,
                version=self._version,
            )
        )
        context.judging.cutoff.on_change = context.log.offer_callback()
        for notice in self._notices:
            context.log.warn(notice)
        left = inf if context.budget.seconds_left is None else context.budget.seconds_left
        timer = asyncio.get_running_loop().call_later(left - LAST_SECONDS, context.judging.cutoff.request)
        try:
            ending = await self._run_to_outcome()
        finally:
            timer.cancel()
            context.sandbox.stop()
            await asyncio.to_thread(context.repository.close)
        if context.judging.asked:
            context.log.append(
                events.EnvironmentRecorded(environment=await asyncio.to_thread(context.verifier.environment))
            )
        totals = session_status(context.log.records)
        roles = context.budget.roles if len(context.budget.roles) > 1 else {}
        costs = {
            "attempts": totals.attempt,
            "spent": context.budget.spent,
            "roles": roles,
            "seconds": context.budget.seconds,
            "has_changes": bool(totals.paths),
            "stages": events.stage_seconds(context.log.records, total=context.budget.seconds),
        }
        finish_event = context.secrets.mask_value(ending.model_copy(update=costs))
        context.log.append(finish_event)
        return finish_event

    async def _run_to_outcome(self) -> events.SessionFinished:
        """Run the strategy and turn every way to end into an outcome."""
        context = self.context
        self._work = asyncio.ensure_future(self._run_strategy())
        if self._is_stopped:
            self._work.cancel()
        try:
            return await asyncio.wait_for(self._work, context.budget.seconds_left)
        except TimeoutError:
            outcome = outcome_without_fix(
                VerdictKind.LIMIT, f"The time limit of {context.task.budget.seconds:g} s is reached.", context
            )
        except asyncio.CancelledError:
            outcome = events.SessionFinished(
                kind=None, summary="Interrupted; your files are as they were.", exit_code=INTERRUPTED
            )
        except LimitReached as error:
            outcome = outcome_without_fix(VerdictKind.LIMIT, str(error), context)
        except ModelError as error:
            if context.budget.spent.requests == 0:
                return events.SessionFinished(kind=None, summary=str(error), exit_code=MISUSE)
            outcome = outcome_without_fix(VerdictKind.GAVE_UP, f"The model could not go on: {error}", context)
        except UserError as error:
            return events.SessionFinished(kind=None, summary=str(error), exit_code=MISUSE)
        except CoderError as error:
            return self._outcome_of_bug(str(error))
        except Exception as error:  # noqa: BLE001 (bugs end here, as event `failed`)
            return self._outcome_of_error(error)
        return await self._keep_change(outcome)

    async def _keep_change(self, outcome: events.SessionFinished) -> events.SessionFinished:
        try:
            return await keep_change(self.context, outcome)
        except (CoderError, OSError) as error:
            self.context.log.warn(f"What was found could not be kept: {error}")
            return outcome

    def _outcome_of_error(self, error: Exception) -> events.SessionFinished:
        if isinstance(error, OSError) and error.errno in DISK_FULL:
            where = f" {error.filename}" if error.filename else ""
            summary = f"A file{where} could not be written: {error.strerror}."
            return events.SessionFinished(kind=None, summary=summary, exit_code=MISUSE)
        return self._outcome_of_bug("".join(traceback.format_exception(error)))

    def _outcome_of_bug(self, text: str) -> events.SessionFinished:
        text = self.context.secrets.mask(text)
        self.context.log.append(events.Failed(error=text))
        return events.SessionFinished(
            kind=None, summary=f"coder failed: {text.strip().splitlines()[-1]}", exit_code=BUG
        )

    async def _run_strategy(self) -> events.SessionFinished:
        context = self.context
        candidate = await asyncio.to_thread(context.repository.create_candidate, "c1")
        context.log.append(events.CandidateForked(candidate=candidate.id))
        if (earlier := context.continued) is not None:
            if earlier.messages:
                context.log.append(
                    events.ConversationContinued(
                        candidate=candidate.id, session=earlier.session, messages=earlier.messages
                    )
                )
            for note in earlier.notes:
                context.log.append(note.model_copy(update={"candidate": candidate.id, "implied": True}))
            await self._restore_change(candidate, (earlier.diff, *earlier.patches))
        if context.task.mode != "ask":
            await asyncio.to_thread(context.judging.prepare)
        if context.task.mode == "ask" or context.task.given:  # a verdict runs what it needs of the base
            return await conclude(context.on(await self._strategy(context.on(candidate))))
        await refuse_missing_tests(context.on(candidate), await context.on(candidate).read_patch())
        testing = asyncio.create_task(self._test_base(candidate))
        working: asyncio.Task[Candidate] | None = None
        try:
            await asyncio.wait({testing}, timeout=BASELINE_WAIT_SECONDS)
            if not (testing.done() and testing.result()):
                working = asyncio.ensure_future(self._strategy(context.on(candidate)))
                await asyncio.wait({testing, working}, return_when=asyncio.FIRST_COMPLETED)
            if testing.done() and (obstacle := testing.result()) and not (working and working.done()):
                return outcome_without_fix(VerdictKind.NOT_TESTED, obstacle, context)
            assert working is not None
            return await conclude(context.on(await working))
        finally:
            tasks = [task for task in (testing, working) if task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _restore_change(self, candidate: Candidate, diffs: Sequence[str]) -> None:
        context = self.context
        for diff in filter(None, diffs):
            try:
                await asyncio.to_thread(apply, diff, candidate.worktree)
            except PatchError as error:
                context.log.warn(f"What had been changed does not fit any more: {error}")
        patch = await context.on(candidate).read_patch()
        if patch.paths:
            await record_change(context.on(candidate), patch)

    async def _test_base(self, candidate: Candidate) -> str:
        """Test the base as far as that is quick; return the problem that no change can solve, or nothing."""
        report = await measure_baseline(self.context.on(candidate))
        report = await ensure_dependencies(self.context.on(candidate), report)
        problem = report.problem if report is not None else None
        return problem.text if problem is not None and problem.kind not in TOLERATED_PROBLEMS else ""


UNCHANGED = "Nothing was changed."
INCOMPLETE = re.compile(r"^\W{0,4}Incomplete\b", re.MULTILINE)
"""The line with which an answer says that something is missing, as its prompt asks for."""
INTERRUPTED = 130
MISUSE = 2
DECLINED = 4
"""As for VerdictKind.GAVE_UP: nothing was delivered."""
BUG = 1


async def conclude(run: CandidateRun) -> SessionFinished:
    """Deliver what the newest verdict allows, or explain why nothing is delivered."""
    newest = newest_verdict(*run.own)
    if run.task.plan_only:
        return _planning_outcome(run)
    if run.task.mode == "ask":
        return _answer_outcome(run)
    if newest is not None and run.task.given:
        newest = await offer_acceptance(run, newest)
        return SessionFinished(
            kind=newest.kind,
            summary=newest.reason,
            report=markdown_report(newest),
            verdict=newest,
            exit_code=required_exit_code(newest.kind, run.task.require),
        )
    patch = await run.read_patch()
    if (
        newest is None
        or newest.tree != patch.tree
        or not newest.is_deliverable
        or not patch.paths
        or (has_given_up(*run.own) and not newest.kind.shows_fix)
    ):
        outcome = _outcome_without_delivery(run, newest)
        return await keep_change(run, outcome)
    if reviews := reviewer_findings(*run.own):
        newest = newest.model_copy(update={"notes": (*newest.notes, *summarize_reviews(reviews))})
    if run.needs_review:
        warn_of_risky_files(run, patch)
        accepted_part = await review_change(run, patch, newest)
        if accepted_part is None:
            return _declined_outcome(run, patch, newest, "you accepted nothing of it")
        if isinstance(accepted_part, RevisionRequest):
            assert run.revise is not None, "comments are only taken where somebody can work on them"
            revise = run.revise(accepted_part.findings, accepted_part.patch)
            return await conclude(run.on(await revise(run)))
        patch, newest = accepted_part
    confirmed = await _confirm_delivery(run, patch, newest)
    if isinstance(confirmed, str):
        return _declined_outcome(run, patch, newest, confirmed)
    verdict, delivery = await _deliver(run, patch, confirmed)
    components = components_section(run.log.records) if run.task.mode == "build" else ""
    return SessionFinished(
        kind=verdict.kind,
        summary=verdict.reason,
        report="\n\n".join(filter(None, (components, _describe_test_edits(run, verdict)))),
        verdict=verdict,
        delivery=delivery,
        exit_code=required_exit_code(verdict.kind, run.task.require),
    )


async def _confirm_delivery(run: CandidateRun, patch: Patch, verdict: Verdict) -> Verdict | str:
    """Return the verdict to deliver with, or why the user wants no delivery."""
    seen = await confirm_open_lines(run, patch, verdict)
    if seen is None:
        return "you dropped it"
    return await confirm_risky_files(run, patch, seen) or "you did not want these files changed"


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


def _answer_outcome(run: CandidateRun) -> SessionFinished:
    note = next(reversed(candidate_notes(*run.own)), None)
    if isinstance(note, ResearchReport):
        page = format_report(note, run.task.issue)
        return SessionFinished(kind=None, summary=UNCHANGED, report=page, exit_code=0)
    if isinstance(note, WrittenAnswer):
        is_incomplete = bool(INCOMPLETE.search(note.summary))
        advice = " The answer is incomplete: coder ask --deep looks further." if is_incomplete else ""
        return SessionFinished(kind=None, summary=f"{UNCHANGED}{advice}", report=note.summary, exit_code=0)
    reason = first_line(note.summary) if note is not None else "The model gave no answer."
    return outcome_without_fix(VerdictKind.GAVE_UP, reason, run)


def _outcome_without_delivery(run: CandidateRun, verdict: Verdict | None) -> SessionFinished:
    if has_given_up(*run.own):
        return outcome_without_fix(
            VerdictKind.GAVE_UP,
            first_line(candidate_notes(*run.own)[-1].summary),
            run,
        )
    if verdict is None:
        return outcome_without_fix(VerdictKind.GAVE_UP, "Nothing was verified.", run)
    kind = VerdictKind.NOT_TESTED if verdict.kind is VerdictKind.NOT_TESTED else VerdictKind.GAVE_UP
    return outcome_without_fix(kind, verdict.reason, run)


async def keep_change(context: SessionContext, outcome: SessionFinished) -> SessionFinished:
    """Return the outcome of a session that ends without delivering, with what it leaves delivered.

    That is the newest change that was FIXED. Where no model was asked, it is also one that is PASSING, an
    edit that has passed the search, or the failing test that was written for the issue.
    """
    task, repository = context.task, context.repository
    kept = find_kept_change(context.log.records, includes_passing=not context.budget.spent.requests)
    if kept is None or task.given or task.plan_only or _is_opposed(context, kept):
        return outcome
    place = await asyncio.to_thread(repository.create_candidate, "kept")
    await asyncio.to_thread(apply, kept.diff, place.worktree)
    patch = await context.on(place).read_patch()
    delivery = Delivery(diff=patch.diff, needs_uncommitted_work=repository.dirty)
    may_commit = not (task.dry_run or context.needs_review)
    if kept.verdict is None:
        rebased = await asyncio.to_thread(repository.rebase_on_head, patch)
        if rebased and may_commit:
            commit_change = partial(_commit_unjudged, context, rebased, kept)
            delivery = await _finish_despite_cancellation(_commit_or_diff(context, rebased, commit_change))
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
        delivery = await _finish_despite_cancellation(_deliver_on_head(context.on(candidate), patch, verdict))
    summary = f"{outcome.summary} The change that was {verdict.kind} before is delivered."
    if outcome.kind is None:
        return outcome.model_copy(update={"summary": summary, "verdict": verdict, "delivery": delivery})
    context.log.warn(summary)
    code = required_exit_code(verdict.kind, task.require)
    return SessionFinished(
        kind=verdict.kind, summary=verdict.reason, verdict=verdict, delivery=delivery, exit_code=code
    )


def _is_opposed(context: SessionContext, kept: KeptChange) -> bool:
    """Tell whether a reviewer is against delivering a judged change."""
    if kept.verdict is None:
        return False
    reviews = reviewer_findings(context.log.records, kept.candidate).values()
    return not all(review.approve for review in reviews)


def _commit_unjudged(context: SessionContext, patch: Patch, kept: KeptChange) -> Delivery:
    """Put a change without a verdict on a branch."""
    subject = format_subject(kept.subject, context.repository.recent_subjects(30))
    message = f"{subject}\n\nThis is {kept.text}. It has no verdict.\n"
    return context.repository.deliver(patch, message=message, evidence="", slug=branch_slug(subject))


async def _deliver(run: CandidateRun, patch: Patch, verdict: Verdict) -> tuple[Verdict, Delivery]:
    """Deliver the fix on top of HEAD, proven again there; as a diff only if it needs the uncommitted work."""
    repository = run.repository
    rebased_patch = await asyncio.to_thread(repository.rebase_on_head, patch)
    if rebased_patch is not None and repository.dirty:
        on_head = repository.on_head()
        judging = replace(run.judging, alone=on_head, whole=on_head, since="")
        new_verdict = await verify_change(
            replace(run, judging=judging),
            rebased_patch,
            named_tests(*run.own),
        )
        shows_as_much = (new_verdict.kind.shows_fix or not verdict.kind.shows_fix) and (
            bool(new_verdict.targets) or not verdict.targets
        )
        is_as_good = new_verdict.is_deliverable and (verdict.cut_short or shows_as_much)
        if is_as_good:
            verdict = new_verdict.with_examination_of(verdict)
        else:
            run.log.warn(f"On HEAD alone it is {new_verdict.kind}: {new_verdict.reason}")
            rebased_patch = None
    if rebased_patch is None:
        run.log.warn(
            "The fix needs your uncommitted work: it is delivered as a diff, and no branch was made."
        )
        return verdict, Delivery(diff=patch.diff, needs_uncommitted_work=True)
    if run.task.dry_run:
        return verdict, Delivery(diff=rebased_patch.diff)
    return verdict, await _finish_despite_cancellation(_deliver_on_head(run, rebased_patch, verdict))


async def _deliver_on_head(run: CandidateRun, patch: Patch, verdict: Verdict) -> Delivery:
    commit_change = partial(_commit, run, patch, verdict)
    delivery = await _commit_or_diff(run, patch, commit_change)
    if not (run.task.merge and delivery.commit):
        return delivery
    if verdict.kind is not VerdictKind.PROVEN:
        run.log.warn(f"Not merged: --merge takes only what is PROVEN, and this is {verdict.kind}.")
        return delivery
    if unreviewed_paths := unreviewed_files(run, patch):
        run.log.warn(f"Not merged: nobody has reviewed {unreviewed_paths}. Look at it, then: coder apply.")
        return delivery
    try:
        commit = await asyncio.to_thread(run.repository.merge, delivery)
    except (UserError, GitError) as error:
        run.log.warn(f"Not merged: {error}")
        return delivery
    if commit.remark:
        run.log.warn(commit.remark)
    if commit.id != delivery.commit:
        run.log.warn(
            f"HEAD has moved on meanwhile: {commit.id[:10]} is UNVERIFIED there. Judge it: coder verify HEAD"
        )
    return delivery.model_copy(update={"merged": True})


async def _commit_or_diff(
    context: SessionContext, patch: Patch, commit_change: Callable[[], Delivery]
) -> Delivery:
    """Commit a change on a branch; return it as a diff where git fails to, such as for want of an author."""
    try:
        delivery = await asyncio.to_thread(commit_change)
    except GitError as error:
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


def _commit(run: CandidateRun, patch: Patch, verdict: Verdict) -> Delivery:
    recent = run.repository.recent_subjects(30)
    summary = describe_by_test(summarize_change(run), verdict)
    prefix = "Fix: " if run.task.mode == "fix" else ""
    summary = summary or f"{prefix}{first_line(run.task.issue).lstrip('# ')}"
    text = run.secrets.mask(compose_message(summary, recent=recent, trailers=commit_trailers(verdict)))
    page = run.secrets.mask(markdown_report(verdict))
    name = branch_slug(format_subject(summary, recent))
    steps_of = run.candidate if run.task.keep_steps else None
    return run.repository.deliver(patch, message=text, evidence=page, slug=name, steps_of=steps_of)


def _describe_test_edits(run: CandidateRun, verdict: Verdict) -> str:
    """Return the assertions that the change replaces, and the model's explanation of the whole change."""
    if not verdict.replaced_assertions:
        return ""
    lines = [f"- {replaced.line}" for replaced in verdict.replaced_assertions]
    return "\n".join(["The change edits tests that contradict it:", "", *lines, "", summarize_change(run)])


BRANCH_CHARACTERS = 40
_FUNCTION_WORD = re.compile(
    r"an?|the|of|in|on|to|and|or|as|at|by|for|from|with(?:out)?|is|are|be|not|its?|that|this|when|where|if|than"
)
"""Matches a word that cannot end a phrase."""
SUBJECT_CALL = 55
"""Characters of a call in a commit subject."""
MOST_TEST_WORDS = 9
_TEMPLATE = re.compile(r"([\w.]+): (?:use|replace) .+ (?:instead of|by) .+")
"""Matches the summary of an edit by the built-in engine that only says which operand it replaces."""


def summarize_change(run: CandidateRun) -> str:
    """Return what the change does in the model's words, from the newest note that says so.

    That of a repair counts where it has an explanation below its subject: without, it is about the correction
    alone. A build is described by its plan.
    """
    if plan := component_plan(run.log.records):
        modules = ", ".join(module_of_path(component.path) for component in plan.components)
        return f"Add {modules}\n\n{plan.summary}"
    message = ""
    for record in candidate_records(*run.own):
        match record.event:
            case NoteMade(note=Diagnosis(start_over=True)):
                message = ""
            case NoteMade(phase=phase, note=Done(summary=text)) if first_line(text):
                is_amended = not message or phase != "repair" or "\n\n" in text.strip()
                message = text if is_amended else message
    notes = reversed(candidate_notes(*run.own))
    findings = (note.summary for note in notes if isinstance(note, Diagnosis | Sites))
    return message or next(filter(first_line, findings), "")


def describe_by_test(summary: str, verdict: Verdict) -> str:
    """Return a summary that says what works now, where it only names an operand.

    It is the name of a test, or a call that a test makes and that is answered otherwise now.
    """
    edit = _TEMPLATE.fullmatch(first_line(summary))
    if edit is None:
        return summary
    function = edit[1].rpartition(".")[2]
    name = test_name_of(verdict.targets[0]) if verdict.targets else ""
    words = name.removeprefix("test").strip("_").split("_")
    if 2 < len(words) <= MOST_TEST_WORDS:
        return f"Fix {function}: {' '.join(words)}\n\n{summary}"
    examples = verdict.behavior.examples if verdict.behavior else ()
    calls = (shorten_value(example.call, limit=SUBJECT_CALL) for example in examples if example.tested)
    call = next((call for call in calls if f"{function}(" in call and len(call) <= SUBJECT_CALL), "")
    return f"Fix {call}\n\n{summary}" if call else summary


def compose_message(summary: str, *, recent: Sequence[str], trailers: Sequence[str]) -> str:
    """Return a subject in the repository's style, the explanation that came with the change, and trailers."""
    explanation = summary.strip().partition("\n")[2].strip()
    body = sanitize_text("\n".join(line.rstrip() for line in explanation.splitlines()))
    return "\n\n".join(filter(None, (format_subject(summary, recent), body, "\n".join(trailers)))) + "\n"


def branch_slug(subject_line: str) -> str:
    """Return the readable part of a branch name: a few lower-case words with hyphens."""
    words = re.findall(r"[a-z0-9]+", CONVENTIONAL.sub("", subject_line).lower())[:6]
    while words and (len("-".join(words)) > BRANCH_CHARACTERS or _FUNCTION_WORD.fullmatch(words[-1])):
        words.pop()
    return "-".join(words) or "fix"
