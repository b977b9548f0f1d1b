"""Status and score of a candidate, computed from the log and its worktree."""

from coder.core.events import CandidateScored, FilesChanged, PhaseEntered, Verified, newest_event
from coder.core.notes import Done
from coder.core.paths import is_test_path
from coder.core.state import (
    candidate_notes,
    candidate_records,
    candidate_verdicts,
    has_given_up,
    named_tests,
    newest_verdict,
    reviewer_findings,
)
from coder.core.text import cut_after_line
from coder.core.values import Candidate, Patch
from coder.core.verdict import Verdict, VerdictKind
from coder.core.verdict_summary import summarize_failures
from coder.session.context import SessionContext

Score = tuple[int, ...]
WORST: Score = (-1,)
DIFF_CHARACTERS, FAILURE_CHARACTERS = 3_000, 2_000
"""Limits for a failed change and its failure in the message to the other branches."""


KINDS = (*(kind for kind in VerdictKind if kind is not VerdictKind.NOT_TESTED), VerdictKind.NOT_TESTED)
"""The better one first; of what was not tested nothing is known."""


async def score_candidate(context: SessionContext, candidate: Candidate) -> Score:
    """Score a candidate, greater is better, and log it.

    In order: fixed and accepted, kind of verdict, failing targets, broken tests, unguarded lines, size.
    """
    newest = newest_verdict(context.log.records, candidate.id)
    patch = await context.read_patch(candidate)
    if newest is None or newest.tree != patch.tree:
        return WORST
    size = sum(line[:1] in "+-" and line[:3] not in ("+++", "---") for line in patch.diff.split("\n") if line)
    unguarded_count = len(newest.mutation.survivors) if newest.mutation else 0
    values = (
        int(is_accepted(context, candidate)),
        -KINDS.index(newest.kind),
        -len(newest.still_red),
        -len(newest.broken),
        -unguarded_count,
        -size,
    )
    context.log.append(
        CandidateScored(candidate=candidate.id, score=values, reason=f"{newest.label}, {size} lines changed")
    )
    return values


async def current_verdict(context: SessionContext, candidate: Candidate) -> Verdict | None:
    newest = newest_verdict(context.log.records, candidate.id)
    patch = await context.read_patch(candidate)
    return newest if newest is not None and newest.tree == patch.tree else None


def is_accepted(context: SessionContext, candidate: Candidate) -> bool:
    """Tell whether the candidate is fixed and no reviewer asks for changes."""
    newest = newest_verdict(context.log.records, candidate.id)
    return (
        newest is not None
        and newest.kind.shows_fix
        and all(opinion.approve for opinion in reviewer_findings(context.log.records, candidate.id).values())
    )


def is_settled(context: SessionContext, candidate: Candidate) -> bool:
    """Tell whether nothing better is awaited.

    Without a test that shows the issue none can prove a fix; and the user may have cut the tests short.
    """
    newest = newest_verdict(context.log.records, candidate.id)
    return is_accepted(context, candidate) or (
        newest is not None
        and newest.is_deliverable
        and (newest.cut_short or not named_tests(context.log.records, candidate.id))
    )


def was_asked_for_more(context: SessionContext, candidate: Candidate) -> bool:
    """Tell whether a PASSING change has gone back to the model."""
    newest: VerdictKind | None = None
    for record in candidate_records(context.log.records, candidate.id):
        match record.event:
            case Verified(verdict=verdict):
                newest = verdict.kind
            case PhaseEntered(phase="repair") if newest is VerdictKind.PASSING:
                return True
    return False


def summarize_attempt(context: SessionContext, candidate: Candidate) -> str:
    """Return the idea, diff and failure of an attempt, to inform others; at most about 1,500 tokens."""
    idea = next(
        (
            note.summary.partition("\n")[0][:200]
            for note in reversed(candidate_notes(context.log.records, candidate.id))
        ),
        "no change",
    )
    change = newest_event(candidate_records(context.log.records, candidate.id), FilesChanged)
    newest = newest_verdict(context.log.records, candidate.id)
    failure = summarize_failures(newest) if newest else "It was not tested."
    diff = cut_after_line(change.diff, DIFF_CHARACTERS) if change else ""
    return f"{idea}\n{diff}\n{failure[:FAILURE_CHARACTERS]}"


def is_abandoned(context: SessionContext, candidate: Candidate) -> bool:
    """Tell whether the newest note gives up."""
    return has_given_up(context.log.records, candidate.id)


def has_deliverable_change(context: SessionContext, candidate: Candidate) -> bool:
    """Tell whether the newest verdict allows delivery."""
    newest = newest_verdict(context.log.records, candidate.id)
    return newest is not None and newest.is_deliverable


def is_repairable(context: SessionContext, candidate: Candidate) -> bool:
    """Tell whether the newest verdict is a failure that another change may fix."""
    newest = newest_verdict(context.log.records, candidate.id)
    return (
        newest is not None
        and not newest.is_deliverable
        and newest.kind is not VerdictKind.NOT_TESTED
        and not is_abandoned(context, candidate)
    )


async def is_finished(context: SessionContext, candidate: Candidate) -> bool:
    """Tell whether there is a change to judge: one of the source, or any that the model handed over."""
    patch = await context.read_patch(candidate)
    notes = candidate_notes(context.log.records, candidate.id)
    return has_source(patch) or (bool(patch.paths) and bool(notes) and isinstance(notes[-1], Done))


async def is_red(context: SessionContext, candidate: Candidate) -> bool:
    """Tell whether the current change was judged and failed."""
    current = await current_verdict(context, candidate)
    return current is not None and not current.is_deliverable


async def is_judged_good(context: SessionContext, candidate: Candidate) -> bool:
    """Tell whether the current change was judged good."""
    current = await current_verdict(context, candidate)
    return current is not None and current.is_deliverable


async def has_unjudged_source(context: SessionContext, candidate: Candidate) -> bool:
    """Tell whether the candidate changed source code that is not judged yet."""
    patch = await context.read_patch(candidate)
    return has_source(patch) and all(
        verdict.tree != patch.tree for verdict in candidate_verdicts(context.log.records, candidate.id)
    )


def has_source(patch: Patch) -> bool:
    """Tell whether the patch changes any file that is not a test."""
    return any(not is_test_path(path) for path in patch.paths)
