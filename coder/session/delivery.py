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
from coder.core.values import Candidate, Delivery, Patch
from coder.core.verdict import Finding, Verdict, VerdictKind, required_exit_code
from coder.core.verdict_summary import commit_trailers, markdown_report, shorten_value
from coder.patching import apply
from coder.python.source import module_of_path
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
    if reviews := reviewer_findings(context.log.records, candidate.id):
        newest = newest.model_copy(update={"notes": (*newest.notes, *summarize_reviews(reviews))})
    if context.needs_review:
        warn_of_risky_files(context, patch)
        accepted_part = await review_change(context, candidate, patch, newest)
        if accepted_part is None:
            return _declined_outcome(context, patch, newest, "you accepted nothing of it")
        if isinstance(accepted_part, RevisionRequest):
            return await _revise(context, candidate, accepted_part)
        patch, newest = accepted_part
    confirmed = await _confirm_delivery(context, candidate, patch, newest)
    if isinstance(confirmed, str):
        return _declined_outcome(context, patch, newest, confirmed)
    verdict, delivery = await _deliver(context, candidate, patch, confirmed)
    components = components_section(context.log.records) if context.task.mode == "build" else ""
    return SessionFinished(
        kind=verdict.kind,
        summary=verdict.reason,
        report="\n\n".join(filter(None, (components, _describe_test_edits(context, candidate, verdict)))),
        verdict=verdict,
        delivery=delivery,
        exit_code=required_exit_code(verdict.kind, context.task.require),
    )


async def _confirm_delivery(
    context: SessionContext, candidate: Candidate, patch: Patch, verdict: Verdict
) -> Verdict | str:
    """Return the verdict to deliver with, or why the user wants no delivery."""
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
    if kept is None or task.given or task.plan_only or _is_opposed(context, kept):
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


def summarize_change(context: SessionContext, candidate: Candidate) -> str:
    """Return what the change does in the model's words, from the newest note that says so.

    That of a repair counts where it has an explanation below its subject: without, it is about the correction
    alone. A build is described by its plan.
    """
    if plan := component_plan(context.log.records):
        modules = ", ".join(module_of_path(component.path) for component in plan.components)
        return f"Add {modules}\n\n{plan.summary}"
    message = ""
    for record in candidate_records(context.log.records, candidate.id):
        match record.event:
            case NoteMade(note=Diagnosis(start_over=True)):
                message = ""
            case NoteMade(phase=phase, note=Done(summary=text)) if first_line(text):
                is_amended = not message or phase != "repair" or "\n\n" in text.strip()
                message = text if is_amended else message
    notes = reversed(candidate_notes(context.log.records, candidate.id))
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
