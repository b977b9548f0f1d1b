"""Verdicts of a session: the base is measured, a change judged, examined, logged and counted.

What they say of a candidate is computed from the log and its worktree: score, causes of failures, objections.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from coder.core.errors import UserError
from coder.core.events import (
    BaselineMeasured,
    CandidateScored,
    Diagnosed,
    FilesChanged,
    NoteMade,
    PhaseEntered,
    QuestionAsked,
    Record,
    Verified,
    Warned,
    events_of,
    newest_event,
)
from coder.core.notes import Diagnosis, Done
from coder.core.paths import (
    extract_node_ids,
    find_command_tests,
    is_prose,
    is_test_path,
    match_test_ids,
    test_file_of,
    test_function_of,
)
from coder.core.ports import ReproducedExample
from coder.core.state import (
    candidate_messages,
    candidate_notes,
    candidate_records,
    candidate_verdicts,
    has_given_up,
    named_tests,
    newest_verdict,
    reviewer_findings,
    unrelated_tests,
)
from coder.core.text import cut_after_line
from coder.core.values import Candidate, Hunk, Patch, UserMessage
from coder.core.verdict import (
    Cause,
    Finding,
    ReproductionResult,
    TestReport,
    TestResult,
    Verdict,
    VerdictKind,
    group_by_signature,
)
from coder.core.verdict_summary import summarize_failures
from coder.files.regular_files import read_regular_text
from coder.patching import apply
from coder.patching.git_hunks import rebuild_diff, split_git_diff
from coder.python.source import decode_text, find_syntax_error, find_undefined_names
from coder.session.context import CandidateRun, SessionContext
from coder.session.phase import PhaseState, add_user_message, record_change, render_prompt


async def measure_baseline(
    run: CandidateRun,
    *,
    wait_seconds: float | None = None,
    whole: bool = False,
    near: Sequence[str] = (),
) -> TestReport | None:
    """Measure the baseline and log it; return None if it takes longer than `wait_seconds`.

    It is then still measured in the background. A slow suite is cut off or not tried, and the tests `near`
    run in its place; with `whole` it has all of its time. One that was not tried is not logged.
    """
    progress = run.log.progress_listener(run.candidate.id)
    measure = partial(run.verifier.baseline, progress, whole=whole, near=near)
    task = asyncio.ensure_future(asyncio.to_thread(measure))
    done, _ = await asyncio.wait({task}, timeout=wait_seconds)
    if not done:
        return None
    report = task.result()
    event = BaselineMeasured(
        command=report.command,
        counts=report.outcome_counts,
        failing=tuple(result.id for result in report.project_failures),
        denied=tuple(dict.fromkeys(result.denied for result in report.failures if result.denied)),
        seconds=report.seconds,
        problem=report.problem.text if report.problem else "",
    )
    if report.problem is not None and report.problem.kind == "timeout" and not report.seconds:
        return report
    logged = events_of(run.log.records, BaselineMeasured)
    if event not in logged and not (event.problem and event.problem in {other.problem for other in logged}):
        run.log.append(event)
    return report


INSTALL, GO_ON = "install", "go on without"


async def ensure_dependencies(run: CandidateRun, report: TestReport | None) -> TestReport | None:
    """Return the base's report, measured again if missing packages were installed."""
    if report is None or not await offer_missing_packages(run, report):
        return report
    return await measure_baseline(run)


async def offer_missing_packages(context: SessionContext, report: TestReport) -> bool:
    """Offer to install the packages that failing tests lack, and return whether they were installed."""
    if await _offer_system_package(context, report):
        return True
    missing = context.installer.missing_packages(report) if context.installer is not None else ()
    return await offer_packages(context, dict.fromkeys(missing, ""))


async def _offer_system_package(context: SessionContext, report: TestReport) -> bool:
    if context.installer is None or not context.approval.attended:
        return False
    package = context.installer.missing_system_package(report)
    if not (package and package.command):
        return False
    question = (
        f"This machine lacks {package.what}. Run `{package.command}`? "
        "It changes the machine, for all programs."
    )
    if _was_asked(context, question) or (
        await context.approval.ask(question, options=(INSTALL, GO_ON), default=GO_ON) != INSTALL
    ):
        return False
    if problem := await asyncio.to_thread(context.installer.install_system_package, package):
        remedy = f"Run it in a terminal, then start again: {package.command}"
        context.log.warn(f"It could not be installed: {problem}. {remedy}")
        return False
    return True


def _was_asked(context: SessionContext, opening: str) -> bool:
    return any(
        isinstance(record.event, QuestionAsked | Warned) and record.event.text.startswith(opening)
        for record in context.log.records
    )


async def offer_packages(context: SessionContext, packages: Mapping[str, str]) -> bool:
    """Ask for each package whether to install it, unless that is allowed; return whether any was.

    `packages` are names of distributions, with the module that is imported where its name is known.
    A name may be invented, and somebody else may own it: each is decided by itself.
    """
    chosen = [package for package, module in packages.items() if await _is_wanted(context, package, module)]
    if context.installer is None or not chosen:
        return False
    if problem := await asyncio.to_thread(context.installer.install, chosen):
        context.log.warn(f"{', '.join(chosen)} could not be installed: {problem}")
        return False
    return True


async def _is_wanted(context: SessionContext, package: str, module: str) -> bool:
    opening = f"Tests need `{package}`"
    if _was_asked(context, opening):
        return False  # it was refused before, or could not be installed
    imported = f" (imported as {module})" if module not in ("", package) else ""
    lacking = f"{opening}{imported}, which is not installed for the project's interpreter."
    if context.installs_packages or not context.approval.attended:
        course = (
            "It is installed into an environment of coder's own; yours stays as it is."
            if context.installs_packages
            else "To have it installed into an environment of coder's own: --install"
        )
        context.log.warn(f"{lacking} {course}")
        return context.installs_packages
    question = (
        f"{lacking} Install from the package index into an environment of coder's own? Yours stays as it is."
    )
    return await context.approval.ask(question, options=(INSTALL, GO_ON), default=GO_ON) == INSTALL


async def refuse_missing_tests(run: CandidateRun, patch: Patch) -> None:
    """Check the tests that the user's command names: those that their files do not mention, by a run.

    Raises:
        UserError: one of them does not exist.
    """
    named = find_command_tests(run.task.test_command)
    if all(_mentions_test(run.candidate.worktree, test) for test in named):
        return
    found = await asyncio.to_thread(run.verifier.reproduce, patch, named)
    if found.missing:
        raise UserError(f"--test: {'; '.join(found.missing)}")


def _mentions_test(tree: Path, test: str) -> bool:
    """Tell whether a test's file is there and contains the name of its function or class."""
    file, _, names = test_function_of(test).partition("::")
    try:
        return names.rpartition("::")[2] in (tree / file).read_text("utf-8", "replace")
    except OSError:
        return (tree / file).is_dir()


LEFT_OUT = "left-out"
"""Rule of the findings on parts of the work that are not judged."""
UNDECIDED, SEARCH_CUT = "undecided-edits", "search-cut"
"""Rules of the findings on a search that leaves several edits open."""
BESIDE = "not looked at: "
"""Start of the note on files beside the work."""


async def write_red_example(
    run: CandidateRun,
    example: ReproducedExample,
    *,
    seconds: float | None = None,
    keeps_green: bool = False,
) -> ReproductionResult:
    """Write an example into the worktree as a test, and take it back unless it fails on the base.

    The run may take so many `seconds`.
    """
    start = await run.read_patch()
    file = run.candidate.worktree / example.path
    file.parent.mkdir(parents=True, exist_ok=True)
    await asyncio.to_thread(file.write_text, example.text, "utf-8")
    patch = await run.read_patch()
    checked = await asyncio.to_thread(run.verifier.reproduce, patch, (example.test,), seconds=seconds)
    if checked.tests:
        run.log.append(FilesChanged(candidate=run.candidate.id, paths=patch.paths, diff=patch.diff))
    elif not keeps_green:
        await asyncio.to_thread(run.repository.rollback, run.candidate, start.tree or run.candidate.base)
    return checked


async def judge_change(
    run: CandidateRun,
    patch: Patch,
    test_ids: tuple[str, ...],
    *,
    findings: tuple[Finding, ...] = (),
    notes: tuple[str, ...] = (),
    anew: bool = False,
    record: Callable[[Verified], object] | None = None,
) -> Verdict:
    """Verify a change and log its verdict, then examine it and log the second verdict.

    A change that an earlier good verdict covers is not verified again, unless it is to be judged `anew`.
    `findings` and `notes` are known beforehand and belong to both verdicts. With `record`, this takes the
    verdicts instead of the log.
    """
    judgements = candidate_verdicts(*run.own)
    known_verdict = next(
        (
            earlier
            for earlier in reversed(judgements)
            if not anew
            and earlier.tree == patch.tree
            and earlier.is_deliverable
            and not earlier.is_examinable  # a session that was cut off makes up what it lacks
            and set(test_ids) <= set(earlier.targets)
        ),
        None,
    )
    if known_verdict is not None and known_verdict is judgements[-1]:
        return known_verdict
    attempt = attempt_number(run)

    def log(verdict: Verdict) -> Verdict:
        verdict = _add_findings(verdict, findings, notes)
        (record or run.log.append)(Verified(candidate=run.candidate.id, attempt=attempt, verdict=verdict))
        return verdict

    verdict = log(known_verdict or await verify_change(run, patch, test_ids))
    if verdict.is_examinable:
        verdict = log(await examine_change(run, verdict))
    return verdict


def prior_findings(verdict: Verdict) -> tuple[Finding, ...]:
    """Return the findings that were known before the change was judged, and hold for every part of it."""
    return tuple(finding for finding in verdict.findings if finding.rule in (LEFT_OUT, UNDECIDED, SEARCH_CUT))


async def verify_change(run: CandidateRun, patch: Patch, test_ids: tuple[str, ...]) -> Verdict:
    """Return the verdict on a change, before it is examined, without logging it.

    The tests that the user asked for must be green as well, whatever `test_ids` names. Prose is judged
    alone, not together with the fix that it follows: it has fixed nothing.
    """
    progress = run.log.progress_listener(run.candidate.id)
    is_alone = bool(patch.paths) and all(map(is_prose, patch.paths))
    verifier = run.verifier if is_alone else run.whole_verifier
    target_tests = tuple(dict.fromkeys((*test_ids, *requested_tests(run))))
    async with run.models.rate_limiter.verifications:
        verdict = await asyncio.to_thread(
            verifier.judge,
            patch,
            target_tests,
            progress,
            excluded=excluded_tests(run),
            tell=run.log.run_listener(run.candidate.id),
        )
    return verdict if is_alone else _with_span(run, verdict)


async def examine_change(run: CandidateRun, verdict: Verdict) -> Verdict:
    """Return the verdict on the change that was judged last after its examination, without logging it."""
    progress = run.log.progress_listener(run.candidate.id)
    async with run.models.rate_limiter.verifications:
        return _with_span(run, await asyncio.to_thread(run.whole_verifier.examine, verdict, progress))


def _with_span(context: SessionContext, verdict: Verdict) -> Verdict:
    """Return the verdict with a note on the changes that it is judged together with."""
    since = context.judging.since[:10]
    if not since:
        return verdict
    note = f"judged together with what it continues: all changes since {since}"
    return verdict.model_copy(update={"notes": tuple(dict.fromkeys((*verdict.notes, note)))})


def requested_tests(run: CandidateRun) -> tuple[str, ...]:
    """Return the tests that the user's test command names, and those of the issue.

    Ids in the issue count if their file exists in the checkout or in the candidate's worktree: others are
    part of an example. Tests that the user excludes are left out.
    """
    roots = (run.repository.root, run.candidate.worktree)
    by_issue = (
        test
        for test in extract_node_ids(run.task.issue)
        if any((root / test_file_of(test)).is_file() for root in roots)
    )
    is_excluded = match_test_ids(run.task.unrelated_tests)
    tests = dict.fromkeys((*find_command_tests(run.task.test_command), *by_issue))
    return tuple(test for test in tests if not is_excluded(test))


def excluded_tests(run: CandidateRun) -> tuple[str, ...]:
    """Return the tests that the user or the model says are not about the issue: they are never its targets.

    The model cannot exclude a test that the user names.
    """
    is_requested = match_test_ids(requested_tests(run))
    by_model = unrelated_tests(*run.own)
    return tuple(
        dict.fromkeys((*run.task.unrelated_tests, *(test for test in by_model if not is_requested(test))))
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


def _add_findings(verdict: Verdict, findings: tuple[Finding, ...], notes: tuple[str, ...]) -> Verdict:
    """Return the verdict with findings and notes; a failure needs no cap."""
    caps = [finding for finding in findings if finding.effect == "cap"] if verdict.is_deliverable else []
    open_findings = [finding for finding in findings if finding.effect == "open"]
    return verdict.model_copy(
        update={
            "kind": verdict.kind.limit(findings),
            "reason": f"{caps[0].text[0].upper()}{caps[0].text[1:]}." if caps else verdict.reason,
            "findings": tuple(dict.fromkeys((*caps, *verdict.findings, *open_findings))),
            "notes": tuple(dict.fromkeys((*verdict.notes, *notes))),
        }
    )


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
        and not has_given_up(*run.own)
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
    with run.repository.read(run.repository.base, ()) as base:
        before = read_regular_text(base / path)
    return find_undefined_names(before, after, path)
