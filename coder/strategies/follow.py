"""A route, a table from (phase, outcome) to the next phase, and the phases of a fix that it leads through."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from coder.core.errors import LimitReached, ModelError, PatchError, UserError
from coder.core.events import FilesChanged, PhaseEntered, Verified
from coder.core.notes import Diagnosis, Done, GiveUp, Note, Reproduction, ResearchResult, Sites, WrittenAnswer
from coder.core.paths import is_bystander, is_test_path, match_test_ids
from coder.core.state import (
    candidate_messages,
    candidate_notes,
    candidate_records,
    candidate_verdicts,
    has_given_up,
    named_tests,
    newest_reply,
    newest_verdict,
    unrelated_tests,
)
from coder.core.values import (
    ANSWER,
    DIAGNOSE,
    EDIT,
    EXPLAIN,
    LOCATE,
    REPAIR,
    REPRODUCE,
    AssistantMessage,
    Candidate,
    Message,
    Patch,
    PhaseName,
    UserMessage,
)
from coder.core.verdict import Finding, ReproductionResult, TestReport, TestResult, VerdictKind
from coder.core.verdict_summary import describe_open, summarize_failures
from coder.patching import apply
from coder.retrieval.issue_terms import extract_issue_terms
from coder.retrieval.orientation import FirstLook, issue_overview, related_failures
from coder.session.context import CandidateRun, SessionContext, Strategy
from coder.session.judging import (
    BESIDE,
    LEFT_OUT,
    attempt_number,
    attempts_left,
    excluded_tests,
    has_source,
    is_settled,
    judge_change,
    measure_baseline,
    newest_diagnoses,
    offer_missing_packages,
    passing_sources,
    preflight_objections,
    refuse_missing_tests,
    requested_tests,
    start_over,
    unaddressed_places,
    was_asked_for_more,
    write_red_example,
)
from coder.session.phase import CONTINUE_REPLY, PhaseSpec, PhaseState, render_prompt, run_phase
from coder.strategies.citations import CitationChecker, check_text

PhaseOutcome = bool | Literal["passing", "spent"]
"""Whether the phase succeeded; `passing` if so far nothing shows a fix, `spent` if no attempt is left."""
Route = Mapping[tuple[PhaseName, PhaseOutcome], PhaseName]
LOCATE_ROUTE: Route = {("locate", True): "reproduce"}
"""Shared trunk of all branches: find what to change, then the test that shows the issue."""
SINGLE_CHANGE_ROUTE: Route = {
    ("reproduce", True): "edit",
    ("reproduce", False): "edit",
    ("edit", True): "verify",
    ("verify", "passing"): "repair",
    ("repair", True): "verify",
}
"""Make one change and judge it; PASSING goes back to the model once."""
REPAIR_ROUTE: Route = {("diagnose", True): "repair", ("repair", True): "verify"}
"""Repair after a failed verdict, up to the next verdict."""
RETRY_ROUTE: Route = {**REPAIR_ROUTE, ("verify", False): "diagnose", ("verify", "spent"): "explain"}
CHANGE_ROUTE: Route = {("locate", True): "edit", ("edit", True): "verify", **RETRY_ROUTE}
"""A change that no failing test has to ask for."""
LINEAR_ROUTE: Route = {**LOCATE_ROUTE, **SINGLE_CHANGE_ROUTE, **RETRY_ROUTE}
"""Self-debugging loop; a missing row ends it, after a good verdict or with nothing left to try."""


def follow_route(
    route: Route, start: PhaseName = "locate", specs: Mapping[PhaseName, PhaseSpec] | None = None
) -> Strategy:
    """Return a strategy that follows `route` from `start` until attempts are spent or no row matches."""

    async def strategy(run: CandidateRun) -> Candidate:
        phase: PhaseName | None = start
        if start == "locate" and await _resumes_change(run):
            phase = route.get((start, True))
        while phase is not None:
            outcome = await _step(run, phase, specs or PHASE_SPECS)
            phase = None if outcome is None else route.get((phase, outcome))
        return run.candidate

    return strategy


async def _resumes_change(run: CandidateRun) -> bool:
    """Tell whether a resumed request had changed source, which is judged before a model is asked."""
    if run.continued is None or not run.continued.is_resumed:
        return False
    run.workspace(run.candidate)  # created here, as phases that read would, since it needs the event loop
    return has_source(await run.read_patch())


async def answer_question(run: CandidateRun) -> Candidate:
    """Let the model look until it answers; a continued conversation keeps its system prompt."""
    asking = run if run.has_conversation else replace(run, system="system_ask")
    await run_phase(asking, PHASE_SPECS["answer"], 1)
    return run.candidate


async def _step(
    run: CandidateRun, phase: PhaseName, specs: Mapping[PhaseName, PhaseSpec]
) -> PhaseOutcome | None:
    """Run one phase and return its outcome; None ends the route."""
    attempt = attempt_number(run)
    if phase == "verify":
        return await run_verify_phase(run, attempt)
    if phase == "explain":
        await _explain(run, min(attempt, run.task.budget.attempts))
        return None
    may_restart = run.task.mode != "build"  # it would undo the components, which others have written
    note = await run_phase(run, specs[phase], attempt)
    if isinstance(note, Diagnosis) and note.start_over and may_restart:
        await start_over(run)
    return None if isinstance(note, GiveUp) else note is not None


async def run_verify_phase(run: CandidateRun, attempt: int) -> PhaseOutcome | None:
    """Return whether the change is good; None if it could not be tested.

    If the other branches have spent all attempts, the change is not judged.
    """
    async with run.models.rate_limiter.attempt_slot(lambda: attempts_left(run)) as is_granted:
        if not is_granted:
            return "spent"
        run.log.append(PhaseEntered(candidate=run.candidate.id, phase="verify", attempt=attempt))
        patch = await run.read_patch()
        test_ids = named_tests(*run.own)
        verdict = await judge_change(run, patch, test_ids)
        lacks_packages = verdict.has_environment_problem or verdict.kind is VerdictKind.NOT_TESTED
        if lacks_packages and await offer_missing_packages(
            run, TestReport(command="", results=verdict.still_red)
        ):
            verdict = await judge_change(run, patch, test_ids)
    if verdict.kind is VerdictKind.NOT_TESTED:
        return None
    if verdict.is_deliverable:
        is_open = run.task.mode == "fix" and not is_settled(run)
        return "passing" if is_open and not was_asked_for_more(run) else True
    for diagnosis in newest_diagnoses(run):
        run.log.append(diagnosis)
    return False if attempts_left(run) >= 1 else "spent"


async def _explain(run: CandidateRun, attempt: int) -> None:
    """Ask the summariser for a summary; the report does not depend on it."""
    try:
        await run_phase(replace(run, role="summariser"), PHASE_SPECS["explain"], attempt)
    except (LimitReached, ModelError) as error:
        run.log.warn(f"The model was not asked for a last word: {error}")


def run_in_sequence(*strategies: Strategy) -> Strategy:
    """Return a strategy that runs the next strategy while there is still something to do."""

    async def strategy(run: CandidateRun) -> Candidate:
        for part in strategies:
            run = run.on(await part(run))
            if has_given_up(*run.own) or is_settled(run) or not candidate_notes(*run.own):
                break
        return run.candidate

    return strategy


def judge_existing_change(
    change: Patch, test_ids: tuple[str, ...] = (), *, exclusions: tuple[str, ...] = ()
) -> Strategy:
    """Return a strategy that judges one existing change, given as a tree or else as a diff.

    `exclusions` is uncommitted work that the change lacks, for which it is FIXED at most.
    """

    async def strategy(run: CandidateRun) -> Candidate:
        await asyncio.to_thread(_apply_change, run, change)
        patch = await run.read_patch()
        run.log.append(FilesChanged(candidate=run.candidate.id, paths=patch.paths, diff=patch.diff))
        await refuse_missing_tests(run, patch)
        run.log.append(PhaseEntered(candidate=run.candidate.id, phase="verify", attempt=1))
        findings, notes = _describe_exclusions(exclusions)
        await judge_change(run, patch, test_ids, findings=findings, notes=notes)
        return run.candidate

    return strategy


def _describe_exclusions(exclusions: tuple[str, ...]) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Return a finding for each part of the work that was left out, and one note on what lies beside it."""
    beside = [exclusion for exclusion in exclusions if is_bystander(exclusion)]
    findings = tuple(
        Finding(rule=LEFT_OUT, effect="open", text=f"not judged: {exclusion}")
        for exclusion in exclusions
        if exclusion not in beside
    )
    return findings, (f"{BESIDE}{', '.join(beside)}",) if beside else ()


def _apply_change(run: CandidateRun, change: Patch) -> None:
    if change.tree:
        run.repository.rollback(run.candidate, change.tree)
        return
    try:
        apply(change.diff, run.candidate.worktree)
    except PatchError as error:
        raise UserError(f"The diff does not fit {run.repository.base[:10]}: {error}") from None


UNCHANGED = (
    "Nothing has changed since the last verification. Change the code with apply_patch, or "
    "hand_over(kind='give_up')."
)

FIRST_LOOK_CHARACTERS = 10_000
"""Most of the overview; half of it is usual."""
EXPLANATION_CHARACTERS = 1_500
"""Limit for the model's explanation of its change, which becomes the body of the commit."""


def _is_asked_already(run: CandidateRun) -> bool:
    """Tell whether the conversation of a resumed request waits for the model's reply as it is."""
    newest = next(reversed(candidate_messages(*run.own)), None)
    is_resumed = run.continued is not None and run.continued.is_resumed
    return is_resumed and newest is not None and not isinstance(newest, AssistantMessage)


async def _open_locate(run: CandidateRun) -> str:
    if _is_asked_already(run):
        return ""
    is_first = not run.has_conversation
    report = await measure_baseline(run, wait_seconds=0.1)
    reds = _related_failures(run, report)
    examples = await asyncio.to_thread(run.verifier.describe_examples) if is_first else ()
    look = await _look_first(run, reds, examples)
    if report is None or report.problem is not None:
        near = (*requested_tests(run), *look.tests)
        run.findings.add_later(_describe_base(run, near))
    if not is_first:
        return render_prompt("follow_up", task=run.task, earlier=run.continued, look=look.text)
    return render_prompt(
        "task",
        task=run.task,
        report=report,
        reds=reds,
        examples=examples,
        look=look.text,
        instructions=run.instructions,
        hints=run.hints,
    )


async def _describe_base(run: CandidateRun, near: Sequence[str]) -> str:
    """Return what tests say on the untouched code, those `near` the issue where the suite is long."""
    report = await measure_baseline(run, near=near)
    if report is None or not report.results:
        return ""
    reds = _related_failures(run, report)
    return render_prompt("tests_before", task=run.task, report=report, reds=reds)


def _related_failures(context: SessionContext, report: TestReport | None) -> list[TestResult]:
    """Return the failing tests that may have to do with the issue."""
    clues = extract_issue_terms(context.task.issue)
    return related_failures(clues, report.project_failures if report else ())


async def _look_first(
    run: CandidateRun,
    reds: Sequence[TestResult] = (),
    examples: Sequence[str] = (),
) -> FirstLook:
    """Return what a search for the user's request finds, for the first message."""
    workspace, issue = run.workspace(run.candidate), run.task.issue
    return await asyncio.to_thread(
        issue_overview, workspace, issue, tuple(reds), FIRST_LOOK_CHARACTERS, examples
    )


async def _open_answer(run: CandidateRun) -> str:
    if _is_asked_already(run):
        return ""
    look = (await _look_first(run)).text
    if run.has_conversation:
        return render_prompt("follow_up", task=run.task, earlier=run.continued, look=look)
    return render_prompt(
        "question",
        task=run.task,
        instructions=run.instructions,
        known=earlier_findings(run),
        look=look,
    )


def earlier_findings(context: SessionContext) -> tuple[ResearchResult, ...]:
    """Return the findings of a continued research whose conversation does not hold them."""
    earlier = context.continued
    if earlier is None or earlier.messages:
        return ()
    return tuple(note for note in earlier.research.values() if isinstance(note, ResearchResult))


async def _settle_answer(run: CandidateRun, state: PhaseState) -> Note | None:
    """End with a reply that calls no tool, its citations checked, once the user has nothing to add."""
    if not run.remarks.is_empty:
        return None
    messages = candidate_messages(*run.own)
    newest = next(reversed(messages), None)
    if not state.entry and isinstance(newest, AssistantMessage) and newest.text.strip():
        text = f"{_cut_beginning(messages)}{newest.text}".strip()
        checker = CitationChecker(run.workspace(run.candidate))
        return WrittenAnswer(summary=await asyncio.to_thread(check_text, checker, text))
    return None


def _cut_beginning(messages: Sequence[Message]) -> str:
    """Return the text of the reply that the newest one goes on with, since it was cut; else nothing."""
    match messages[-3:]:
        case (AssistantMessage(text=text, calls=()), UserMessage(text=order), AssistantMessage()):
            return text if order == CONTINUE_REPLY else ""
    return ""


async def _open_reproduce(run: CandidateRun) -> str:
    report = await measure_baseline(run)
    return render_prompt("reproduce", reds=_related_failures(run, report))


async def _settle_reproduce_within_attempts(run: CandidateRun, state: PhaseState) -> Note | str | None:
    """Settle the phase, but give up at a change of the source that comes after too many others."""
    judged_count = attempt_number(run) - 1 + passing_sources(run)
    is_last = attempts_left(run) < 1 or judged_count >= run.task.budget.attempts
    if state.changed and not state.entry and has_source(state.patch) and is_last:
        return GiveUp(summary="No attempt is left: each change was changed again after its verification.")
    decision = await _settle_reproduce(run, state)
    newest = newest_verdict(*run.own)
    if not isinstance(decision, str) or newest is None or newest.kind is VerdictKind.NOT_TESTED:
        return decision
    advice = render_prompt("attempts_left", left=attempts_left(run), passes=newest.is_deliverable)
    return f"{decision}\n\n{advice}"


async def _settle_reproduce(run: CandidateRun, state: PhaseState) -> Note | str | None:
    reproduction = state.note if isinstance(state.note, Reproduction) else None
    if reproduction is not None and not reproduction.tests:
        return reproduction
    named_ids = _named_tests(run, reproduction)
    tests_changed = any(is_test_path(path) for path in state.patch.paths)
    source = has_source(state.patch)
    if source and tests_changed and state.changed and not named_ids:
        return Reproduction(summary="The verdict runs the tests of the change without it, too.", tests=())
    progress, tell = run.log.progress_listener(run.candidate.id), run.log.run_listener(run.candidate.id)
    reproduced = ReproductionResult()
    if named_ids or (tests_changed and state.changed):
        reproduced = await asyncio.to_thread(
            run.verifier.reproduce, state.patch, named_ids, progress, tell=tell
        )
        if reproduced.tests:
            return Reproduction(summary="Seen red on the untouched base.", tests=reproduced.tests)
    if (
        not named_ids
        and (state.entry or (state.changed and source))
        and (tied_tests := await _find_tied_tests(run))
    ):
        reproduced_ties = await asyncio.to_thread(
            run.verifier.reproduce, state.patch, tied_tests, progress, tell=tell
        )
        if reproduced_ties.tests:
            return Reproduction(
                summary="Red already on the untouched base, and tied to the issue.",
                tests=reproduced_ties.tests,
            )
    if state.changed and source and (outcome := await _judge_without_targets(run, state.patch)):
        return outcome
    if state.entry or not (state.changed or reproduction):
        return None
    if source and not (tests_changed or named_ids) and (written := await _write_example(run)):
        return written
    judgements = candidate_verdicts(*run.own)
    return render_prompt(
        "not_reproduced", found=reproduced, source=source, tests_changed=tests_changed, judged=judgements[-1:]
    )


async def _write_example(run: CandidateRun) -> Reproduction | None:
    """Write the issue's own example as a test of a change that brings none."""
    example = await asyncio.to_thread(run.verifier.reproduce_example)
    if (
        isinstance(example, str)
        or example.is_wish
        or not run.workspace(run.candidate).may_write(example.path)
    ):
        return None
    checked = await write_red_example(run, example)
    return Reproduction(summary=example.summary, tests=checked.tests) if checked.tests else None


async def _find_tied_tests(run: CandidateRun) -> tuple[str, ...]:
    """Return failing tests of the base that share an example or a message with the issue.

    An identifier alone ties too many: the verdict weighs it.
    """
    await measure_baseline(run)
    ties = await asyncio.to_thread(run.verifier.issue_ties)
    is_excluded = match_test_ids(excluded_tests(run))
    return tuple(test for test, tie in ties.items() if tie != "identifier" and not is_excluded(test))


async def _judge_without_targets(run: CandidateRun, patch: Patch) -> Note | str | None:
    """Judge a change made before any test was named.

    It may turn a failing test green, or break one, which spends an attempt.
    """
    report = await measure_baseline(run)
    if report is None or not report.project_failures:
        return None
    verdict = await judge_change(run, patch, ())
    if verdict.is_deliverable and verdict.targets and not verdict.untied:
        return Reproduction(summary="These failed before the change and pass with it.", tests=verdict.targets)
    if verdict.is_deliverable or verdict.kind is VerdictKind.NOT_TESTED:
        return None
    if attempts_left(run) < 1:
        return GiveUp(summary=f"No attempt is left. {verdict.reason}")
    return summarize_failures(verdict)


def _named_tests(run: CandidateRun, reproduction: Reproduction | None) -> tuple[str, ...]:
    is_excluded = match_test_ids(excluded_tests(run))
    tests = dict.fromkeys(
        (
            *(reproduction.tests if reproduction else ()),
            *named_tests(*run.own),
            *requested_tests(run),
        )
    )
    return tuple(test for test in tests if not is_excluded(test))


async def _open_edit(run: CandidateRun) -> str:
    newest = next(
        (note for note in reversed(candidate_notes(*run.own)) if not isinstance(note, Done)),
        None,
    )
    return render_prompt(
        "edit",
        reproduction=newest if isinstance(newest, Reproduction) else None,
        changed=has_source(await run.read_patch()),
    )


async def _settle_edit(run: CandidateRun, state: PhaseState) -> Note | str | None:
    """End the phase without asking if the source changed and is not judged yet.

    A tree is judged again once the model has excluded tests that it did not exclude before.
    """
    judgements = candidate_verdicts(*run.own)
    excludes_more = _excludes_more_tests(run, state.note)
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
            and (objection := await asyncio.to_thread(preflight_objections, run, state))
        ):
            return objection
        return state.note or Done(summary=_summary(run))
    if state.note is not None:
        return UNCHANGED
    return None


def _excludes_more_tests(run: CandidateRun, note: Note | None) -> bool:
    """Tell whether the model has excluded further tests since the newest verdict."""
    records = run.log.records
    own_records = candidate_records(records, run.candidate.id)
    verdict_number = max(
        (record.number for record in own_records if isinstance(record.event, Verified)), default=0
    )
    before = unrelated_tests(records[:verdict_number], run.candidate.id)
    now = unrelated_tests(records, run.candidate.id)
    handed_over = note.unrelated_tests if isinstance(note, Done | Diagnosis) else ()
    return not {*now, *handed_over} <= set(before)


def _summary(run: CandidateRun) -> str:
    """Return what the model said with its change: a line, then its explanation; else its earlier finding."""
    summaries = (
        note.summary for note in reversed(candidate_notes(*run.own)) if isinstance(note, Sites | Diagnosis)
    )
    return (
        newest_reply(*run.own).text.strip()[:EXPLANATION_CHARACTERS]
        or next(summaries, "").strip().partition("\n")[0]
    )


async def _open_diagnose(run: CandidateRun) -> str:
    judgements = candidate_verdicts(*run.own)
    remaining = attempts_left(run)
    own_records = candidate_records(*run.own)
    current_diagnoses = newest_diagnoses(run)
    places, failure_count = unaddressed_places(own_records)
    explanation = summarize_failures(judgements[-1])
    has_kept_source = run.task.mode != "build" and has_source(await run.read_patch())
    return render_prompt(
        "diagnose",
        explanation=explanation,
        left=max(remaining, 1),
        found=current_diagnoses,
        places=places,
        asked=failure_count,
        kept=has_kept_source,
    )


async def _open_repair(run: CandidateRun) -> str:
    if (newest := newest_verdict(*run.own)) and newest.is_deliverable:
        return render_prompt("passing", verdict=newest, missing=describe_open(newest))
    return render_prompt("repair")


async def _settle_repair(run: CandidateRun, state: PhaseState) -> Note | str | None:
    """Settle as an edit; a PASSING change that went back to the model ends as it is once it only talks."""
    newest = newest_verdict(*run.own)
    if newest is None or not newest.is_deliverable or newest.tree != state.patch.tree or state.note:
        return await _settle_edit(run, state)
    if state.entry or newest_reply(*run.own).calls:
        return None
    notes = reversed(candidate_notes(*run.own))
    return next((note for note in notes if isinstance(note, Done)), Done(summary=_summary(run)))


async def _open_explain(run: CandidateRun) -> str:
    newest = newest_verdict(*run.own)
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
