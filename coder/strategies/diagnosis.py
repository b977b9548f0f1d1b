"""Diagnosis of failed verdicts: one cause for each failure signature, revised after failed attempts."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from coder.core.events import Diagnosed, FilesChanged, NoteMade, Record, Verified
from coder.core.notes import Diagnosis
from coder.core.paths import is_test_path, test_file_of
from coder.core.state import candidate_records
from coder.core.text import cut_after_line
from coder.core.values import Candidate, Hunk, Patch
from coder.core.verdict import Cause, TestResult, group_by_signature
from coder.patching import apply
from coder.patching.git_hunks import rebuild_diff, split_git_diff
from coder.prompting import render_prompt
from coder.session.context import SessionContext
from coder.session.phase import record_change
from coder.session.turn import add_user_message


def log_diagnoses(context: SessionContext, candidate: Candidate) -> None:
    """Log the cause of each failure signature of the newest verdict."""
    for diagnosis in newest_diagnoses(context, candidate):
        context.log.append(diagnosis)


def newest_diagnoses(context: SessionContext, candidate: Candidate) -> tuple[Diagnosed, ...]:
    """Return the `diagnose_failures` of a candidate under the task's limit of attempts per side."""
    records = candidate_records(context.log.records, candidate.id)
    return diagnose_failures(records, candidate.id, per_side=context.task.budget.attempts_per_side)


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

    A name must occur in or above the changed lines of the hunk.
    """
    path, _, name = place.partition("::")
    if hunk.path != path.partition(":")[0]:
        return False
    lines = hunk.body.split("\n")
    last = max((number for number, line in enumerate(lines) if line[:1] in ("+", "-")), default=0)
    return not name or name.rpartition(".")[2] in "\n".join(lines[: last + 1])


DIFF_CHARACTERS = 4_000


def is_stuck(context: SessionContext, candidate: Candidate) -> bool:
    """Tell whether the two newest changes failed in the same tests with the same messages.

    False if the diagnosis of a failure has changed since.
    """
    failures: list[frozenset[tuple[str, str]]] = []
    for record in candidate_records(context.log.records, candidate.id):
        match record.event:
            case Verified(verdict=verdict) if not verdict.is_deliverable:
                failures.append(frozenset((result.id, _headline(result)) for result in verdict.failures))
    if len(failures) < 2 or failures[-1] != failures[-2]:
        return False
    return all(diagnosis.was is None for diagnosis in newest_diagnoses(context, candidate))


def _headline(result: TestResult) -> str:
    return result.failure.message.partition("\n")[0] if result.failure else result.outcome


async def start_over(context: SessionContext, candidate: Candidate) -> None:
    """Roll the candidate back to its base and its tests, and tell the model."""
    failed_patch = await context.read_patch(candidate)
    await asyncio.to_thread(context.repository.rollback, candidate, candidate.base)
    await asyncio.to_thread(apply_test_hunks, candidate, failed_patch)
    await record_change(context, candidate, await context.read_patch(candidate))
    tests = any(map(is_test_path, failed_patch.paths))
    add_user_message(
        context,
        candidate,
        render_prompt("start_over", diff=cut_after_line(failed_patch.diff, DIFF_CHARACTERS), tests=tests),
    )


def apply_test_hunks(candidate: Candidate, patch: Patch) -> None:
    """Apply the part of a patch that changes tests, in a worktree that equals the base."""
    tests = [number for number, hunk in enumerate(split_git_diff(patch.diff)) if is_test_path(hunk.path)]
    if tests:
        apply(rebuild_diff(patch.diff, tests), candidate.worktree)
