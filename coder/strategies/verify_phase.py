"""VERIFY phase, which asks no model."""

import asyncio

from coder.core.errors import UserError
from coder.core.events import FilesChanged, PhaseEntered, Verified
from coder.core.messages import UserMessage
from coder.core.paths import is_bystander
from coder.core.state import candidate_messages
from coder.core.values import Candidate, Patch
from coder.core.verdict import Finding, Verdict, VerdictKind
from coder.patching import PatchError, apply
from coder.prompting import render_prompt
from coder.python.source import decode_text, find_syntax_error, find_undefined_names
from coder.session.baseline import refuse_missing_tests
from coder.session.context import SessionContext, Strategy
from coder.session.judging import BESIDE, LEFT_OUT, judge_change
from coder.session.phase import PhaseState

MAX_FAULTS = 5


def preflight_objections(context: SessionContext, candidate: Candidate, state: PhaseState) -> str:
    """Return objections to a change, for the model; empty if it may be tested.

    Faults are reported once; the earlier failure of an equivalent change is reported each time.
    """
    failed_verdict = _earlier_failure(context, candidate)
    faults = (
        []
        if state.note
        else [fault for path in state.patch.paths for fault in _find_faults(context, candidate, path)]
    )
    if failed_verdict is None and not faults:
        return ""
    objection = render_prompt("objection", failed=failed_verdict, faults=faults[:MAX_FAULTS])
    is_repeated = any(
        isinstance(message, UserMessage) and message.text == objection
        for message in candidate_messages(context.log.records, candidate.id)
    )
    return "" if is_repeated and failed_verdict is None else objection


def _earlier_failure(context: SessionContext, candidate: Candidate) -> Verdict | None:
    """Return the failed verdict on an equivalent change of any candidate, None if there is none."""
    newest: dict[str, str] = {}
    failed_verdicts: dict[str, Verdict] = {}
    for record in context.log.records:
        match record.event:
            case FilesChanged(candidate=author, fingerprint=fingerprint):
                newest[author] = fingerprint
            case Verified(candidate=author, verdict=verdict) if (
                not verdict.is_deliverable and verdict.kind is not VerdictKind.NOT_TESTED
            ):
                failed_verdicts[newest.get(author, "")] = verdict
    own_fingerprint = newest.get(candidate.id)
    return failed_verdicts.get(own_fingerprint) if own_fingerprint else None


def _find_faults(context: SessionContext, candidate: Candidate, path: str) -> list[str]:
    file = candidate.worktree / path
    if not path.endswith(".py") or file.is_symlink() or not file.is_file():
        return []
    after = decode_text(file.read_bytes())
    if error := find_syntax_error(after, path):
        return [error]
    return find_undefined_names(context.workspace(candidate).history.read_file(path) or "", after, path)


def judge_existing_change(
    change: Patch, test_ids: tuple[str, ...] = (), *, exclusions: tuple[str, ...] = ()
) -> Strategy:
    """Return a strategy that judges one existing change, given as a tree or else as a diff.

    `exclusions` is uncommitted work that the change lacks, for which it is FIXED at most.
    """

    async def strategy(context: SessionContext, candidate: Candidate) -> Candidate:
        await asyncio.to_thread(_apply_change, context, candidate, change)
        patch = await context.read_patch(candidate)
        context.log.append(FilesChanged(candidate=candidate.id, paths=patch.paths, diff=patch.diff))
        await refuse_missing_tests(context, candidate, patch)
        context.log.append(PhaseEntered(candidate=candidate.id, phase="verify", attempt=1))
        findings, notes = _describe_exclusions(exclusions)
        await judge_change(context, candidate, patch, test_ids, findings=findings, notes=notes)
        return candidate

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


def _apply_change(context: SessionContext, candidate: Candidate, change: Patch) -> None:
    if change.tree:
        context.repository.rollback(candidate, change.tree)
        return
    try:
        apply(change.diff, candidate.worktree)
    except PatchError as error:
        raise UserError(f"The diff does not fit {context.repository.base[:10]}: {error}") from None
