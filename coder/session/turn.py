"""One turn: one request to the model and its whole reply."""

import asyncio
from collections.abc import Sequence
from typing import Literal

from coder.core.errors import ModelError, UserError
from coder.core.events import BudgetSpent, MessageFinished, ReasoningStreamed, Record, TextStreamed
from coder.core.messages import (
    REMARK_OPENING,
    AssistantMessage,
    Delta,
    Effort,
    Image,
    Message,
    Reply,
    Request,
    ToolMessage,
    Usage,
    UserMessage,
)
from coder.core.ports import Model
from coder.core.state import active_candidates, candidate_messages
from coder.core.task import Attachment
from coder.core.values import Candidate
from coder.permissions.secrets import mark_message
from coder.prompting import render_prompt
from coder.retrieval.attachments import attach_mentions, refuse_images
from coder.session.compaction import collect_facts, compact
from coder.session.context import SessionContext

OUTPUT_SHARE = 0.25
"""Largest share of the context window that is left for the reply."""
LEARNT_SHARE = 0.75
"""Share of a request that was too long for its model which later ones may have."""


def add_user_message(
    context: SessionContext, candidate: Candidate, text: str, images: Sequence[Image] = ()
) -> None:
    """Add a message of the harness to the conversation, with secrets masked.

    Images that the conversation holds already are not sent again.
    """
    if images:
        messages = candidate_messages(context.log.records, candidate.id)
        known = {
            image for message in messages if isinstance(message, UserMessage) for image in message.images
        }
        images = [image for image in images if image not in known]
    message = UserMessage(text=context.secrets.mask(text), images=tuple(images))
    context.log.append(MessageFinished(candidate=candidate.id, message=message))


async def run_turn(context: SessionContext, candidate: Candidate) -> Reply:
    """Ask the model for the next reply.

    A conversation that fills the model's context window is compacted first; one that exceeds a window of
    unknown size is compacted once, then sent again.

    Raises:
        LimitReached: before the request, if it could exceed a limit.
        ModelError: no usable reply was received.
    """
    _compact_if_full(context, candidate)
    try:
        return await _ask(context, candidate)
    except ModelError as error:
        if not error.context_overflow:
            raise
    request = _make_request(context, candidate_messages(context.log.records, candidate.id))
    refused_tokens = context.budget.estimate_input_tokens(request)
    context.models.context_limits[context.model.name] = int(refused_tokens * LEARNT_SHARE)
    _compact_if_full(context, candidate)
    return await _ask(context, candidate)


def _compact_if_full(context: SessionContext, candidate: Candidate) -> None:
    """Shorten the conversation if the next request could exceed the model's context window."""
    limit = _input_limit(context)
    if limit is None:
        return
    records = context.log.records
    event = compact(
        records,
        candidate.id,
        measure=lambda messages: context.budget.estimate_input_tokens(_make_request(context, messages)),
        limit=limit,
        make_note=lambda: render_prompt("compacted", facts=collect_facts(records, candidate.id)),
    )
    if event is not None:
        context.log.append(event)


def _input_limit(context: SessionContext) -> int | None:
    """Return the most input tokens of a request; None if the size of the window is not known."""
    window = _context_tokens(context)
    limits = (
        window - _output_limit(window, context.models.effort) if window else None,
        context.models.context_limits.get(context.model.name),
    )
    return min((limit for limit in limits if limit is not None), default=None)


def _context_tokens(context: SessionContext) -> int | None:
    return context.models.context_tokens or context.model.context_tokens


def _output_limit(window: int | None, effort: Effort | None) -> int:
    """Return the most output tokens of a request; in a small window, a share of it.

    High effort gets twice as many, because thinking counts.
    """
    most: int = Request.model_fields["max_output_tokens"].default * (2 if effort == "high" else 1)
    return min(most, int(window * OUTPUT_SHARE)) if window else most


def _make_request(context: SessionContext, messages: tuple[Message, ...]) -> Request:
    return Request(
        system=render_prompt(context.system),
        messages=tuple(map(mark_message, messages)),
        tools=tuple(tool.spec for tool in context.tools),
        max_output_tokens=_output_limit(_context_tokens(context), context.models.effort),
        seed=context.models.seed,
        effort=context.models.effort,
    )


async def _ask(context: SessionContext, candidate: Candidate) -> Reply:
    await _deliver_remarks(context, candidate)
    request = _make_request(context, candidate_messages(context.log.records, candidate.id))
    return await _complete(context, candidate, _without_foreign_data(context.model, request))


async def _deliver_remarks(context: SessionContext, candidate: Candidate) -> None:
    """Add findings, and the user's remarks with what they mention, to the conversation of every candidate."""
    for finding in context.findings.take():
        for name in active_candidates(context.log.records):
            add_user_message(context, candidate.model_copy(update={"id": name}), finding)
    for remark in context.remarks.take():
        attachments: tuple[Attachment, ...] = ()
        try:
            found = await asyncio.to_thread(_attach_mentions, context, candidate, remark)
        except UserError as error:
            context.log.warn(str(error))
        else:
            attachments, refusals = refuse_images(found, context.model)
            for refusal in refusals:
                context.log.warn(refusal)
        task = context.task.model_copy(update={"attachments": attachments})
        attached_text = render_prompt("attachments", task=task)
        for name in active_candidates(context.log.records):
            receiver = candidate.model_copy(update={"id": name})
            add_user_message(context, receiver, f"{REMARK_OPENING}{remark}")
            if attached_text:
                add_user_message(context, receiver, attached_text, task.images)


def _attach_mentions(context: SessionContext, candidate: Candidate, remark: str) -> tuple[Attachment, ...]:
    """Return what a remark mentions, as the candidate has changed it so far."""
    workspace = context.workspace(candidate)
    return attach_mentions(
        remark,
        workspace.root,
        workspace.index,
        deny_read=workspace.deny_read,
        checkout=context.repository.root,
    )


def _without_foreign_data(model: Model, request: Request) -> Request:
    """Remove what a model cannot take, since several may take part in a conversation.

    That is opaque data of other models' providers, and images if it accepts none.
    """

    def adapt(message: Message) -> Message:
        match message:
            case AssistantMessage() if message.model != model.name:
                return message.model_copy(update={"opaque": ""})
            case UserMessage() if message.images and not model.accepts_images:
                names = ", ".join(image.name for image in message.images)
                text = f"{message.text}\n\n[Not sent to you, because you accept no images: {names}]"
                return UserMessage(text=text)
        return message

    return request.model_copy(update={"messages": tuple(map(adapt, request.messages))})


async def _complete(context: SessionContext, candidate: Candidate, request: Request) -> Reply:
    model = context.model

    def show(delta: Delta) -> None:
        if delta.kind == "notice":
            context.log.warn(delta.text)
            return
        event_type = TextStreamed if delta.kind == "text" else ReasoningStreamed
        context.log.append(event_type(candidate=candidate.id, text=delta.text))

    def spend(usage: Usage) -> None:
        context.log.append(
            BudgetSpent(
                candidate=candidate.id, usage=usage, total=reservation.settle(usage), role=context.role
            )
        )

    async with (
        context.budget.reserve(request, price=model.maximum_cost_usd, role=context.role) as reservation,
        context.models.rate_limiter.requests,
    ):
        try:
            reply = await model.complete(reservation.request, show)
        except ModelError as error:
            if error.usage is None:
                reservation.release()
            elif error.usage.cost_usd is not None:
                spend(error.usage)
            raise
        context.log.append(
            MessageFinished(
                candidate=candidate.id, message=reply.message.model_copy(update={"model": model.name})
            )
        )
        spend(reply.usage)
    return reply


LOOP_SUMMARY = (
    "The model went round in circles: the same calls with the same answers, three times over, and no change."
)


class LoopDetector:
    """Counts the identical turns of one phase since files last changed."""

    def __init__(self) -> None:
        self._turns: dict[tuple[str, ...], int] = {}

    def record_turn(self, turn: tuple[str, ...], *, has_changed: bool) -> Literal["new", "again", "lost"]:
        """Record a turn (its calls and results) and return whether it is new, repeated, or repeated twice."""
        if has_changed:
            self._turns.clear()
            return "new"
        self._turns[turn] = self._turns.get(turn, 0) + 1
        if not turn or self._turns[turn] == 1:
            return "new"
        return "again" if self._turns[turn] == 2 else "lost"


def latest_call_results(records: Sequence[Record], candidate: str) -> tuple[str, ...]:
    """Return the calls of the newest reply with their results, sorted; empty if it has no call."""
    results: list[str] = []
    for message in reversed(candidate_messages(records, candidate)):
        match message:
            case ToolMessage(name=name, text=text):
                results.append(f"{name}: {text}")
            case AssistantMessage(calls=calls):
                return (
                    tuple(sorted([*results, *(f"{call.name}({call.arguments})" for call in calls)]))
                    if calls
                    else ()
                )
            case _:
                continue
    return ()
