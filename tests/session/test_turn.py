"""Turns of a phase."""

import asyncio
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from coder.core.errors import ModelError
from coder.core.events import BudgetSpent
from coder.core.values import AssistantMessage, Image, Reply, Usage, UserMessage
from coder.models.scripted import ScriptedModel, ScriptStep
from coder.session.context import SessionContext
from coder.session.phase import LoopDetector, add_user_message, run_turn
from tests.session.fakes import events, kit, with_models


def request_text(context: SessionContext) -> str:
    candidate = context.repository.create_candidate("c1")
    add_user_message(context.on(candidate), "Fix it.")
    return asyncio.run(run_turn(context.on(candidate))).message.text


def test_opaque_parts_go_only_to_their_model(tmp_path: Path) -> None:
    signed = Reply(message=AssistantMessage(text="Yes.", opaque="signed"), usage=Usage(cost_usd=Decimal(0)))
    first, second = (
        ScriptedModel([signed, ScriptStep(text="Again.")], name="first"),
        ScriptedModel([signed, ScriptStep(text="And again.")], name="second"),
    )
    context = kit(tmp_path)
    for model in (first, second, second, first):
        request_text(with_models(context, model=model))

    def opaque_parts(model: ScriptedModel) -> list[tuple[str, str]]:
        return [
            (message.model, message.opaque)
            for message in model.requests[-1].messages
            if isinstance(message, AssistantMessage)
        ]

    assert opaque_parts(second) == [("first", ""), ("second", "signed")]
    assert opaque_parts(first) == [("first", "signed"), ("second", ""), ("second", "")]


def test_model_that_accepts_no_images_is_told_of_them(tmp_path: Path) -> None:
    model = ScriptedModel([ScriptStep(text="I see none.")], name="blind")
    context = with_models(kit(tmp_path), model=model)
    candidate = context.repository.create_candidate("c1")
    image = Image(name="a.gif", media_type="image/gif", base64="R0lGODlh")
    add_user_message(context.on(candidate), "Look.", [image])
    asyncio.run(run_turn(context.on(candidate)))
    (message,) = model.requests[0].messages
    assert message == UserMessage(text="Look.\n\n[Not sent to you, because you accept no images: a.gif]")


def test_role_has_own_model_and_usage(tmp_path: Path) -> None:
    reviewer = ScriptedModel([ScriptStep(text="I read it.")], name="reviewer")
    context = replace(with_models(kit(tmp_path), by_role={"reviewer": reviewer}), role="reviewer")
    assert request_text(context) == "I read it."
    assert [event.role for event in events(context.log, BudgetSpent)] == ["reviewer"]
    assert context.budget.roles["reviewer"].requests == 1


def test_failed_request_costs_reported_usage(tmp_path: Path) -> None:
    context = kit(
        tmp_path,
        [
            ModelError("It broke off.", usage=Usage(input_tokens=70, cost_usd=Decimal(0))),
            ModelError("Nothing answers."),
        ],
    )
    for _ in range(2):
        with pytest.raises(ModelError):
            request_text(context)
    assert (
        context.budget.spent.requests,
        context.budget.spent.input_tokens,
        context.budget.reservations,
    ) == (1, 70, [])


@pytest.mark.parametrize(
    ("turns", "states"),
    [
        ("aaa", "new again lost"),
        ("ababab", "new new again again lost lost"),
        ("aAaa", "new new new again"),  # a capital is a turn that changes something
    ],
)
def test_repeated_turns_warn_once_then_stop(turns: str, states: str) -> None:
    detector = LoopDetector()
    assert [
        detector.record_turn((turn.lower(),), has_changed=turn.isupper()) for turn in turns
    ] == states.split()
