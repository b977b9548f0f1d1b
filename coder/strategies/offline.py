"""Repair without a model: a proposer searches, and the same verifier as ever judges what it found."""

import asyncio
from collections.abc import Sequence

from coder.core.events import FilesChanged, NoteMade, PhaseEntered
from coder.core.notes import Done, GiveUp, Note, Sites
from coder.core.phases import PhaseName
from coder.core.values.candidate import Candidate
from coder.core.values.proposal import Proposal, Proposals
from coder.core.values.verdict import Reproduced, Verdict, VerdictKind
from coder.files.tokenize import words_of
from coder.patching import apply
from coder.session.baseline import baseline
from coder.session.context import Kit, Strategy
from coder.strategies.verify_phase import asked_for, attempt_number, judge

SEARCH_SECONDS = 120.0
COUNTED_SECONDS = 600.0
"""Where candidates are counted, time is no more than a safeguard: the same is found on a slow machine."""
SEARCH_SHARE = 0.6
"""Of the time that is left: what was found must still be proven."""
MOST_ATTEMPTS = 3
MOST_GUARDS = 20
"""So many of the tests that a proposal broke are enough to keep others like it away."""
NEEDS_A_TEST = (
    "Repair without a model needs a test that fails because of the issue, and none does. Name one in the "
    "issue or with --test "
    "(such as --test 'pytest tests/test_x.py::test_y'), write one, or configure a model."
)
TELL = "A test of a call in which they differ would decide."
HELP = (
    "A further failing test, smaller than these, narrows the place down; more than one small edit needs a "
    "model."
)


def search_repair() -> Strategy:
    """A strategy that takes the proposer's proposals in their order, and the first that is PROVEN.

    What tests say of the ones before is not lost: those that a proposal broke must stay green in the next search.
    """

    async def strategy(kit: Kit, candidate: Candidate) -> Candidate:
        _enter(kit, candidate, "locate")
        failing = await failing_tests(kit, candidate)
        attempts = min(MOST_ATTEMPTS, kit.task.budget.attempts)
        tests, guards = failing.tests, tuple[str, ...]()
        tried: list[Proposal] = []
        while True:
            found = await propose(kit, candidate, tests, guards=guards)
            fewer = speaking_of(kit.task.issue, tests)
            if not found.proposals and fewer not in (
                (),
                tests,
            ):  # several faults may be at work, of which the issue names one
                tests, found = fewer, await propose(kit, candidate, fewer, guards=guards)
            places = tuple(suspect.place for suspect in found.suspects)
            if not tests:
                _note(kit, candidate, "locate", GiveUp(summary=_needs_a_test(failing), places=places))
                return candidate
            _note(kit, candidate, "locate", Sites(summary=_found(found), places=places, tests=tests))
            broken: list[str] = []
            for proposal in [item for item in found.proposals if item not in tried][: attempts - len(tried)]:
                verdict = await _judged(kit, candidate, proposal, tests)
                if verdict.kind in (VerdictKind.PROVEN, VerdictKind.INCONCLUSIVE) or verdict.untied:
                    return candidate
                tried.append(proposal)
                broken += [result.id for result in verdict.broken if result.id not in guards]
            if not broken or len(tried) >= attempts:
                break
            guards = (*guards, *broken[:MOST_GUARDS])
            _enter(kit, candidate, "locate")
        _note(kit, candidate, "repair", GiveUp(summary=_gave_up(found), places=places))
        return candidate

    return strategy


async def failing_tests(kit: Kit, candidate: Candidate) -> Reproduced:
    """Tests that fail on the base for the right reason: those that the issue or the command names, else all; why others do not count.

    Where some are named the suite on the base is not waited for: the session has it measured while the search goes on.
    """
    named = asked_for(kit)
    report = None if named else await baseline(kit, candidate, whole=True)
    asked = named or (tuple(result.id for result in report.reds) if report else ())
    if not asked:
        return Reproduced()
    patch = await asyncio.to_thread(kit.repository.patch, candidate)
    return await asyncio.to_thread(kit.verifier.reproduces, patch, asked)


def _needs_a_test(failing: Reproduced) -> str:
    if not failing.rejected:
        return NEEDS_A_TEST
    return (
        "What fails on the untouched code shows no bug of it: "
        f"{'; '.join(failing.rejected[:2])}.\n{NEEDS_A_TEST}"
    )


def speaking_of(issue: str, tests: tuple[str, ...]) -> tuple[str, ...]:
    """Tests whose names share a word with the issue."""
    said = words_of(issue).keys()
    return tuple(test for test in tests if words_of(test.partition("::")[2]).keys() & said)


async def propose(
    kit: Kit,
    candidate: Candidate,
    tests: Sequence[str],
    *,
    most: float | None = None,
    guards: Sequence[str] = (),
) -> Proposals:
    """Let the proposer search for a part of the time that is left, at most so many seconds."""
    left = kit.purse.seconds_left
    most = most or (SEARCH_SECONDS if kit.task.budget.candidates is None else COUNTED_SECONDS)
    seconds = most if left is None else min(most, left * SEARCH_SHARE)
    may_write = kit.workspace(candidate).may_write
    progress = kit.log.progress(candidate.id)

    def search() -> Proposals:
        with kit.repository.restoring(candidate):
            return kit.proposer.propose(
                candidate.worktree,
                tests,
                kit.task.issue,
                seconds=seconds,
                progress=progress,
                may_write=may_write,
                guards=guards,
            )

    return await asyncio.to_thread(search)


async def _judged(kit: Kit, candidate: Candidate, proposal: Proposal, tests: tuple[str, ...]) -> Verdict:
    """Apply a proposal and have it judged; roll it back unless it is PROVEN, or would be if the issue named its test."""
    _enter(kit, candidate, "edit")
    await asyncio.to_thread(apply, proposal.diff, candidate.worktree)
    patch = await asyncio.to_thread(kit.repository.patch, candidate)
    kit.log.append(FilesChanged(candidate=candidate.id, paths=patch.paths, diff=patch.diff))
    _note(kit, candidate, "edit", Done(summary=proposal.summary))
    _enter(kit, candidate, "verify")
    verdict = await judge(kit, candidate, patch, tests)
    if verdict.kind is not VerdictKind.PROVEN and not verdict.untied:
        await asyncio.to_thread(kit.repository.rollback, candidate, candidate.base)
        kit.log.append(FilesChanged(candidate=candidate.id, paths=(), diff=""))
    return verdict


def _found(found: Proposals) -> str:
    """What was searched, and what else turned the tests green."""
    if not found.proposals or not found.alternatives:
        return found.note
    return "\n".join([f"{found.note}. These hold as well:", *map(_in_a_line, found.alternatives)])


def _in_a_line(proposal: Proposal) -> str:
    return f"- {proposal.summary}{f' ({proposal.apart})' if proposal.apart else ''}"


def _gave_up(found: Proposals) -> str:
    suspects = ", ".join(suspect.place.rpartition("::")[2] for suspect in found.suspects[:3])
    where = f" The fault is most likely in {suspects}." if suspects else ""
    if found.proposals:
        return f"No proposal was proven ({found.note}).{where}"
    if found.alternatives:
        shown = "\n\n".join(
            f"{_in_a_line(alternative)}\n{alternative.diff}" for alternative in found.alternatives
        )
        return (
            "Several edits turn the failing tests green, and none can be told to be right "
            f"({found.note}).{where} {TELL}\n\n{shown}"
        )
    return f"No simple edit was found that turns the failing tests green ({found.note}).{where} {HELP}"


def _enter(kit: Kit, candidate: Candidate, phase: PhaseName) -> None:
    kit.log.append(PhaseEntered(candidate=candidate.id, phase=phase, attempt=attempt_number(kit)))


def _note(kit: Kit, candidate: Candidate, phase: PhaseName, note: Note) -> None:
    kit.log.append(NoteMade(candidate=candidate.id, phase=phase, note=note))
