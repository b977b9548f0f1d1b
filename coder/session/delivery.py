"""Outcome of a session: summary, delivery and exit code; the commit's message and the branch's name."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from coder.core.errors import GitError, IdentityError, UserError
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
)
from coder.core.text import first_line, sanitize_text
from coder.core.values import Delivery, Patch
from coder.core.verdict import Finding, Verdict, VerdictKind, required_exit_code
from coder.core.verdict_summary import commit_trailers, markdown_report, shorten_value
from coder.patching import apply
from coder.python.source import module_of_path
from coder.session.context import CandidateRun, SessionContext
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
            return await _revise(run, accepted_part)
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


async def _revise(run: CandidateRun, request: RevisionRequest) -> SessionFinished:
    """Have the user's comments worked on, then review the change again."""
    assert run.revise is not None, "comments are only taken where somebody can work on them"
    revise = run.revise(request.findings, request.patch)
    return await conclude(run.on(await revise(run)))


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
        delivery = await _deliver_on_head(context.on(candidate), patch, verdict)
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
        rebased_patch = rebased_patch if is_as_good else None
        if rebased_patch is not None:
            verdict = new_verdict.with_examination_of(verdict)
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


SUBJECT_CHARACTERS = 60
BRANCH_CHARACTERS = 40
_IDENTIFIER = re.compile(r"\w*(?:_|\(|\.\w|[a-z][A-Z]|\d)")
"""Matches a line whose first word is an identifier, which keeps its case."""
_FUNCTION_WORD = re.compile(
    r"an?|the|of|in|on|to|and|or|as|at|by|for|from|with(?:out)?|is|are|be|not|its?|that|this|when|where|if|than"
)
"""Matches a word that cannot end a phrase."""
SUBJECT_CALL = 55
"""Characters of a call in a commit subject."""
MOST_TEST_WORDS = 9
_TEMPLATE = re.compile(r"([\w.]+): (?:use|replace) .+ (?:instead of|by) .+")
"""Matches the summary of an edit by the built-in engine that only says which operand it replaces."""
_CONVENTIONAL = re.compile(r"(?:feat|fix|docs|chore|refactor|test|ci|build|perf|style)(?:\([^)]*\))?!?: ")
_PREFIXED = re.compile(r"[\w./-]+: ")


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


def format_subject(summary: str, recent: Sequence[str]) -> str:
    """Return one line in the shape of most `recent` subjects: `fix: ` prefix, capital letter, full stop."""
    line = first_line(sanitize_text(summary)) or "Fix the issue"
    line = re.sub(r"^#+\s*|^[-*]\s+|`", "", line).rstrip(".")
    has_prefixes = _is_common(recent, lambda text: _CONVENTIONAL.match(text) is not None)
    has_capitals = _is_common(recent, lambda text: text[:1].isupper()) or not recent
    if has_prefixes and not _CONVENTIONAL.match(line):
        line = f"fix: {_lower_first_letter(re.sub(r'^Fix:? ', '', line))}"
    elif not has_prefixes and has_capitals and not _PREFIXED.match(line):
        line = line if _IDENTIFIER.match(line) else line[:1].upper() + line[1:]
    full_stop = "." if _is_common(recent, lambda text: text.endswith(".")) else ""
    return _shorten(line, SUBJECT_CHARACTERS - len(full_stop)) + full_stop


def branch_slug(subject_line: str) -> str:
    """Return the readable part of a branch name: a few lower-case words with hyphens."""
    words = re.findall(r"[a-z0-9]+", _CONVENTIONAL.sub("", subject_line).lower())[:6]
    while words and (len("-".join(words)) > BRANCH_CHARACTERS or _FUNCTION_WORD.fullmatch(words[-1])):
        words.pop()
    return "-".join(words) or "fix"


def _lower_first_letter(line: str) -> str:
    first_word = line.split(" ", 1)[0]
    return (
        line
        if first_word.isupper() or any(letter.isupper() for letter in first_word[1:])
        else line[:1].lower() + line[1:]
    )


def _shorten(line: str, limit: int) -> str:
    return line if len(line) <= limit else line[: limit - 3].rsplit(" ", 1)[0].rstrip(",;:") + "..."


def _is_common(texts: Sequence[str], predicate: Callable[[str], bool]) -> bool:
    return bool(texts) and sum(map(predicate, texts)) > len(texts) / 2
