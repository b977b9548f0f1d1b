"""One turn: one request to the model and its whole reply."""

from coder.core.errors import ModelError
from coder.core.events import (
    BudgetSpent,
    ContextCompacted,
    MessageFinished,
    ReasoningStreamed,
    TextStreamed,
    Warned,
)
from coder.core.messages import REMARK_OPENING, AssistantMessage, Delta, Reply, Request, Usage, UserMessage
from coder.core.ports.model import Model
from coder.core.state import active_candidates, candidate_messages
from coder.core.values.candidate import Candidate
from coder.permissions.data_marking import mark_message
from coder.session.context import SessionContext


def add_user_message(context: SessionContext, candidate: Candidate, text: str) -> None:
    """Add a message of the harness to the conversation, with secrets masked."""
    context.log.append(
        MessageFinished(candidate=candidate.id, message=UserMessage(text=context.secrets.mask(text)))
    )


async def run_turn(context: SessionContext, candidate: Candidate) -> Reply:
    """Ask the model for the next reply.

    A conversation that exceeds the model's context is compacted once, then sent again.

    Raises:
        LimitReached: before the request, if it could exceed a limit.
        ModelError: no usable reply was received.
    """
    try:
        return await _ask(context, candidate)
    except ModelError as error:
        if not error.context_overflow:
            raise
    context.log.append(ContextCompacted(candidate=candidate.id, before=len(context.log.records)))
    return await _ask(context, candidate)


async def _ask(context: SessionContext, candidate: Candidate) -> Reply:
    """Ask the first model that answers; a model that is down is not asked again."""
    _deliver_remarks(context, candidate)
    request = Request(
        system=context.prompts.render(context.system),
        messages=tuple(map(mark_message, candidate_messages(context.log.records, candidate.id))),
        tools=tuple(tool.spec for tool in context.tools),
        temperature=context.temperature,
        seed=context.seed,
    )
    while True:
        model, *others = context.available_models
        try:
            return await _complete(context, candidate, model, _without_foreign_data(model, request))
        except ModelError as error:
            if error.context_overflow or not others:
                raise
            context.failed_models.add(model.name)
            context.log.append(Warned(text=f"{error} {others[0].name} goes on."))


def _deliver_remarks(context: SessionContext, candidate: Candidate) -> None:
    """Add the user's remarks to the conversation of every candidate."""
    for remark in context.remarks.take():
        for name in active_candidates(context.log.records):
            add_user_message(context, candidate.model_copy(update={"id": name}), f"{REMARK_OPENING}{remark}")


def _without_foreign_data(model: Model, request: Request) -> Request:
    """Remove opaque data of other models' providers, since several may have taken part in a conversation."""
    messages = (
        message.model_copy(update={"opaque": ""})
        if isinstance(message, AssistantMessage) and message.model != model.name
        else message
        for message in request.messages
    )
    return request.model_copy(update={"messages": tuple(messages)})


async def _complete(context: SessionContext, candidate: Candidate, model: Model, request: Request) -> Reply:
    def show(delta: Delta) -> None:
        if delta.kind == "notice":
            context.log.append(Warned(text=delta.text))
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
        context.rate_limiter.request_slot(),
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
