"""VERIFY phase, which asks no model."""

import asyncio
from pathlib import Path

from coder.core.errors import UserError
from coder.core.events import FilesChanged, PhaseEntered, Verified
from coder.core.messages import UserMessage
from coder.core.paths import (
    extract_node_ids,
    find_command_tests,
    is_test_path,
    match_test_ids,
    test_file_of,
    test_function_of,
)
from coder.core.state import candidate_messages, candidate_verdicts, unrelated_tests
from coder.core.values import Candidate, Hunk, Patch
from coder.core.verdict import Finding, Verdict, VerdictKind
from coder.patching import PatchError, apply
from coder.patching.git_hunks import split_git_diff
from coder.python.lint import find_syntax_error, find_undefined_names
from coder.python.source import decode_text
from coder.session.context import SessionContext, Strategy
from coder.session.phase import PhaseState


async def judge_change(
    context: SessionContext,
    candidate: Candidate,
    patch: Patch,
    test_ids: tuple[str, ...],
    *,
    exclusions: tuple[str, ...] = (),
) -> Verdict:
    """Verify a change and log the verdict, capped by what the change lacks.

    A change that an earlier good verdict covers is not verified again.
    """
    judgements = candidate_verdicts(context.log.records, candidate.id)
    known_verdict = next(
        (
            earlier
            for earlier in reversed(judgements)
            if earlier.tree == patch.tree and earlier.is_deliverable and set(test_ids) <= set(earlier.targets)
        ),
        None,
    )
    if known_verdict is not None and known_verdict is judgements[-1]:
        return known_verdict
    verdict = known_verdict or await verify_change(context, candidate, patch, test_ids)
    verdict = _cap_by_exclusions(verdict, exclusions)
    context.log.append(Verified(candidate=candidate.id, attempt=attempt_number(context), verdict=verdict))
    return verdict


async def verify_change(
    context: SessionContext, candidate: Candidate, patch: Patch, test_ids: tuple[str, ...]
) -> Verdict:
    """Return the verdict on a change, with additional checks of a good one, without logging it.

    The tests that the user asked for must be green as well, whatever `test_ids` names.
    """
    progress = context.log.progress_listener(candidate.id)
    target_tests = tuple(dict.fromkeys((*test_ids, *requested_tests(context, candidate))))
    async with context.models.rate_limiter.verification_slot():
        verdict = await asyncio.to_thread(
            context.judge.verify,
            patch,
            target_tests,
            progress,
            excluded=excluded_tests(context, candidate),
            tell=context.log.run_listener(candidate.id),
        )
        since = context.judged_since[:10]
        whole = (f"judged together with what it continues: all changes since {since}",) if since else ()
        verdict = verdict.model_copy(update={"tree": patch.tree, "notes": (*verdict.notes, *whole)})
        if verdict.is_deliverable and not verdict.cut_short:
            verdict = await asyncio.to_thread(context.judge.assess_coverage, verdict, progress)
    return verdict


def requested_tests(context: SessionContext, candidate: Candidate) -> tuple[str, ...]:
    """Return the tests that the user's test command names, and those of the issue.

    Ids in the issue count if their file exists in the checkout or in the candidate's worktree: others are
    part of an example. Tests that the user excludes are left out.
    """
    roots = (context.repository.root, candidate.worktree)
    by_issue = (
        test
        for test in extract_node_ids(context.task.issue)
        if any((root / test_file_of(test)).is_file() for root in roots)
    )
    is_excluded = match_test_ids(context.task.unrelated_tests)
    tests = dict.fromkeys((*find_command_tests(context.task.test_command), *by_issue))
    return tuple(test for test in tests if not is_excluded(test))


def with_named_tests(strategy: Strategy) -> Strategy:
    """Return the strategy, refused before it starts where the command names a test that does not exist."""

    async def refuse_or_run(context: SessionContext, candidate: Candidate) -> Candidate:
        patch = await asyncio.to_thread(context.repository.candidate_patch, candidate)
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


def excluded_tests(context: SessionContext, candidate: Candidate) -> tuple[str, ...]:
    """Return the tests that the user or the model says are not about the issue: they are never its targets.

    The model cannot exclude a test that the user names.
    """
    is_requested = match_test_ids(requested_tests(context, candidate))
    by_model = unrelated_tests(context.log.records, candidate.id)
    return tuple(
        dict.fromkeys((*context.task.unrelated_tests, *(test for test in by_model if not is_requested(test))))
    )


def attempt_number(context: SessionContext) -> int:
    """Return the number of the current attempt, from 1.

    Each failed verification of any branch spends one, in whatever phase; so does a PASSING one if the model
    changes the source again of its own accord, that is without a new phase, which reviewers or the user
    asked for. INCONCLUSIVE verifications and those that failed for the environment do not.
    """
    spent = 0
    sources: dict[str, frozenset[Hunk]] = {}
    passing: dict[str, frozenset[Hunk]] = {}
    for record in context.log.records:
        match record.event:
            case FilesChanged(candidate=name, diff=diff):
                sources[name] = frozenset(
                    hunk for hunk in split_git_diff(diff) if not is_test_path(hunk.path)
                )
                if passing.get(name, sources[name]) != sources[name]:
                    spent += 1
                    del passing[name]
            case PhaseEntered(candidate=name):
                passing.pop(name, None)
            case Verified(candidate=name, verdict=verdict):
                passing.pop(name, None)
                if verdict.kind is VerdictKind.PASSING and verdict.is_deliverable:
                    passing[name] = sources.get(name, frozenset())
                spent += _is_failure(verdict)
    return 1 + spent


def _is_failure(verdict: Verdict) -> bool:
    return not (
        verdict.is_deliverable or verdict.has_environment_problem or verdict.kind is VerdictKind.INCONCLUSIVE
    )


def attempts_left(context: SessionContext) -> int:
    """Return how many attempts are left; below 1 there are none."""
    return context.task.budget.attempts + 1 - attempt_number(context)


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
    objection = context.prompts.render("objection", failed=failed_verdict, faults=faults[:MAX_FAULTS])
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
                not verdict.is_deliverable and verdict.kind is not VerdictKind.INCONCLUSIVE
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

    `exclusions` is uncommitted work that the change lacks, for which it is PASSING at most.
    """

    async def strategy(context: SessionContext, candidate: Candidate) -> Candidate:
        await asyncio.to_thread(_apply_change, context, candidate, change)
        patch = await asyncio.to_thread(context.repository.candidate_patch, candidate)
        context.log.append(FilesChanged(candidate=candidate.id, paths=patch.paths, diff=patch.diff))
        await refuse_missing_tests(context, candidate, patch)
        context.log.append(PhaseEntered(candidate=candidate.id, phase="verify", attempt=1))
        await judge_change(context, candidate, patch, test_ids, exclusions=exclusions)
        return candidate

    return strategy


def _cap_by_exclusions(verdict: Verdict, exclusions: tuple[str, ...]) -> Verdict:
    caps = tuple(
        Finding(rule="left-out", effect="cap", text=f"not judged: {exclusion}") for exclusion in exclusions
    )
    if not caps:
        return verdict
    lowered = verdict.model_copy(update={"findings": (*verdict.findings, *caps)})
    if verdict.kind is not VerdictKind.PROVEN:
        return lowered
    reason = f"The tests pass, but a part of the uncommitted work was left out: {exclusions[0]}."
    return lowered.model_copy(update={"kind": VerdictKind.PASSING, "reason": reason})


def _apply_change(context: SessionContext, candidate: Candidate, change: Patch) -> None:
    if change.tree:
        context.repository.rollback(candidate, change.tree)
        return
    try:
        apply(change.diff, candidate.worktree)
    except PatchError as error:
        raise UserError(f"The diff does not fit {context.repository.base[:10]}: {error}") from None
