"""Best of several branches, over strategies that need no model."""

import asyncio
from pathlib import Path

from coder.core.events import (
    Budget,
    CandidateDropped,
    CandidateForked,
    FilesChanged,
    MessageFinished,
    Verified,
)
from coder.core.values import Candidate
from coder.core.verdict import Verdict
from coder.session.context import CandidateRun, SessionContext, Strategy
from coder.strategies.tree import best_of
from tests.session.fakes import PROVEN, RED, STILL_RED, ForkingRepository, events, kit


def scripted_strategy(outcomes: dict[str, list[Verdict | Exception]], calls: list[str]) -> Strategy:
    """Return a strategy that changes a.py in a new way each time and gets its next outcome; without any
    left, it waits forever.
    """

    async def strategy(run: CandidateRun) -> Candidate:
        calls.append(run.candidate.id)
        await asyncio.sleep(0.05 * int(run.candidate.id[1:]))
        if not outcomes[run.candidate.id]:
            await asyncio.Event().wait()
        outcome = outcomes[run.candidate.id].pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        (run.candidate.worktree / "a.py").write_text(f"VALUE = '{run.candidate.id} {len(calls)}'\n")
        patch = run.repository.candidate_patch(run.candidate)
        verdict = outcome.model_copy(update={"tree": patch.tree})
        run.log.append(FilesChanged(candidate=run.candidate.id, paths=patch.paths, diff=patch.diff))
        run.log.append(Verified(candidate=run.candidate.id, attempt=1, verdict=verdict))
        return run.candidate

    return strategy


async def do_nothing(run: CandidateRun) -> Candidate:
    return run.candidate


def run_beam(
    tmp_path: Path, outcomes: dict[str, list[Verdict | Exception]], *, rounds: int = 2, attempts: int = 9
) -> tuple[Candidate, SessionContext, list[str]]:
    root, calls = tmp_path / "root", list[str]()
    root.mkdir()
    context = kit(
        root,
        repository=ForkingRepository(root=root),
        issue=f"{RED.id} fails",
        budget=Budget(attempts=attempts),
    )
    step = scripted_strategy(outcomes, calls)
    strategy = best_of(3, change=step, check=do_nothing, explain=do_nothing, rounds=rounds)

    async def scenario() -> Candidate:
        trunk = context.repository.create_candidate("c1")
        context.log.append(CandidateForked(candidate="c1"))
        return await strategy(context.on(trunk))

    return asyncio.run(scenario()), context, calls


def drop_reasons(context: SessionContext) -> dict[str, str]:
    return {
        record.event.candidate: record.event.reason
        for record in context.log.records
        if isinstance(record.event, CandidateDropped)
    }


def test_first_proven_candidate_ends_search(tmp_path: Path) -> None:
    best, context, calls = run_beam(tmp_path, {"c1": [STILL_RED], "c2": [PROVEN], "c3": []})
    assert (best.id, sorted(calls), drop_reasons(context)) == (
        "c2",
        ["c1", "c2", "c3"],
        {"c3": "c2 has it first."},
    )


def test_expands_best_candidates_and_shares_failures(tmp_path: Path) -> None:
    worse = STILL_RED.model_copy(update={"still_red": (RED, RED)})
    best, context, calls = run_beam(
        tmp_path, {"c1": [worse], "c2": [STILL_RED, PROVEN], "c3": [STILL_RED, STILL_RED]}
    )
    assert (best.id, calls.count("c1"), calls.count("c2"), calls.count("c3")) == ("c2", 1, 2, 2)
    told = [event for event in events(context.log, MessageFinished) if "Other attempts" in event.message.text]
    assert {event.candidate for event in told} == {"c2", "c3"}


def test_keeps_best_candidate_without_proof(tmp_path: Path) -> None:
    outcomes: dict[str, list[Verdict | Exception]] = {
        name: [STILL_RED, STILL_RED] for name in ("c1", "c2", "c3")
    }
    best, context, calls = run_beam(tmp_path, outcomes)
    assert (best.id in ("c1", "c2", "c3"), len(calls), drop_reasons(context)) == (True, 5, {})


def test_limits_branches_and_rounds_to_attempts(tmp_path: Path) -> None:
    outcomes: dict[str, list[Verdict | Exception]] = {
        name: [STILL_RED, STILL_RED] for name in ("c1", "c2", "c3")
    }
    _, _, calls = run_beam(tmp_path, outcomes, attempts=2)
    assert sorted(calls) == ["c1", "c2"]
