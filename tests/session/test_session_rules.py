"""Invariants of attempts and deliveries for any behaviour of models and verifiers."""

import random
from pathlib import Path
from typing import Any

import pytest

from coder.core.events import Budget, NoteMade, Verified
from coder.core.notes import GiveUp
from coder.core.values import Candidate, Reply, Request
from coder.core.verdict import ReproductionResult, TestReport, Verdict, VerdictKind
from coder.models.scripted import ScriptedCall, ScriptStep
from coder.session.session import Session
from coder.strategies.registry import build_strategy
from tests.session.fakes import BASELINE, PROVEN, RED, STILL_RED, UNTESTED, FakeRepository, FakeVerifier, kit

BROKEN = Verdict(kind=VerdictKind.BROKEN, reason="It breaks another.", broken=(RED,))
RED_BASE = TestReport(command="pytest", results=(*BASELINE.results, RED))
UNKNOWN = Verdict(kind=VerdictKind.NOT_TESTED, reason="The network is gone.")


class SharedTreeRepository(FakeRepository):
    """Repository whose candidates share a directory, so that branches meet each other's changes; the rules
    hold nevertheless.
    """

    def create_candidate(self, name: str) -> Candidate:
        if "base" in self._trees:
            return Candidate(id=name, worktree=self.root, base=self.base)
        return super().create_candidate(name)


def random_scene(chance: random.Random, root: Path) -> Any:
    """Return a scene that changes a.py, writes a test, hands something over, or gives up."""

    def reply(request: Request) -> Reply:
        text = (root / "a.py").read_text()
        summary = "It is like this."
        calls: list[tuple[str, dict[str, Any]]] = [
            (
                "apply_patch",
                {"diff": f"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-{text}+VALUE = {chance.randrange(10**6)}\n"},
            ),
            (
                "hand_over",
                {"kind": "reproduction", "summary": summary, "tests": chance.choice([[], [RED.id]])},
            ),
            ("hand_over", {"kind": "diagnosis", "summary": summary, "start_over": chance.random() < 0.5}),
            ("hand_over", {"kind": "give_up", "summary": "I give up."}),
            (
                "hand_over",
                {"kind": "plan", "summary": summary, "steps": [{"intent": "one"}, {"intent": "two"}]},
            ),
            (
                "hand_over",
                {"kind": "findings", "summary": summary, "approve": chance.random() < 0.5, "findings": []},
            ),
        ]
        name, arguments = chance.choices(calls, weights=(8, 1, 1, 2, 1, 1))[0]
        return ScriptStep(text="A change.", calls=(ScriptedCall(name=name, arguments=arguments),)).reply(
            chance.randrange(10**9)
        )

    return reply


@pytest.mark.parametrize("strategy", ["linear", "plan", "tree", "committee", "auto"])
@pytest.mark.parametrize("seed", range(5))
async def test_attempts_and_delivery_follow_the_rules(strategy: str, seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    attempts = chance.randint(1, 4)
    verdicts = [chance.choice([STILL_RED, STILL_RED, BROKEN, UNTESTED, UNKNOWN, PROVEN]) for _ in range(20)]
    repository = SharedTreeRepository(root=tmp_path)
    context = kit(
        tmp_path,
        [random_scene(chance, tmp_path)] * 200,
        verifier=FakeVerifier(
            verdicts=verdicts, report=chance.choice([BASELINE, RED_BASE]), reproduced=[ReproductionResult()]
        ),
        repository=repository,
        budget=Budget(attempts=attempts, requests=40),
        issue=chance.choice(["It is wrong.", f"{RED.id} fails"]),
    )
    strategies = build_strategy(strategy, width=3, rounds=3)
    session_end = await Session(context, strategies, id="s1", version="0").run()
    events = [record.event for record in context.log.records]
    red = [
        event.verdict for event in events if isinstance(event, Verified) and not event.verdict.is_deliverable
    ]
    spent = [verdict for verdict in red if verdict.kind is not VerdictKind.NOT_TESTED]
    assert len(spent) <= attempts
    gave_up = [event for event in events if isinstance(event, NoteMade) and isinstance(event.note, GiveUp)]
    if session_end.kind in (VerdictKind.GAVE_UP, VerdictKind.LIMIT, VerdictKind.NOT_TESTED, None):
        assert (session_end.delivery, repository.deliveries) == (None, [])
    if session_end.delivery is not None:
        assert session_end.kind in (VerdictKind.PROVEN, VerdictKind.PASSING)
        assert (
            session_end.kind is VerdictKind.PROVEN or strategy in ("tree", "committee", "auto") or not gave_up
        )
    assert session_end.exit_code != 1, session_end.summary
