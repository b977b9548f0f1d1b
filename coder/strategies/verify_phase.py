"""VERIFY phase, which asks no model."""

import asyncio
from pathlib import Path

from coder.core.errors import UserError
from coder.core.events import FilesChanged, PhaseEntered, Verified
from coder.core.messages import UserMessage
from coder.core.paths import (
    extract_node_ids,
    find_command_tests,
    is_bystander,
    is_prose,
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
from coder.prompting import render_prompt
from coder.python.source import decode_text, find_syntax_error, find_undefined_names
from coder.session.context import SessionContext, Strategy
from coder.session.phase import PhaseState


async def judge_change(
    context: SessionContext,
    candidate: Candidate,
    patch: Patch,
    test_ids: tuple[str, ...],
    *,
    exclusions: tuple[str, ...] = (),
    findings: tuple[Finding, ...] = (),
) -> Verdict:
    """Verify a change and log its verdict, then examine it and log the second verdict.

    A change that an earlier good verdict covers is not verified again. `exclusions` say what of the work the
    change lacks, `findings` cap the verdict.
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
    attempt = attempt_number(context)

    def log(verdict: Verdict) -> Verdict:
        verdict = _cap_by_findings(_leave_exclusions_open(verdict, exclusions), findings)
        context.log.append(Verified(candidate=candidate.id, attempt=attempt, verdict=verdict))
        return verdict

    verdict = log(known_verdict or await verify_change(context, candidate, patch, test_ids))
    if verdict.is_examinable:
        verdict = log(await examine_change(context, candidate, verdict))
    if verdict.is_deliverable and (denial := await _denial_by_hook(context, candidate, patch, verdict)):
        findings = (*findings, denial)
        verdict = log(verdict)
    return verdict


async def _denial_by_hook(
    context: SessionContext, candidate: Candidate, patch: Patch, verdict: Verdict
) -> Finding | None:
    """Return the finding of a hook that denies a good verdict."""
    reason = await context.deny(
        "Verified", candidate, verdict=verdict.kind.value, reason=verdict.reason, diff=patch.diff
    )
    text = f"a hook denies the verdict: {' '.join(reason.split())}"
    return Finding(rule="own-hook", effect="cap", text=text) if reason else None


async def verify_change(
    context: SessionContext, candidate: Candidate, patch: Patch, test_ids: tuple[str, ...]
) -> Verdict:
    """Return the verdict on a change, before it is examined, without logging it.

    The tests that the user asked for must be green as well, whatever `test_ids` names. Prose is judged
    alone, not together with the fix that it follows: it has fixed nothing.
    """
    progress = context.log.progress_listener(candidate.id)
    is_alone = bool(patch.paths) and all(map(is_prose, patch.paths))
    verifier = context.verifier if is_alone else context.judge
    target_tests = tuple(dict.fromkeys((*test_ids, *requested_tests(context, candidate))))
    async with context.models.rate_limiter.verification_slot():
        verdict = await asyncio.to_thread(
            verifier.verify,
            patch,
            target_tests,
            progress,
            excluded=excluded_tests(context, candidate),
            tell=context.log.run_listener(candidate.id),
        )
    return verdict if is_alone else _with_span(context, verdict)


async def examine_change(context: SessionContext, candidate: Candidate, verdict: Verdict) -> Verdict:
    """Return the verdict on the change that was judged last after its examination, without logging it."""
    progress = context.log.progress_listener(candidate.id)
    async with context.models.rate_limiter.verification_slot():
        return _with_span(context, await asyncio.to_thread(context.judge.examine, verdict, progress))


def _with_span(context: SessionContext, verdict: Verdict) -> Verdict:
    """Return the verdict with a note on the changes that it is judged together with."""
    since = context.judging.since[:10]
    if not since:
        return verdict
    note = f"judged together with what it continues: all changes since {since}"
    return verdict.model_copy(update={"notes": tuple(dict.fromkeys((*verdict.notes, note)))})


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

    An attempt is a red verdict of a new source diff, of any branch in whatever phase. The same source with
    other tests is none, nor is a verdict that is NOT TESTED or red for the environment.
    """
    return 1 + len({source for source, verdict in _judged_sources(context) if _is_failure(verdict)})


def _judged_sources(context: SessionContext) -> list[tuple[frozenset[Hunk], Verdict]]:
    """Return all verdicts in order, each with the source part of the diff that it is on."""
    judged = []
    sources: dict[str, frozenset[Hunk]] = {}
    for record in context.log.records:
        match record.event:
            case FilesChanged(candidate=name, diff=diff):
                hunks = split_git_diff(diff)
                sources[name] = frozenset(hunk for hunk in hunks if not is_test_path(hunk.path))
            case Verified(candidate=name, verdict=verdict):
                judged.append((sources.get(name, frozenset()), verdict))
    return judged


def _is_failure(verdict: Verdict) -> bool:
    return not (
        verdict.is_deliverable or verdict.has_environment_problem or verdict.kind is VerdictKind.NOT_TESTED
    )


MOST_FAILURES = 2
"""Red verdicts for each attempt of the budget: no more are made, however often tests alone change."""


def attempts_left(context: SessionContext) -> int:
    """Return how many attempts are left; below 1 there are none."""
    attempts = context.task.budget.attempts
    failures = sum(_is_failure(verdict) for _, verdict in _judged_sources(context))
    return min(attempts + 1 - attempt_number(context), MOST_FAILURES * attempts - failures)


def passing_sources(context: SessionContext) -> int:
    """Return how many different source diffs were judged PASSING."""
    return len(
        {source for source, verdict in _judged_sources(context) if verdict.kind is VerdictKind.PASSING}
    )


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
        await judge_change(context, candidate, patch, test_ids, exclusions=exclusions)
        return candidate

    return strategy


def _leave_exclusions_open(verdict: Verdict, exclusions: tuple[str, ...]) -> Verdict:
    """Add what was left out: a part of the work keeps it from PROVEN, what lies beside it is one note."""
    beside = [exclusion for exclusion in exclusions if is_bystander(exclusion)]
    open_findings = tuple(
        Finding(rule="left-out", effect="open", text=f"not judged: {exclusion}")
        for exclusion in exclusions
        if exclusion not in beside
    )
    notes = (f"not looked at: {', '.join(beside)}",) if beside else ()
    lowered = verdict.model_copy(
        update={
            "findings": tuple(dict.fromkeys((*verdict.findings, *open_findings))),
            "notes": tuple(dict.fromkeys((*verdict.notes, *notes))),
        }
    )
    if not open_findings:
        return lowered
    return (
        lowered.model_copy(update={"kind": VerdictKind.FIXED})
        if verdict.kind is VerdictKind.PROVEN
        else lowered
    )


def _cap_by_findings(verdict: Verdict, findings: tuple[Finding, ...]) -> Verdict:
    """Lower a fix to PASSING for findings that cap it."""
    if not findings or not verdict.is_deliverable:
        return verdict
    added = {"findings": tuple(dict.fromkeys((*findings, *verdict.findings)))}
    lowered = {"kind": VerdictKind.PASSING, "reason": f"{findings[0].text[0].upper()}{findings[0].text[1:]}."}
    return verdict.model_copy(update={**added, **lowered})


def _apply_change(context: SessionContext, candidate: Candidate, change: Patch) -> None:
    if change.tree:
        context.repository.rollback(candidate, change.tree)
        return
    try:
        apply(change.diff, candidate.worktree)
    except PatchError as error:
        raise UserError(f"The diff does not fit {context.repository.base[:10]}: {error}") from None
