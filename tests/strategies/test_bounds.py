"""Bounds of each strategy: models that never come to an end by themselves."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from coder.core.events import Budget, Verified
from coder.core.values import AssistantMessage, Candidate, Reply, Request, ToolCall, Usage
from coder.core.verdict import ReproductionResult, TestReport, Verdict, VerdictKind
from coder.session.session import Session
from coder.strategies.registry import build_strategy
from tests.builders import by_hand
from tests.session.fakes import (
    BASELINE,
    RED,
    STILL_RED,
    UNTESTED,
    FakeVerifier,
    ForkingRepository,
    events,
    kit,
)

STRATEGIES = ("linear", "plan", "tree", "committee", "auto")
OLD_FAILURE = TestReport(command="pytest", results=(*BASELINE.results, RED))
NOT_REPRODUCED = ReproductionResult(rejected=("tests/test_b.py::test_b: passes already on the base",))
BREAKS = Verdict(kind=VerdictKind.BROKEN, reason="It breaks test_b.", broken=(RED,))
NO_TEST_RAN = Verdict(kind=VerdictKind.NOT_TESTED, reason="pytest does not start.")
REQUESTS = 150
"""More than any of these strategies asks for."""


def reply(name: str, text: str = "", **arguments: object) -> Reply:
    call = ToolCall(id=str(id(arguments)), name=name, arguments=json.dumps(arguments))
    return Reply(message=AssistantMessage(text=text, calls=(call,)), usage=Usage(), finish="calls")


def accepts_plan(request: Request) -> bool:
    """Tell whether a planner is asked."""
    return any("steps" in tool.parameters["properties"] for tool in request.tools)


def edits_forever(number: int, request: Request) -> Reply:
    if accepts_plan(request):
        steps = [{"intent": f"Step {number}.", "files": ["a.py"]}]
        return reply("hand_over", kind="plan", summary="s", steps=steps)
    diff = f"--- /dev/null\n+++ b/new_{number}.py\n@@ -0,0 +1 @@\n+VALUE = {number}\n"
    return reply("apply_patch", f"Try {number}.", diff=diff)


def looks_between_edits(number: int, request: Request) -> Reply:
    is_look = number % 2 == 1 and not accepts_plan(request)
    return reply("search", pattern=f"VALUE{number}") if is_look else edits_forever(number, request)


def talks(number: int, _request: Request) -> Reply:
    return Reply(message=AssistantMessage(text=f"I think of {number}."), usage=Usage(), finish="stop")


def hands_over_without_a_patch(number: int, _request: Request) -> Reply:
    kinds = ("sites", "reproduction", "done", "diagnosis")
    return reply("hand_over", kind=kinds[number % 4], summary=f"Done, {number}.", places=["a.py"])


EDITING_MODELS = (edits_forever, looks_between_edits)
AskModel = Callable[[int, Request], Reply]


@dataclass(frozen=True)
class Outcome:
    kind: VerdictKind | None
    verified: int
    attempts: int
    requests: int
    deliveries: int


def run(
    root: Path, strategy: str, ask: AskModel, verdict: Verdict, *, requests: int | None = None
) -> Outcome:
    """Run a session in which a test that the issue does not name fails from the start."""
    repository = ForkingRepository(root=root / "c1")
    number = iter(range(REQUESTS))
    context = kit(
        root / "c1",
        [lambda request: ask(next(number), request)] * REQUESTS,
        verifier=FakeVerifier(verdicts=[verdict], reproduced=[NOT_REPRODUCED], report=OLD_FAILURE),
        repository=repository,
        issue="a.py says 1, and 2 is right",
        budget=Budget(requests=requests),
    )
    first = context.workspace(Candidate(id="c1", worktree=root, base="base"))
    context = replace(context, workspace=lambda candidate: replace(first, root=candidate.worktree))
    chosen = build_strategy(strategy, width=2, rounds=2)
    end = asyncio.run(Session(context, chosen, id="s1", version="0").run())
    judgements = events(context.log, Verified)
    return Outcome(
        kind=end.kind,
        verified=len(judgements),
        attempts=end.attempts,
        requests=end.spent.requests,
        deliveries=len(repository.deliveries),
    )


@pytest.mark.parametrize(
    ("ask", "verdict"),
    [
        (edits_forever, BREAKS),
        *by_hand(*((ask, verdict) for ask in EDITING_MODELS for verdict in (STILL_RED, UNTESTED))),
        (talks, STILL_RED),
        *by_hand((looks_between_edits, BREAKS), (hands_over_without_a_patch, STILL_RED)),
    ],
)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_endless_models_come_to_an_end_and_deliver_nothing(
    tmp_path: Path, strategy: str, ask: AskModel, verdict: Verdict
) -> None:
    outcome = run(tmp_path, strategy, ask, verdict)
    assert (outcome.kind, outcome.deliveries) == (VerdictKind.GAVE_UP, 0)
    is_edited = ask in EDITING_MODELS
    assert outcome.verified == (Budget().attempts if is_edited else 0)
    assert outcome.attempts == (1 if verdict is UNTESTED else outcome.verified) or not is_edited
    assert outcome.requests < REQUESTS


@pytest.mark.parametrize("strategy", ["linear", *by_hand(*STRATEGIES[1:])])
def test_inconclusive_verdicts_spend_no_attempt_but_end(tmp_path: Path, strategy: str) -> None:
    outcome = run(tmp_path, strategy, edits_forever, NO_TEST_RAN)
    assert (outcome.kind, outcome.attempts, outcome.deliveries) == (VerdictKind.NOT_TESTED, 1, 0)
    assert outcome.requests < 40


def test_request_limit_bounds_inconclusive_verdicts(tmp_path: Path) -> None:
    outcome = run(tmp_path, "linear", edits_forever, NO_TEST_RAN, requests=4)
    assert (outcome.kind, outcome.requests, outcome.deliveries) == (VerdictKind.LIMIT, 4, 0)


def test_limit_after_unfinished_passing_change_delivers_nothing(tmp_path: Path) -> None:
    outcome = run(tmp_path, "linear", edits_forever, UNTESTED, requests=2)
    assert (outcome.kind, outcome.verified, outcome.deliveries) == (VerdictKind.LIMIT, 2, 0)


def hands_over_after_edit(number: int, request: Request) -> Reply:
    none = reply("hand_over", kind="reproduction", summary="A docstring.", tests=[])
    return none if number == 1 else edits_forever(number, request)


def talks_after_edit(number: int, request: Request) -> Reply:
    return talks(number, request) if number else edits_forever(number, request)


@pytest.mark.parametrize("ask", [hands_over_after_edit, talks_after_edit])
def test_passing_change_is_delivered_once_the_model_stops(tmp_path: Path, ask: AskModel) -> None:
    outcome = run(tmp_path, "linear", ask, UNTESTED)
    assert (outcome.kind, outcome.attempts, outcome.deliveries) == (VerdictKind.PASSING, 1, 1)


def adds_tests_after_edit(number: int, request: Request) -> Reply:
    if number == 0 or number > 4:
        return edits_forever(0, request) if number == 0 else talks(number, request)
    text = "".join(f"+VALUE = {line}\n" for line in range(number))
    diff = f"--- /dev/null\n+++ b/tests/test_new_{number}.py\n@@ -0,0 +1,{number} @@\n{text}"
    return reply("apply_patch", "A test.", diff=diff)


def test_tests_for_a_passing_change_spend_no_attempt(tmp_path: Path) -> None:
    outcome = run(tmp_path, "linear", adds_tests_after_edit, UNTESTED)
    assert (outcome.kind, outcome.attempts, outcome.deliveries) == (VerdictKind.PASSING, 1, 1)
