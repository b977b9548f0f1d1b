"""Phases of a fix: their opening messages and the conditions that end them."""

import asyncio
from collections.abc import Mapping, Sequence

from coder.core.events import Verified
from coder.core.messages import AssistantMessage, Message, UserMessage
from coder.core.notes import Diagnosis, Done, GiveUp, Note, Reproduction, ResearchResult, Sites, WrittenAnswer
from coder.core.paths import is_test_path, match_test_ids
from coder.core.phases import ANSWER, DIAGNOSE, EDIT, EXPLAIN, LOCATE, REPAIR, REPRODUCE, PhaseName
from coder.core.state import (
    candidate_messages,
    candidate_notes,
    candidate_records,
    candidate_verdicts,
    named_tests,
    newest_reply,
    newest_verdict,
    unrelated_tests,
)
from coder.core.values import Candidate, Patch
from coder.core.verdict import ReproductionResult, TestReport, TestResult, VerdictKind
from coder.core.verdict_summary import describe_open, summarize_failures
from coder.prompting import render_prompt
from coder.retrieval.issue_terms import extract_issue_terms
from coder.retrieval.orientation import FirstLook, issue_overview, related_failures
from coder.session.context import SessionContext
from coder.session.judging import (
    attempt_number,
    attempts_left,
    excluded_tests,
    judge_change,
    measure_baseline,
    passing_sources,
    requested_tests,
    write_red_example,
)
from coder.session.phase import CONTINUE_REPLY, PhaseSpec, PhaseState
from coder.strategies.candidate_status import (
    has_source,
    newest_diagnoses,
    preflight_objections,
    unaddressed_places,
)
from coder.strategies.citations import CitationChecker, check_text

UNCHANGED = (
    "Nothing has changed since the last verification. Change the code with apply_patch, or "
    "hand_over(kind='give_up')."
)

FIRST_LOOK_CHARACTERS = 10_000
"""Most of the overview; half of it is usual."""
EXPLANATION_CHARACTERS = 1_500
"""Limit for the model's explanation of its change, which becomes the body of the commit."""


def _is_asked_already(context: SessionContext, candidate: Candidate) -> bool:
    """Tell whether the conversation of a resumed request waits for the model's reply as it is."""
    newest = next(reversed(candidate_messages(context.log.records, candidate.id)), None)
    is_resumed = context.continued is not None and context.continued.is_resumed
    return is_resumed and newest is not None and not isinstance(newest, AssistantMessage)


async def _open_locate(context: SessionContext, candidate: Candidate) -> str:
    if _is_asked_already(context, candidate):
        return ""
    is_first = not context.has_conversation
    report = await measure_baseline(context, candidate, wait_seconds=0.1)
    reds = _related_failures(context, report)
    examples = await asyncio.to_thread(context.verifier.describe_examples) if is_first else ()
    look = await _look_first(context, candidate, reds, examples)
    if report is None or report.problem is not None:
        near = (*requested_tests(context, candidate), *look.tests)
        context.findings.add_later(_describe_base(context, candidate, near))
    if not is_first:
        return render_prompt("follow_up", task=context.task, earlier=context.continued, look=look.text)
    return render_prompt(
        "task",
        task=context.task,
        report=report,
        reds=reds,
        examples=examples,
        look=look.text,
        instructions=context.instructions,
        hints=context.hints,
    )


async def _describe_base(context: SessionContext, candidate: Candidate, near: Sequence[str]) -> str:
    """Return what tests say on the untouched code, those `near` the issue where the suite is long."""
    report = await measure_baseline(context, candidate, near=near)
    if report is None or not report.results:
        return ""
    reds = _related_failures(context, report)
    return render_prompt("tests_before", task=context.task, report=report, reds=reds)


def _related_failures(context: SessionContext, report: TestReport | None) -> list[TestResult]:
    """Return the failing tests that may have to do with the issue."""
    clues = extract_issue_terms(context.task.issue)
    return related_failures(clues, report.project_failures if report else ())


async def _look_first(
    context: SessionContext,
    candidate: Candidate,
    reds: Sequence[TestResult] = (),
    examples: Sequence[str] = (),
) -> FirstLook:
    """Return what a search for the user's request finds, for the first message."""
    workspace, issue = context.workspace(candidate), context.task.issue
    return await asyncio.to_thread(
        issue_overview, workspace, issue, tuple(reds), FIRST_LOOK_CHARACTERS, examples
    )


async def _open_answer(context: SessionContext, candidate: Candidate) -> str:
    if _is_asked_already(context, candidate):
        return ""
    look = (await _look_first(context, candidate)).text
    if context.has_conversation:
        return render_prompt("follow_up", task=context.task, earlier=context.continued, look=look)
    return render_prompt(
        "question",
        task=context.task,
        instructions=context.instructions,
        known=earlier_findings(context),
        look=look,
    )


def earlier_findings(context: SessionContext) -> tuple[ResearchResult, ...]:
    """Return the findings of a continued research whose conversation does not hold them."""
    earlier = context.continued
    if earlier is None or earlier.messages:
        return ()
    return tuple(note for note in earlier.research.values() if isinstance(note, ResearchResult))


async def _settle_answer(context: SessionContext, candidate: Candidate, state: PhaseState) -> Note | None:
    """End with a reply that calls no tool, its citations checked, once the user has nothing to add."""
    if not context.remarks.is_empty:
        return None
    messages = candidate_messages(context.log.records, candidate.id)
    newest = next(reversed(messages), None)
    if not state.entry and isinstance(newest, AssistantMessage) and newest.text.strip():
        text = f"{_cut_beginning(messages)}{newest.text}".strip()
        checker = CitationChecker(context.workspace(candidate))
        return WrittenAnswer(summary=await asyncio.to_thread(check_text, checker, text))
    return None


def _cut_beginning(messages: Sequence[Message]) -> str:
    """Return the text of the reply that the newest one goes on with, since it was cut; else nothing."""
    match messages[-3:]:
        case (AssistantMessage(text=text, calls=()), UserMessage(text=order), AssistantMessage()):
            return text if order == CONTINUE_REPLY else ""
    return ""


async def _open_reproduce(context: SessionContext, candidate: Candidate) -> str:
    report = await measure_baseline(context, candidate)
    return render_prompt("reproduce", reds=_related_failures(context, report))


async def _settle_reproduce_within_attempts(
    context: SessionContext, candidate: Candidate, state: PhaseState
) -> Note | str | None:
    """Settle the phase, but give up at a change of the source that comes after too many others."""
    judged_count = attempt_number(context) - 1 + passing_sources(context)
    is_last = attempts_left(context) < 1 or judged_count >= context.task.budget.attempts
    if state.changed and not state.entry and has_source(state.patch) and is_last:
        return GiveUp(summary="No attempt is left: each change was changed again after its verification.")
    decision = await _settle_reproduce(context, candidate, state)
    newest = newest_verdict(context.log.records, candidate.id)
    if not isinstance(decision, str) or newest is None or newest.kind is VerdictKind.NOT_TESTED:
        return decision
    advice = render_prompt("attempts_left", left=attempts_left(context), passes=newest.is_deliverable)
    return f"{decision}\n\n{advice}"


async def _settle_reproduce(
    context: SessionContext, candidate: Candidate, state: PhaseState
) -> Note | str | None:
    reproduction = state.note if isinstance(state.note, Reproduction) else None
    if reproduction is not None and not reproduction.tests:
        return reproduction
    named_ids = _named_tests(context, candidate, reproduction)
    tests_changed = any(is_test_path(path) for path in state.patch.paths)
    source = has_source(state.patch)
    if source and tests_changed and state.changed and not named_ids:
        return Reproduction(summary="The verdict runs the tests of the change without it, too.", tests=())
    progress, tell = context.log.progress_listener(candidate.id), context.log.run_listener(candidate.id)
    reproduced = ReproductionResult()
    if named_ids or (tests_changed and state.changed):
        reproduced = await asyncio.to_thread(
            context.verifier.reproduce, state.patch, named_ids, progress, tell=tell
        )
        if reproduced.tests:
            return Reproduction(summary="Seen red on the untouched base.", tests=reproduced.tests)
    if (
        not named_ids
        and (state.entry or (state.changed and source))
        and (tied_tests := await _find_tied_tests(context, candidate))
    ):
        reproduced_ties = await asyncio.to_thread(
            context.verifier.reproduce, state.patch, tied_tests, progress, tell=tell
        )
        if reproduced_ties.tests:
            return Reproduction(
                summary="Red already on the untouched base, and tied to the issue.",
                tests=reproduced_ties.tests,
            )
    if (
        state.changed
        and source
        and (outcome := await _judge_without_targets(context, candidate, state.patch))
    ):
        return outcome
    if state.entry or not (state.changed or reproduction):
        return None
    if source and not (tests_changed or named_ids) and (written := await _write_example(context, candidate)):
        return written
    judgements = candidate_verdicts(context.log.records, candidate.id)
    return render_prompt(
        "not_reproduced", found=reproduced, source=source, tests_changed=tests_changed, judged=judgements[-1:]
    )


async def _write_example(context: SessionContext, candidate: Candidate) -> Reproduction | None:
    """Write the issue's own example as a test of a change that brings none."""
    example = await asyncio.to_thread(context.verifier.reproduce_example)
    if (
        isinstance(example, str)
        or example.is_wish
        or not context.workspace(candidate).may_write(example.path)
    ):
        return None
    checked = await write_red_example(context, candidate, example)
    return Reproduction(summary=example.summary, tests=checked.tests) if checked.tests else None


async def _find_tied_tests(context: SessionContext, candidate: Candidate) -> tuple[str, ...]:
    """Return failing tests of the base that share an example or a message with the issue.

    An identifier alone ties too many: the verdict weighs it.
    """
    await measure_baseline(context, candidate)
    ties = await asyncio.to_thread(context.verifier.issue_ties)
    is_excluded = match_test_ids(excluded_tests(context, candidate))
    return tuple(test for test, tie in ties.items() if tie != "identifier" and not is_excluded(test))


async def _judge_without_targets(
    context: SessionContext, candidate: Candidate, patch: Patch
) -> Note | str | None:
    """Judge a change made before any test was named.

    It may turn a failing test green, or break one, which spends an attempt.
    """
    report = await measure_baseline(context, candidate)
    if report is None or not report.project_failures:
        return None
    verdict = await judge_change(context, candidate, patch, ())
    if verdict.is_deliverable and verdict.targets and not verdict.untied:
        return Reproduction(summary="These failed before the change and pass with it.", tests=verdict.targets)
    if verdict.is_deliverable or verdict.kind is VerdictKind.NOT_TESTED:
        return None
    if attempts_left(context) < 1:
        return GiveUp(summary=f"No attempt is left. {verdict.reason}")
    return summarize_failures(verdict)


def _named_tests(
    context: SessionContext, candidate: Candidate, reproduction: Reproduction | None
) -> tuple[str, ...]:
    is_excluded = match_test_ids(excluded_tests(context, candidate))
    tests = dict.fromkeys(
        (
            *(reproduction.tests if reproduction else ()),
            *named_tests(context.log.records, candidate.id),
            *requested_tests(context, candidate),
        )
    )
    return tuple(test for test in tests if not is_excluded(test))


async def _open_edit(context: SessionContext, candidate: Candidate) -> str:
    newest = next(
        (
            note
            for note in reversed(candidate_notes(context.log.records, candidate.id))
            if not isinstance(note, Done)
        ),
        None,
    )
    return render_prompt(
        "edit",
        reproduction=newest if isinstance(newest, Reproduction) else None,
        changed=has_source(await context.read_patch(candidate)),
    )


async def _settle_edit(context: SessionContext, candidate: Candidate, state: PhaseState) -> Note | str | None:
    """End the phase without asking if the source changed and is not judged yet.

    A tree is judged again once the model has excluded tests that it did not exclude before.
    """
    judgements = candidate_verdicts(context.log.records, candidate.id)
    excludes_more = _excludes_more_tests(context, candidate, state.note)
    is_unjudged = (
        excludes_more
        or not judgements
        or judgements[-1].tree != state.patch.tree
        or judgements[-1].is_deliverable
    )
    if is_unjudged and (has_source(state.patch) or (state.patch.paths and state.note)):
        if (
            state.changed
            and not excludes_more
            and (objection := await asyncio.to_thread(preflight_objections, context, candidate, state))
        ):
            return objection
        return state.note or Done(summary=_summary(context, candidate))
    if state.note is not None:
        return UNCHANGED
    return None


def _excludes_more_tests(context: SessionContext, candidate: Candidate, note: Note | None) -> bool:
    """Tell whether the model has excluded further tests since the newest verdict."""
    records = context.log.records
    own_records = candidate_records(records, candidate.id)
    verdict_number = max(
        (record.number for record in own_records if isinstance(record.event, Verified)), default=0
    )
    before = unrelated_tests(records[:verdict_number], candidate.id)
    now = unrelated_tests(records, candidate.id)
    handed_over = note.unrelated_tests if isinstance(note, Done | Diagnosis) else ()
    return not {*now, *handed_over} <= set(before)


def _summary(context: SessionContext, candidate: Candidate) -> str:
    """Return what the model said with its change: a line, then its explanation; else its earlier finding."""
    summaries = (
        note.summary
        for note in reversed(candidate_notes(context.log.records, candidate.id))
        if isinstance(note, Sites | Diagnosis)
    )
    return (
        newest_reply(context.log.records, candidate.id).text.strip()[:EXPLANATION_CHARACTERS]
        or next(summaries, "").strip().partition("\n")[0]
    )


async def _open_diagnose(context: SessionContext, candidate: Candidate) -> str:
    judgements = candidate_verdicts(context.log.records, candidate.id)
    remaining = attempts_left(context)
    own_records = candidate_records(context.log.records, candidate.id)
    current_diagnoses = newest_diagnoses(context, candidate)
    places, failure_count = unaddressed_places(own_records)
    explanation = summarize_failures(judgements[-1])
    has_kept_source = context.task.mode != "build" and has_source(await context.read_patch(candidate))
    return render_prompt(
        "diagnose",
        explanation=explanation,
        left=max(remaining, 1),
        found=current_diagnoses,
        places=places,
        asked=failure_count,
        kept=has_kept_source,
    )


async def _open_repair(context: SessionContext, candidate: Candidate) -> str:
    if (newest := newest_verdict(context.log.records, candidate.id)) and newest.is_deliverable:
        return render_prompt("passing", verdict=newest, missing=describe_open(newest))
    return render_prompt("repair")


async def _settle_repair(
    context: SessionContext, candidate: Candidate, state: PhaseState
) -> Note | str | None:
    """Settle as an edit; a PASSING change that went back to the model ends as it is once it only talks."""
    newest = newest_verdict(context.log.records, candidate.id)
    if newest is None or not newest.is_deliverable or newest.tree != state.patch.tree or state.note:
        return await _settle_edit(context, candidate, state)
    if state.entry or newest_reply(context.log.records, candidate.id).calls:
        return None
    notes = reversed(candidate_notes(context.log.records, candidate.id))
    return next(
        (note for note in notes if isinstance(note, Done)), Done(summary=_summary(context, candidate))
    )


async def _open_explain(context: SessionContext, candidate: Candidate) -> str:
    newest = newest_verdict(context.log.records, candidate.id)
    failure = summarize_failures(newest) if newest else ""
    return render_prompt("give_up", failed=failure)


PHASE_SPECS: Mapping[PhaseName, PhaseSpec] = {
    "locate": PhaseSpec(phase=LOCATE, opening=_open_locate),
    "reproduce": PhaseSpec(
        phase=REPRODUCE, opening=_open_reproduce, settle=_settle_reproduce_within_attempts
    ),
    "edit": PhaseSpec(phase=EDIT, opening=_open_edit, settle=_settle_edit),
    "diagnose": PhaseSpec(phase=DIAGNOSE, opening=_open_diagnose),
    "repair": PhaseSpec(phase=REPAIR, opening=_open_repair, settle=_settle_repair),
    "answer": PhaseSpec(phase=ANSWER, opening=_open_answer, settle=_settle_answer),
    "explain": PhaseSpec(phase=EXPLAIN, opening=_open_explain),
}
