"""A candidate's state, computed from the log and its worktree: score, causes of failures, objections."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from coder.core.events import (
    CandidateScored,
    Diagnosed,
    FilesChanged,
    NoteMade,
    PhaseEntered,
    Record,
    Verified,
    newest_event,
)
from coder.core.messages import UserMessage
from coder.core.notes import Diagnosis, Done
from coder.core.paths import is_test_path, test_file_of
from coder.core.state import (
    candidate_messages,
    candidate_notes,
    candidate_records,
    candidate_verdicts,
    has_given_up,
    named_tests,
    newest_verdict,
    reviewer_findings,
)
from coder.core.text import cut_after_line
from coder.core.values import Candidate, Hunk, Patch
from coder.core.verdict import Cause, TestResult, Verdict, VerdictKind, group_by_signature
from coder.core.verdict_summary import summarize_failures
from coder.patching import apply
from coder.patching.git_hunks import rebuild_diff, split_git_diff
from coder.prompting import render_prompt
from coder.python.source import decode_text, find_syntax_error, find_undefined_names
from coder.session.context import CandidateRun
from coder.session.phase import PhaseState, add_user_message, record_change

Score = tuple[int, ...]
WORST: Score = (-1,)
DIFF_CHARACTERS, FAILURE_CHARACTERS = 3_000, 2_000
"""Limits for a failed change and its failure in the message to the other branches."""
START_OVER_CHARACTERS = 4_000
"""Limit for a change that was taken back."""
MAX_FAULTS = 5

KINDS = (*(kind for kind in VerdictKind if kind is not VerdictKind.NOT_TESTED), VerdictKind.NOT_TESTED)
"""The better one first; of what was not tested nothing is known."""


async def score_candidate(run: CandidateRun) -> Score:
    """Score a candidate, greater is better, and log it.

    In order: fixed and accepted, kind of verdict, failing targets, broken tests, unguarded lines, size.
    """
    newest = newest_verdict(*run.own)
    patch = await run.read_patch()
    if newest is None or newest.tree != patch.tree:
        return WORST
    size = sum(line[:1] in "+-" and line[:3] not in ("+++", "---") for line in patch.diff.split("\n") if line)
    unguarded_count = len(newest.mutation.survivors) if newest.mutation else 0
    values = (
        int(is_accepted(run)),
        -KINDS.index(newest.kind),
        -len(newest.still_red),
        -len(newest.broken),
        -unguarded_count,
        -size,
    )
    run.log.append(
        CandidateScored(
            candidate=run.candidate.id, score=values, reason=f"{newest.label}, {size} lines changed"
        )
    )
    return values


async def current_verdict(run: CandidateRun) -> Verdict | None:
    newest = newest_verdict(*run.own)
    patch = await run.read_patch()
    return newest if newest is not None and newest.tree == patch.tree else None


def is_accepted(run: CandidateRun) -> bool:
    """Tell whether the candidate is fixed and no reviewer asks for changes."""
    newest = newest_verdict(*run.own)
    return (
        newest is not None
        and newest.kind.shows_fix
        and all(opinion.approve for opinion in reviewer_findings(*run.own).values())
    )


def is_settled(run: CandidateRun) -> bool:
    """Tell whether nothing better is awaited.

    Without a test that shows the issue none can prove a fix; and the user may have cut the tests short.
    """
    newest = newest_verdict(*run.own)
    return is_accepted(run) or (
        newest is not None and newest.is_deliverable and (newest.cut_short or not named_tests(*run.own))
    )


def was_asked_for_more(run: CandidateRun) -> bool:
    """Tell whether a PASSING change has gone back to the model."""
    newest: VerdictKind | None = None
    for record in candidate_records(*run.own):
        match record.event:
            case Verified(verdict=verdict):
                newest = verdict.kind
            case PhaseEntered(phase="repair") if newest is VerdictKind.PASSING:
                return True
    return False


def summarize_attempt(run: CandidateRun) -> str:
    """Return the idea, diff and failure of an attempt, to inform others; at most about 1,500 tokens."""
    idea = next(
        (note.summary.partition("\n")[0][:200] for note in reversed(candidate_notes(*run.own))),
        "no change",
    )
    change = newest_event(candidate_records(*run.own), FilesChanged)
    newest = newest_verdict(*run.own)
    failure = summarize_failures(newest) if newest else "It was not tested."
    diff = cut_after_line(change.diff, DIFF_CHARACTERS) if change else ""
    return f"{idea}\n{diff}\n{failure[:FAILURE_CHARACTERS]}"


def is_abandoned(run: CandidateRun) -> bool:
    """Tell whether the newest note gives up."""
    return has_given_up(*run.own)


def has_deliverable_change(run: CandidateRun) -> bool:
    """Tell whether the newest verdict allows delivery."""
    newest = newest_verdict(*run.own)
    return newest is not None and newest.is_deliverable


def is_repairable(run: CandidateRun) -> bool:
    """Tell whether the newest verdict is a failure that another change may fix."""
    newest = newest_verdict(*run.own)
    return (
        newest is not None
        and not newest.is_deliverable
        and newest.kind is not VerdictKind.NOT_TESTED
        and not is_abandoned(run)
    )


async def is_finished(run: CandidateRun) -> bool:
    """Tell whether there is a change to judge: one of the source, or any that the model handed over."""
    patch = await run.read_patch()
    notes = candidate_notes(*run.own)
    return has_source(patch) or (bool(patch.paths) and bool(notes) and isinstance(notes[-1], Done))


async def is_red(run: CandidateRun) -> bool:
    """Tell whether the current change was judged and failed."""
    current = await current_verdict(run)
    return current is not None and not current.is_deliverable


async def is_judged_good(run: CandidateRun) -> bool:
    """Tell whether the current change was judged good."""
    current = await current_verdict(run)
    return current is not None and current.is_deliverable


async def has_unjudged_source(run: CandidateRun) -> bool:
    """Tell whether the candidate changed source code that is not judged yet."""
    patch = await run.read_patch()
    return has_source(patch) and all(verdict.tree != patch.tree for verdict in candidate_verdicts(*run.own))


def has_source(patch: Patch) -> bool:
    """Tell whether the patch changes any file that is not a test."""
    return any(not is_test_path(path) for path in patch.paths)


def log_diagnoses(run: CandidateRun) -> None:
    """Log the cause of each failure signature of the newest verdict."""
    for diagnosis in newest_diagnoses(run):
        run.log.append(diagnosis)


def newest_diagnoses(run: CandidateRun) -> tuple[Diagnosed, ...]:
    """Return the `diagnose_failures` of a candidate under the task's limit of attempts per side."""
    records = candidate_records(*run.own)
    return diagnose_failures(records, run.candidate.id, per_side=run.task.budget.attempts_per_side)


def diagnose_failures(
    records: Sequence[Record], candidate: str, *, per_side: int = 2
) -> tuple[Diagnosed, ...]:
    """Return a diagnosis for each failure signature of the newest verdict, least attempted first.

    A failure not yet looked at may be the cause of the rest. After `per_side` attempts at one side, the code
    or the test, the same failure is blamed on the other side.
    """
    attempts: Counter[str] = Counter()
    sides: Counter[tuple[str, bool]] = Counter()
    causes: dict[str, Cause] = {}
    new_diagnoses: list[Diagnosed] = []
    previous_hunks: tuple[Hunk, ...] = ()
    diff, paths = "", tuple[str, ...]()
    for record in records:
        match record.event:
            case FilesChanged(diff=new_diff, paths=new_paths):
                diff, paths = new_diff, new_paths
            case Verified(verdict=verdict) if not verdict.is_deliverable:
                current_hunks = split_git_diff(diff)
                changed_sides = {is_test_path(hunk.path) for hunk in set(current_hunks) ^ set(previous_hunks)}
                previous_hunks, new_diagnoses = current_hunks, []
                for signature, results in group_by_signature(verdict.failures).items():
                    attempts[signature] += 1
                    sides.update((signature, side) for side in changed_sides)
                    cause, previous_cause = _cause(
                        signature,
                        results,
                        sides,
                        causes,
                        per_side=per_side,
                        is_own_test=test_file_of(results[0].id) in paths,
                    )
                    causes[signature] = cause
                    tests = tuple(result.id for result in results)
                    new_diagnoses.append(
                        Diagnosed(
                            candidate=candidate,
                            signature=signature,
                            tests=tests,
                            cause=cause,
                            attempts=attempts[signature],
                            was=previous_cause,
                        )
                    )
    return tuple(sorted(new_diagnoses, key=lambda diagnosis: diagnosis.attempts))


def _cause(
    signature: str,
    results: Sequence[TestResult],
    sides: Counter[tuple[str, bool]],
    causes: dict[str, Cause],
    *,
    per_side: int,
    is_own_test: bool,
) -> tuple[Cause, Cause | None]:
    """Return the cause of a failure, and its previous cause if that has changed.

    A test that the change did not touch is never at fault, since it was right before.
    """
    cause: Cause = causes.get(signature) or results[0].cause or "logic"
    is_test_blamed = cause in ("test error", "collection")
    if sides[signature, is_test_blamed] < per_side or not (
        is_test_blamed or (cause == "logic" and is_own_test)
    ):
        return cause, None
    for side in (True, False):
        sides[signature, side] = 0
    return ("logic" if is_test_blamed else "test error"), cause


def unaddressed_places(records: Sequence[Record]) -> tuple[tuple[str, ...], int]:
    """Return unaddressed places of the newest diagnosis, and the number of failed verdicts since.

    A place is unaddressed if no change since has touched it.
    """
    places: tuple[str, ...] = ()
    hunks_before: tuple[Hunk, ...] = ()
    newest_hunks: tuple[Hunk, ...] = ()
    failures = 0
    for record in records:
        match record.event:
            case NoteMade(note=Diagnosis(places=named_places)) if named_places:
                places, hunks_before, failures = named_places, newest_hunks, 0
            case FilesChanged(diff=diff):
                newest_hunks = split_git_diff(diff)
            case Verified(verdict=verdict) if not verdict.is_deliverable and places:
                changed_hunks = set(newest_hunks) ^ set(hunks_before)
                places = tuple(
                    place
                    for place in places
                    if not any(_is_touched_by(hunk, place) for hunk in changed_hunks)
                )
                failures += bool(places)
    return places, failures


def _is_touched_by(hunk: Hunk, place: str) -> bool:
    """Tell whether a hunk changes this `path`, `path:line` or `path::Name`.

    A name must occur in the hunk.
    """
    path, _, name = place.partition("::")
    if hunk.path != path.partition(":")[0]:
        return False
    return name.rpartition(".")[2] in hunk.body


async def start_over(run: CandidateRun) -> None:
    """Roll the candidate back to its base and its tests, and tell the model."""
    failed_patch = await run.read_patch()
    await asyncio.to_thread(run.repository.rollback, run.candidate, run.candidate.base)
    await asyncio.to_thread(apply_test_hunks, run.candidate, failed_patch)
    await record_change(run, await run.read_patch())
    tests = any(map(is_test_path, failed_patch.paths))
    diff = cut_after_line(failed_patch.diff, START_OVER_CHARACTERS)
    add_user_message(run, render_prompt("start_over", diff=diff, tests=tests))


def apply_test_hunks(candidate: Candidate, patch: Patch) -> None:
    """Apply the part of a patch that changes tests, in a worktree that equals the base."""
    tests = [number for number, hunk in enumerate(split_git_diff(patch.diff)) if is_test_path(hunk.path)]
    if tests:
        apply(rebuild_diff(patch.diff, tests), candidate.worktree)


def preflight_objections(run: CandidateRun, state: PhaseState) -> str:
    """Return objections to a change, for the model; empty if it may be tested.

    Faults are reported once; the earlier failure of the same change is reported each time.
    """
    failed_verdict = _earlier_failure(run)
    faults = [] if state.note else [fault for path in state.patch.paths for fault in _find_faults(run, path)]
    if failed_verdict is None and not faults:
        return ""
    objection = render_prompt("objection", failed=failed_verdict, faults=faults[:MAX_FAULTS])
    is_repeated = any(
        isinstance(message, UserMessage) and message.text == objection
        for message in candidate_messages(*run.own)
    )
    return "" if is_repeated and failed_verdict is None else objection


def _earlier_failure(run: CandidateRun) -> Verdict | None:
    """Return the failed verdict on the same change of any candidate, None if there is none."""
    newest: dict[str, str] = {}
    failed_verdicts: dict[str, Verdict] = {}
    for record in run.log.records:
        match record.event:
            case FilesChanged(candidate=author, diff=diff):
                newest[author] = diff
            case Verified(candidate=author, verdict=verdict) if (
                not verdict.is_deliverable and verdict.kind is not VerdictKind.NOT_TESTED
            ):
                failed_verdicts[newest.get(author, "")] = verdict
    return failed_verdicts.get(newest.get(run.candidate.id) or "no change")


def _find_faults(run: CandidateRun, path: str) -> list[str]:
    file = run.candidate.worktree / path
    if not path.endswith(".py") or file.is_symlink() or not file.is_file():
        return []
    after = decode_text(file.read_bytes())
    if error := find_syntax_error(after, path):
        return [error]
    return find_undefined_names(run.workspace(run.candidate).history.read_file(path) or "", after, path)
