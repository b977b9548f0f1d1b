"""Repair without a model: a proposer searches for edits, and the verifier judges them."""

import asyncio
import builtins
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from coder.core.events import FilesChanged, NoteMade, PhaseEntered, Verified
from coder.core.notes import Done, GiveUp, Note, Offers, Reproduction, Sites
from coder.core.paths import SOURCE_SUFFIXES, test_file_of
from coder.core.ports import ReproducedExample
from coder.core.text import join_first
from coder.core.values import Candidate, Patch, PhaseName, Proposals
from coder.core.verdict import Finding, ReproductionResult, TestResult, Verdict, VerdictKind
from coder.core.verdict_summary import ELLIPSIS
from coder.index.index import SymbolIndex
from coder.index.snapshot import IndexedPlace
from coder.patching import apply
from coder.python.source import decode_text
from coder.retrieval.issue_terms import extract_issue_terms
from coder.retrieval.orientation import find_reaching_tests
from coder.retrieval.ranking import locate_issue
from coder.session.context import CandidateRun, SessionContext, Strategy
from coder.session.judging import (
    SEARCH_CUT,
    UNDECIDED,
    attempt_number,
    judge_change,
    measure_baseline,
    requested_tests,
    write_red_example,
)

SEARCH_SECONDS = 60.0
SEARCH_SHARE = 0.5
"""Share of the remaining time for the search, since the result must still be proven."""
MAX_NEW_GUARDS = 20
"""Most broken tests to add as guards after each search; these suffice to exclude similar edits."""
MAX_NEAR_PLACES, MAX_NEAR_TESTS = 5, 100
"""Likeliest places whose tests run where the suite takes long, and most of these tests."""
NEITHER = "neither"
MAX_QUESTIONS = 3
NEXT_COMMAND = "To go on with a model: coder fix --continue --model MODEL 'go on'"
ONLY_PYTHON = "the built-in engine repairs Python only"
PYTHON_SUFFIXES = (".py", ".pyi", ".pyx")
OTHER_SUFFIXES = tuple(suffix for suffix in SOURCE_SUFFIXES if suffix not in PYTHON_SUFFIXES)


def search_repair() -> Strategy:
    """Return a strategy that searches for an edit, and ends with a fix, the edits that pass, or a red test.

    Tests that an edit broke must stay green in the next search.
    """

    async def strategy(run: CandidateRun) -> Candidate:
        _log_phase(run, "locate")
        tests, why, example = await _find_tests_to_repair(run)
        guards: tuple[str, ...] = ()
        left, questions = max(run.task.budget.attempts, 1), MAX_QUESTIONS
        while True:
            found = await propose_edits(run, tests, guards=guards)
            answer = await _ask_which(run, found) if questions else ""
            tried = _keep_answer(found, answer)
            if answer:
                questions -= 1
                test, is_red = await _write_answer(run, found.call, answer, tests)
                tests, guards = ((*tests, *test), guards) if is_red else (tests, (*guards, *test))
                if test and (tried.open_question or found.more):
                    continue  # the search goes on with the answer as a test
            sites = Sites(summary=tried.note, places=_places(found), tests=tests)
            _log_note(run, "locate", sites)
            broken: list[str] = []
            while tried.proposals and left:
                await _log_offers(run, tried)
                verdict = await _judge_proposal(run, tried, tests)
                if verdict.is_deliverable or verdict.kind is VerdictKind.NOT_TESTED:
                    return run.candidate
                left -= 1
                broken += [result.id for result in verdict.broken if result.id not in guards]
                tried = tried.model_copy(update={"proposals": tried.proposals[1:]})
            if not found.proposals:
                # The red tests may be about another fault: the issue's own example is not.
                alone = "" if example else await _use_example_alone(run, tests)
                if alone:
                    tests, example = (alone,), alone
                    continue
            if not broken or not left:
                break
            guards = (*guards, *broken[:MAX_NEW_GUARDS])
            _log_phase(run, "locate")
        summary = _describe_failure(found, why, tests)
        _log_note(run, "repair", GiveUp(summary=summary, places=_places(found), test=example))
        return run.candidate

    return strategy


async def _find_tests_to_repair(run: CandidateRun) -> tuple[tuple[str, ...], str, str]:
    """Return the failing tests in Python, as `_find_failing_tests`; those of other languages are a reason."""
    tests, why, example = await _find_failing_tests(run)
    if tests and all(test_file_of(test).endswith(OTHER_SUFFIXES) for test in tests):
        verb = "fails" if len(tests) == 1 else "fail"
        return (), f"{ONLY_PYTHON}, and {join_first(tests, 2)} {verb} here", ""
    return tests, why, example


async def _find_failing_tests(run: CandidateRun) -> tuple[tuple[str, ...], str, str]:
    """Return the tests that fail because of the issue, why there are none, and the id of one written for it.

    They are those that the issue or the command names, else the red ones that it is about, in files that call
    what its own example calls if that fails here, else this example, which is written into the worktree. The
    whole suite runs for longer than a moment only if nothing else is left.
    """
    if named := requested_tests(run):
        checked = await _check_red(run, named)
        if checked.tests:
            return checked.tests, "", ""
    example = await asyncio.to_thread(run.verifier.reproduce_example)
    for whole in () if named else (False, True) if isinstance(example, str) else (False,):
        reds = await _find_reds(run, whole=whole)
        tests = await asyncio.to_thread(_select_reds, run, reds, example)
        checked = await _check_red(run, tests) if tests else ReproductionResult()
        if checked.tests:
            return checked.tests, "", ""
    reason = "; ".join(checked.rejected[:2]).rstrip(".")
    index = await asyncio.to_thread(run.workspace(run.candidate).index.refresh)
    if not any(path.endswith(PYTHON_SUFFIXES) for path in index.paths):
        return (), f"{ONLY_PYTHON}, and no test fails because of the issue", ""
    if not isinstance(example, str):
        checked = await _write_red_example(run, example)
        if checked.tests:
            return checked.tests, "", example.test
        example = "; ".join(checked.rejected[:1]) or "the issue's example could not be run as a test"
    return (), f"no test fails because of the issue{f' ({reason})' if reason else ''}, and {example}", ""


async def _find_reds(run: CandidateRun, *, whole: bool) -> Sequence[TestResult]:
    """Return the red tests of the base: of a suite that takes long those of its start, and nearest the issue.

    The `whole` suite has the time that is not for the search.
    """
    left = run.budget.seconds_left
    seconds = None if left is None else left * (1 - SEARCH_SHARE)
    index = run.workspace(run.candidate).index
    near = () if whole else await asyncio.to_thread(_find_near_tests, index, run.task.issue)
    report = await measure_baseline(run, whole=whole, near=near, wait_seconds=seconds)
    return report.project_failures if report else ()


def _find_near_tests(index: SymbolIndex, issue: str) -> tuple[str, ...]:
    """Return the tests that use the likeliest places of an issue."""
    snapshot = index.refresh()
    places = locate_issue(snapshot, extract_issue_terms(issue)).symbols[:MAX_NEAR_PLACES]
    tests = (
        test.id
        for place in places
        for test in find_reaching_tests(snapshot, [IndexedPlace(path=place.path, definition=place.item)])
        if "::" in test.id
    )
    return tuple(islice(dict.fromkeys(tests), MAX_NEAR_TESTS))


def _select_reds(
    run: CandidateRun,
    reds: Sequence[TestResult],
    example: ReproducedExample | str,
) -> tuple[str, ...]:
    """Return the red tests that are tied to the issue: all if it names no code, and nothing ties any."""
    tree, ties = run.candidate.worktree, run.verifier.issue_ties()
    tests = tuple(result.id for result in reds if result.id in ties)
    if not isinstance(example, str):
        return tuple(test for test in tests if _calls_same(tree / test_file_of(test), example.call))
    return tests if tests or _names_code(run.task.issue) else tuple(result.id for result in reds)


async def _use_example_alone(run: CandidateRun, tests: tuple[str, ...]) -> str:
    """Write the issue's example as a test, and return its id, where the tests were not asked for by name."""
    if not tests or requested_tests(run):
        return ""
    example = await asyncio.to_thread(run.verifier.reproduce_example)
    checked = None if isinstance(example, str) else await _write_red_example(run, example)
    return checked.tests[0] if checked and checked.tests else ""


async def _write_red_example(run: CandidateRun, example: ReproducedExample) -> ReproductionResult:
    """Write an example as a test, and take it back if it does not fail."""
    checked = await write_red_example(run, example, seconds=_check_seconds(run))
    if checked.tests:
        note = Reproduction(summary=example.summary, tests=checked.tests)
        _log_note(run, "reproduce", note)
    return checked


async def _check_red(run: CandidateRun, tests: tuple[str, ...]) -> ReproductionResult:
    patch = await run.read_patch()
    return await asyncio.to_thread(run.verifier.reproduce, patch, tests, seconds=_check_seconds(run))


def _check_seconds(context: SessionContext) -> float:
    """Return how long tests may run before the search, since one may never end."""
    left = context.budget.seconds_left
    return (SEARCH_SECONDS if left is None else left) * (1 - SEARCH_SHARE)


def _calls_same(file: Path, call: str) -> bool:
    """Tell whether a test file calls what an example calls: a red test of another matter does not."""
    called = {*re.findall(r"[A-Za-z_]\w*(?=\()", call)} - {*dir(builtins)}
    text = decode_text(file.read_bytes()) if file.is_file() else ""
    return any(f"{name}(" in text for name in called)


def _names_code(issue: str) -> bool:
    """Tell whether an issue names code, such as `chunk_size` or `chunks(...)`."""
    return re.search(r"\w_\w|[a-z][A-Z]|`[^`]+`|\w\(", issue) is not None


async def propose_edits(
    run: CandidateRun,
    tests: Sequence[str],
    *,
    max_seconds: float = SEARCH_SECONDS,
    guards: Sequence[str] = (),
) -> Proposals:
    """Run the proposer for a share of the remaining time, at most `max_seconds`."""
    remaining = run.budget.seconds_left
    seconds = max_seconds if remaining is None else min(max_seconds, remaining * SEARCH_SHARE)
    may_write = run.workspace(run.candidate).may_write
    progress = run.log.progress_listener(run.candidate.id)

    def search() -> Proposals:
        with run.repository.restore_on_exit(run.candidate):
            return run.make_proposer().propose(
                run.candidate.worktree,
                tests,
                run.task.issue,
                seconds=seconds,
                progress=progress,
                may_write=may_write,
                guards=guards,
            )

    return await asyncio.to_thread(search)


async def _ask_which(context: SessionContext, found: Proposals) -> str:
    """Return what the deciding call should give, where somebody can say; empty if nobody does."""
    if len(found.proposals) < 2 or not found.call or not context.approval.attended:
        return ""
    options = tuple(dict.fromkeys(item.answer for item in found.proposals))
    text = f"{found.open_question.capitalize()}. Which is right?"
    chosen = await context.approval.ask(text, options=(*options, NEITHER), default=NEITHER, takes_text=True)
    return "" if chosen == NEITHER else chosen


def _keep_answer(found: Proposals, answer: str) -> Proposals:
    """Return the edits that give an answer to the deciding call; all if none does."""
    kept = tuple(item for item in found.proposals if item.answer == answer)
    if not answer or not kept:
        return found
    note = f"{found.note}; you said that {found.call} gives {answer}"
    return found.model_copy(update={"proposals": kept, "more": 0, "note": note})


async def _write_answer(
    run: CandidateRun, call: str, answer: str, tests: tuple[str, ...]
) -> tuple[tuple[str, ...], bool]:
    """Write the user's answer as a test; return its id, none if it is no value, and whether it is red."""
    example = await asyncio.to_thread(run.verifier.write_example, run.candidate.worktree, call, answer)
    if isinstance(example, str):
        return (), False
    checked = await write_red_example(run, example, seconds=_check_seconds(run), keeps_green=True)
    if checked.tests:
        summary = f"You said that {call} gives {answer}."
        note = Reproduction(summary=summary, tests=(*tests, example.test))
        _log_note(run, "reproduce", note)
    return (example.test,), bool(checked.tests)


async def _log_offers(run: CandidateRun, found: Proposals) -> None:
    """Record the edits that pass and differ, so that each can be applied, and the test that would decide."""
    if found.open_question:
        written = await run.read_patch()  # the issue's example as a test, if there is one
        diffs = tuple(f"{written.diff}{item.diff}" for item in found.proposals)
        test = await asyncio.to_thread(_write_deciding_test, run, run.candidate.worktree, found)
        rows = (*_describe_offers(found), *test)
        _log_note(run, "locate", Offers(summary=found.open_question, diffs=diffs, rows=rows))


def _write_deciding_test(context: SessionContext, tree: Path, found: Proposals) -> tuple[str, ...]:
    """Return the lines of a test that tells the edits apart, with the answer of the first."""
    if not found.call or ELLIPSIS in found.call:
        return ()
    example = context.verifier.write_example(tree, found.call, found.proposals[0].answer)
    if isinstance(example, str):
        return (f"a test of {found.call} decides",)
    file = tree / example.path
    before = decode_text(file.read_bytes()) if file.is_file() else ""
    added = example.text.removeprefix(before)
    head = f"this test decides, with the value that is right, in {example.path}:"
    return (head, *(f"    {line}" for line in added.strip("\n").splitlines()))


async def _judge_proposal(run: CandidateRun, found: Proposals, tests: tuple[str, ...]) -> Verdict:
    """Apply and judge the first proposal; roll it back unless it may be delivered.

    Where several proposals pass and differ, it is PASSING: rank alone makes nothing FIXED.
    """
    proposal = found.proposals[0]
    start = await run.read_patch()
    _log_phase(run, "edit")
    await asyncio.to_thread(apply, proposal.diff, run.candidate.worktree)
    patch = await run.read_patch()
    _log_change(run, patch)
    _log_note(run, "edit", Done(summary=proposal.summary))
    _log_phase(run, "verify")
    # Where the issue names no code, the search took all red tests: what ties them to it is for the verdict.
    named = tests if _names_code(run.task.issue) else requested_tests(run)
    verdict = await judge_change(run, patch, named, findings=undecided_findings(found))
    if not verdict.is_deliverable:
        await asyncio.to_thread(run.repository.rollback, run.candidate, start.tree or run.candidate.base)
        _log_change(run, start)
    return verdict


def undecided_findings(found: Proposals) -> tuple[Finding, ...]:
    """Return the finding that several edits pass and differ, or that others may pass which were not kept."""
    if text := found.open_question:
        rule = UNDECIDED if len(found.proposals) > 1 else SEARCH_CUT
        return (Finding(rule=rule, effect="cap", text=text),)
    if not found.is_cut:
        return ()
    text = f"time ended the search after {found.tried:,} edits: others may pass as well"
    return (Finding(rule=SEARCH_CUT, effect="cap", text=text),)


def _describe_offers(found: Proposals) -> Iterator[str]:
    """Yield the edits that pass, each with its answer."""
    for number, item in enumerate(found.proposals, 1):
        yield f"{number}. {item.summary}{f': {item.answer}' if item.answer else ''}"
    if found.more:
        yield f"and up to {found.more} more, less plain"


def _describe_failure(found: Proposals, why: str, tests: Sequence[str]) -> str:
    """Say what was tried, where the fault may be and what to do next."""
    places = ", ".join(
        f"{suspect.place.rpartition('::')[2]} ({suspect.place.partition('::')[0]}:{suspect.line})"
        for suspect in found.suspects[:3]
    )
    basis = "what the tests run" if tests else "the issue's words"
    where = f" Likeliest places, by {basis}: {places}." if places else ""
    if why:
        tried = f"{why[0].upper()}{why[1:]}."
        test = "Use" if ONLY_PYTHON in why else "Name a failing test with --test, or use"
        return f"{tried}{where} {test} a model: coder fix --model MODEL."
    cut = "; time ended the search" if found.is_cut else ""
    named = join_first(tests, 1)
    tried = f"No small edit was found that makes {named} pass and breaks nothing ({found.note}{cut})."
    return f"{tried}{where} {NEXT_COMMAND}."


def _places(found: Proposals) -> tuple[str, ...]:
    return tuple(suspect.place for suspect in found.suspects)


def _log_phase(run: CandidateRun, phase: PhaseName) -> None:
    run.log.append(PhaseEntered(candidate=run.candidate.id, phase=phase, attempt=attempt_number(run)))


def _log_change(run: CandidateRun, patch: Patch) -> None:
    run.log.append(FilesChanged(candidate=run.candidate.id, paths=patch.paths, diff=patch.diff))


def _log_note(run: CandidateRun, phase: PhaseName, note: Note) -> None:
    run.log.append(NoteMade(candidate=run.candidate.id, phase=phase, note=note))


FIRST_SECONDS = 10.0
OFFLINE_NOTE = "written by the built-in engine; the model was not asked"


def offline_first(strategy: Strategy, *, seconds: float = FIRST_SECONDS) -> Strategy:
    """Return a strategy that first runs a short search, and asks the model unless one kind of edit is FIXED.

    Other findings go into the first message as hints. The search takes at most `seconds`.
    """

    async def search_first(run: CandidateRun) -> Candidate:
        is_planned = run.task.plan_only or run.task.plan
        tests = () if is_planned else await _failing_issue_tests(run)
        if not tests:
            return await strategy(run)
        run.log.append(PhaseEntered(candidate=run.candidate.id, phase="locate", attempt=1))
        found = await propose_edits(run, tests, max_seconds=seconds)
        is_decided = len(found.proposals) == 1 and not found.more and not found.is_cut
        if is_decided and await _prove(run, found, tests):
            return run.candidate
        return await strategy(replace(run, hints=found))

    return search_first


async def _failing_issue_tests(run: CandidateRun) -> tuple[str, ...]:
    """Return tests that fail for the right reason and that the issue names or is tied to."""
    report = await measure_baseline(run, wait_seconds=0.1)  # the session has waited for it
    reds = report.project_failures if report is not None and report.problem is None else ()
    named_tests = requested_tests(run) if reds else ()
    ties = {} if named_tests else await asyncio.to_thread(run.verifier.issue_ties)
    issue_tests = named_tests or tuple(red.id for red in reds if red.id in ties)
    if not issue_tests:
        return ()
    patch = await run.read_patch()
    return (await asyncio.to_thread(run.verifier.reproduce, patch, issue_tests)).tests


async def _prove(run: CandidateRun, found: Proposals, tests: tuple[str, ...]) -> bool:
    """Tell whether the only proposal is good enough; else log nothing: it is no attempt of the model's."""
    proposal, verdicts = found.proposals[0], list[Verified]()
    await asyncio.to_thread(apply, proposal.diff, run.candidate.worktree)
    patch = await run.read_patch()
    verdict = await judge_change(run, patch, tests, notes=(OFFLINE_NOTE,), record=verdicts.append)
    if not verdict.is_good_enough:
        await asyncio.to_thread(run.repository.rollback, run.candidate, run.candidate.base)
        return False
    sites = Sites(summary=found.note, places=_places(found), tests=tests)
    _log_note(run, "locate", sites)
    _log_phase(run, "edit")
    _log_change(run, patch)
    _log_note(run, "edit", Done(summary=proposal.summary))
    _log_phase(run, "verify")
    for event in verdicts:
        run.log.append(event)
    return True
