"""VERIFY phase, which asks no model."""

import asyncio
from pathlib import Path

from coder.core.errors import UserError
from coder.core.events import FilesChanged, PhaseEntered, Verified
from coder.core.messages import UserMessage
from coder.core.paths import find_command_tests, is_bystander, test_function_of
from coder.core.state import candidate_messages
from coder.core.values import Candidate, Patch
from coder.core.verdict import Finding, Verdict, VerdictKind
from coder.patching import PatchError, apply
from coder.prompting import render_prompt
from coder.python.source import decode_text, find_syntax_error, find_undefined_names
from coder.session.context import SessionContext, Strategy
from coder.session.judging import BESIDE, LEFT_OUT, judge_change
from coder.session.phase import PhaseState


def with_named_tests(strategy: Strategy) -> Strategy:
    """Return the strategy, refused before it starts where the command names a test that does not exist."""

    async def refuse_or_run(context: SessionContext, candidate: Candidate) -> Candidate:
        patch = await context.read_patch(candidate)
        await refuse_missing_tests(context, candidate, patch)
        return await strategy(context, candidate)

    return refuse_or_run


async def refuse_missing_tests(context: SessionContext, candidate: Candidate, patch: Patch) -> None:
    """Check the tests that the user's command names: those that their files do not mention, by a run.

    Raises:
        UserError: one of them does not exist.
    """
    named = find_command_tests(context.task.test_command)
    if all(_mentions_test(candidate.worktree, test) for test in named):
        return
    found = await asyncio.to_thread(context.verifier.check_reproduction, patch, named)
    if found.missing:
        raise UserError(f"--test: {'; '.join(found.missing)}")


def _mentions_test(tree: Path, test: str) -> bool:
    """Tell whether a test's file is there and contains the name of its function or class."""
    file, _, names = test_function_of(test).partition("::")
    try:
        return names.rpartition("::")[2] in (tree / file).read_text("utf-8", "replace")
    except OSError:
        return (tree / file).is_dir()


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
