"""What each phase of a fix opens with, and what ends it."""

import asyncio
from collections.abc import Mapping

from coder.core.messages import AssistantMessage
from coder.core.notes import Diagnosis, Done, GiveUp, Note, Reproduction, Sites
from coder.core.phases import DIAGNOSE, EDIT, EXPLAIN, LOCATE, REPAIR, REPRODUCE, PhaseName
from coder.core.state import conversation, lineage, named_tests, notes, verdicts
from coder.core.values.candidate import Candidate, Patch
from coder.core.values.paths import is_test_path
from coder.core.values.verdict import Reproduced, VerdictKind
from coder.retrieval.orientation import first_look
from coder.session.baseline import baseline
from coder.session.context import Kit
from coder.session.phase import Purpose, Standing
from coder.strategies.diagnosis import left_out, newest_diagnoses
from coder.strategies.review.preflight import objections
from coder.strategies.verify_phase import asked_for, attempts_left, judge
from coder.workspace.places import name_places

FIRST_LOOK_CHARACTERS = 14_000
EXPLANATION_CHARACTERS = 1_500
"""Of what a model says with its change, which becomes the body of the commit."""


def has_source(patch: Patch) -> bool:
    """Does the patch change anything that is not a test?"""
    return any(not is_test_path(path) for path in patch.paths)


async def _open_locate(kit: Kit, candidate: Candidate) -> str:
    report = await baseline(kit, candidate, wait_seconds=0.1)
    workspace = kit.workspace(candidate)
    reds = report.reds if report else ()
    await asyncio.to_thread(name_places, workspace, kit.task.issue)
    look = await asyncio.to_thread(first_look, workspace, kit.task.issue, reds, FIRST_LOOK_CHARACTERS)
    return kit.prompts.render(
        "task",
        task=kit.task,
        report=report,
        reds=reds,
        look=look,
        instructions=kit.instructions,
        hints=kit.hints,
    )


async def _open_reproduce(kit: Kit, candidate: Candidate) -> str:
    report = await baseline(kit, candidate)
    return kit.prompts.render("reproduce", reds=report.reds if report else ())


async def _settle_reproduce(kit: Kit, candidate: Candidate, standing: Standing) -> Note | str | None:
    handed = standing.note if isinstance(standing.note, Reproduction) else None
    if handed is not None and not handed.tests:
        return handed
    named = _named(kit, candidate, handed)
    tests_changed = any(is_test_path(path) for path in standing.patch.paths)
    progress = kit.log.progress(candidate.id)
    found = Reproduced()
    if named or (tests_changed and standing.changed):
        found = await asyncio.to_thread(kit.verifier.reproduces, standing.patch, named, progress)
        if found.tests:
            return Reproduction(summary="Seen red on the untouched base.", tests=found.tests)
    source = has_source(standing.patch)
    if (
        not named
        and (standing.entry or (standing.changed and source))
        and (tied := await _find_tied_tests(kit, candidate, weak=source and not tests_changed))
    ):
        belonging = await asyncio.to_thread(kit.verifier.reproduces, standing.patch, tied, progress)
        if belonging.tests:
            return Reproduction(
                summary="Red already on the untouched base, and tied to the issue.", tests=belonging.tests
            )
    if (
        standing.changed
        and source
        and (outcome := await _judge_without_targets(kit, candidate, standing.patch))
    ):
        return outcome
    if standing.entry or not (standing.changed or handed):
        return None
    judged = verdicts(kit.log.records, candidate.id)
    return kit.prompts.render(
        "not_reproduced", found=found, source=source, tests_changed=tests_changed, judged=judged[-1:]
    )


async def _find_tied_tests(kit: Kit, candidate: Candidate, *, weak: bool) -> tuple[str, ...]:
    """Return the red tests of the base that belong to the issue; those that only an identifier ties, if `weak` ties will do."""
    await baseline(kit, candidate)
    found = await asyncio.to_thread(kit.verifier.ties)
    strong = tuple(test for test, tie in found.items() if tie != "identifier")
    return strong or (tuple(found) if weak else ())


async def _judge_without_targets(kit: Kit, candidate: Candidate, patch: Patch) -> Note | str | None:
    """Judge a change that came before any test was named: it may turn a red test green, or break one, which spends an attempt."""
    report = await baseline(kit, candidate)
    if report is None or not report.reds:
        return None
    verdict = await judge(kit, candidate, patch, ())
    if verdict.kind is VerdictKind.PROVEN:
        return Reproduction(summary="These failed before the change and pass with it.", tests=verdict.targets)
    if verdict.good or verdict.kind is VerdictKind.INCONCLUSIVE:
        return None
    if attempts_left(kit) < 1:
        return GiveUp(summary=f"No attempt is left. {verdict.reason}")
    return await asyncio.to_thread(kit.verifier.explain, verdict)


def _named(kit: Kit, candidate: Candidate, handed: Reproduction | None) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            (*(handed.tests if handed else ()), *named_tests(kit.log.records, candidate.id), *asked_for(kit))
        )
    )


async def _open_edit(kit: Kit, candidate: Candidate) -> str:
    newest = next(
        (note for note in reversed(notes(kit.log.records, candidate.id)) if not isinstance(note, Done)), None
    )
    return kit.prompts.render("edit", reproduction=newest if isinstance(newest, Reproduction) else None)


async def _settle_edit(kit: Kit, candidate: Candidate, standing: Standing) -> Note | str | None:
    """A change of source that nobody has judged yet closes the phase without asking."""
    judged = verdicts(kit.log.records, candidate.id)
    fresh = not judged or judged[-1].tree != standing.patch.tree or judged[-1].good
    if fresh and (has_source(standing.patch) or (standing.patch.paths and standing.note)):
        if standing.changed and (objection := await asyncio.to_thread(objections, kit, candidate, standing)):
            return objection
        return standing.note or Done(summary=_summary(kit, candidate))
    if standing.note is not None:
        return (
            "Nothing has changed since the last verification. Change the code with apply_patch, or "
            "hand_over(kind='give_up')."
        )
    return None


def _summary(kit: Kit, candidate: Candidate) -> str:
    """Return what the model said with its change: a line, then its explanation; what it found before, where it said nothing."""
    replies = (
        message
        for message in reversed(conversation(kit.log.records, candidate.id))
        if isinstance(message, AssistantMessage)
    )
    found = (
        note.summary
        for note in reversed(notes(kit.log.records, candidate.id))
        if isinstance(note, Sites | Diagnosis)
    )
    return (
        next(replies, AssistantMessage()).text.strip()[:EXPLANATION_CHARACTERS]
        or next(found, "").strip().partition("\n")[0]
    )


async def _open_diagnose(kit: Kit, candidate: Candidate) -> str:
    judged = verdicts(kit.log.records, candidate.id)
    left = attempts_left(kit)
    own = lineage(kit.log.records, candidate.id)
    found = newest_diagnoses(kit, candidate)
    places, asked = left_out(own)
    explanation = await asyncio.to_thread(kit.verifier.explain, judged[-1])
    await asyncio.to_thread(name_places, kit.workspace(candidate), explanation)
    kept = has_source(await asyncio.to_thread(kit.repository.patch, candidate))
    return kit.prompts.render(
        "diagnose",
        explanation=explanation,
        left=max(left, 1),
        found=found,
        places=places,
        asked=asked,
        kept=kept,
    )


async def _open_repair(kit: Kit, _candidate: Candidate) -> str:
    return kit.prompts.render("repair")


async def _open_explain(kit: Kit, candidate: Candidate) -> str:
    judged = verdicts(kit.log.records, candidate.id)
    failed = await asyncio.to_thread(kit.verifier.explain, judged[-1]) if judged else ""
    return kit.prompts.render("give_up", failed=failed)


async def _settle_handed(_kit: Kit, _candidate: Candidate, standing: Standing) -> Note | None:
    return standing.note


PURPOSES: Mapping[PhaseName, Purpose] = {
    "locate": Purpose(phase=LOCATE, opening=_open_locate, settle=_settle_handed),
    "reproduce": Purpose(phase=REPRODUCE, opening=_open_reproduce, settle=_settle_reproduce),
    "edit": Purpose(phase=EDIT, opening=_open_edit, settle=_settle_edit),
    "diagnose": Purpose(phase=DIAGNOSE, opening=_open_diagnose, settle=_settle_handed),
    "repair": Purpose(phase=REPAIR, opening=_open_repair, settle=_settle_edit),
    "explain": Purpose(phase=EXPLAIN, opening=_open_explain, settle=_settle_handed),
}
