import asyncio
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise, takewhile
from pathlib import Path

from coder.core.errors import ModelError
from coder.core.events import (
    CandidateForked,
    ContextCompacted,
    ConversationContinued,
    NoteMade,
    PlanAnswered,
    ToolFinished,
    ToolStarted,
    Verified,
)
from coder.core.notes import Diagnosis, Plan, Step
from coder.core.state import candidate_messages
from coder.core.values import AssistantMessage, Candidate, Reply, Request, ToolCall, ToolMessage, Usage
from coder.models.scripted import ScriptedModel, ScriptStep
from coder.session.context import SessionContext
from coder.session.continuation import read_continuation
from coder.session.phase import add_user_message, run_turn
from tests.session.fakes import STILL_RED, kit, with_models

WINDOW = 32_768
ISSUE = "minutes() forgets the rest of the hour"
PLAN = Plan(summary="Count the rest of the hour", steps=(Step(intent="minutes() adds the rest"),))


def read_call(number: int, path: str = "") -> Reply:
    call = ToolCall(id=f"r{number}", name="read", arguments=f'{{"path": "{path or f"file_{number}.py"}"}}')
    return Reply(
        message=AssistantMessage(text=f"I look at number {number}.", calls=(call,)),
        usage=Usage(cost_usd=Decimal(0)),
    )


def converse(context: SessionContext, outputs: Sequence[str], *, name: str = "read") -> None:
    """Run turns with one call each, and answer each with a text."""
    candidate = Candidate(id="c1", worktree=context.repository.root, base="base")

    async def run() -> None:
        for text in outputs:
            reply = await run_turn(context.on(candidate))
            (call,) = reply.message.calls
            context.log.append(ToolStarted(candidate="c1", call=call))
            message = ToolMessage(call_id=call.id, name=name, text=text)
            context.log.append(ToolFinished(candidate="c1", message=message, seconds=0.0))

    asyncio.run(run())


def start(context: SessionContext, issue: str = ISSUE) -> Candidate:
    candidate = context.repository.create_candidate("c1")
    context.log.append(CandidateForked(candidate="c1"))
    add_user_message(context.on(candidate), issue)
    return candidate


def window_context(
    root: Path, turns: int, *, window: int | None = WINDOW
) -> tuple[SessionContext, ScriptedModel]:
    model = ScriptedModel([read_call(number) for number in range(turns)], context_tokens=window)
    return with_models(kit(root), model=model), model


def size(context: SessionContext, request: Request) -> int:
    return context.budget.estimate_input_tokens(request) + request.max_output_tokens


def prefix_share(requests: Sequence[Request]) -> float:
    """Return the share of all characters that each request has in common with the start of the one before."""
    shared = total = 0
    for earlier, later in pairwise(requests):
        fixed = len(later.system) + sum(len(tool.model_dump_json()) for tool in later.tools)
        messages, before = (
            [message.model_dump_json() for message in request.messages] for request in (later, earlier)
        )
        same = takewhile(lambda pair: pair[0] == pair[1], zip(messages, before, strict=False))
        shared += fixed + sum(len(message) for message, _ in same)
        total += fixed + sum(map(len, messages))
    return shared / total


def test_long_session_fits_into_small_window(tmp_path: Path) -> None:
    """400 events, and 200,000 tokens (0.8 MB) of what tools return."""
    turns = 100
    context, model = window_context(tmp_path, turns)
    candidate = start(context)
    context.log.append(PlanAnswered(question="q1", plan=PLAN, by="person"))
    add_user_message(context.on(candidate), f"# The plan\n{PLAN.summary}")
    failures = {}
    for number in range(turns):
        if number in (30, 70):
            context.log.append(Verified(candidate="c1", attempt=1, verdict=STILL_RED))
            failures[number] = f"test_{number} fails: assert 0 == {number}"
            add_user_message(context.on(candidate), failures[number])
        converse(context, [f"line {number}\n" * (8_000 // len(f"line {number}\n"))])
    assert len(context.log.records) >= 400
    for number, request in enumerate(model.requests):
        text = "\n".join(message.text for message in request.messages)
        assert ISSUE in text
        assert PLAN.summary in text
        assert all(
            text.count(failure) == 1
            for at, failure in failures.items()
            if at == max((at for at in failures if at <= number), default=-1)
        )
        assert size(context, request) <= WINDOW
    share = prefix_share(model.requests)
    print(f"shared prefix: {share:.0%}")
    assert share > 0.6


def test_a_small_window_has_room_for_five_turns_between_compactions(tmp_path: Path) -> None:
    turns = 40
    context, model = window_context(tmp_path, turns, window=12_000)
    start(context, f"{ISSUE}\n" + "It is lost.\n" * 400)
    outputs = [f"line {number}\n" * 170 for number in range(turns)]
    converse(context, outputs)
    replies = [record.number for record in context.log.records if isinstance(record.event, ToolStarted)]
    compactions = [
        sum(number < record.number for number in replies)
        for record in context.log.records
        if isinstance(record.event, ContextCompacted)
    ]
    assert len(compactions) >= 2
    assert all(later - earlier >= 5 for earlier, later in pairwise(compactions))
    for output, request in zip(outputs, model.requests[1:], strict=False):
        assert output.strip() in request.messages[-1].text


def test_what_was_read_stays_longer_than_other_results(tmp_path: Path) -> None:
    context, _ = window_context(tmp_path, 14)
    start(context)
    converse(context, ["x" * 4_500] * 2)
    converse(context, ["x" * 4_500] * 12, name="search")
    event = next(r.event for r in context.log.records if isinstance(r.event, ContextCompacted))
    results = [record.number for record in context.log.records if isinstance(record.event, ToolFinished)]
    assert event.results
    assert not {*results[:2]} & {*event.results}


def test_window_of_unknown_size_is_learnt(tmp_path: Path) -> None:
    overflow = ModelError("too long", context_overflow=True)
    model = ScriptedModel([read_call(n) for n in range(6)] + [overflow, ScriptStep(text="Yes.")])
    context = with_models(kit(tmp_path), model=model)
    candidate = start(context)
    converse(context, ["x" * 9_000] * 6)
    assert asyncio.run(run_turn(context.on(candidate))).message.text == "Yes."
    assert size(context, model.requests[-1]) < size(context, model.requests[-2])
    assert context.models.context_limits


def test_note_says_what_was_found_changed_and_added(tmp_path: Path) -> None:
    context, model = window_context(tmp_path, 60, window=16_384)
    candidate = start(context)
    context.log.append(
        NoteMade(candidate="c1", phase="diagnose", note=Diagnosis(summary="The rest is lost in clock.py:3"))
    )
    add_user_message(context.on(candidate), "The person adds: keep the signature")
    converse(context, ["y" * 2_000] * 60)
    last = model.requests[-1].messages
    note = last[1].text
    assert last[0].text == ISSUE
    for part in (
        "# What has happened so far",
        "The rest is lost in clock.py:3",
        "keep the signature",
        "file_45.py",
    ):
        assert part in note


def test_compacted_conversation_is_continued_as_it_was_sent(tmp_path: Path) -> None:
    context, _ = window_context(tmp_path, 60)
    start(context)
    converse(context, ["z" * 6_000] * 60)
    sent = candidate_messages(context.log.records, "c1")
    assert any(
        isinstance(record.event, ContextCompacted) and record.event.summarized
        for record in context.log.records
    )
    assert read_continuation("s", context.log.records).messages == sent
    following, _ = window_context(tmp_path, 30)
    following.log.append(CandidateForked(candidate="c1"))
    following.log.append(ConversationContinued(candidate="c1", session="s", messages=sent))
    add_user_message(following.on(Candidate(id="c1", worktree=tmp_path, base="base")), "And now the days")
    converse(following, ["z" * 6_000] * 30)
    for request in following.model.requests:  # type: ignore[attr-defined]
        assert any("And now the days" in message.text for message in request.messages)
        assert size(following, request) <= WINDOW
