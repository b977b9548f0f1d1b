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
from coder.core.messages import AssistantMessage, Delta, Reply, Request, Usage, UserMessage
from coder.core.ports.model import Model
from coder.core.state import conversation
from coder.core.values.candidate import Candidate
from coder.permissions.data_marking import marked
from coder.session.context import Kit


def say(kit: Kit, candidate: Candidate, text: str) -> None:
    """Add words of the harness to the conversation, with no secret in what they quote."""
    kit.log.append(
        MessageFinished(candidate=candidate.id, message=UserMessage(text=kit.secrets.masked(text)))
    )


async def turn(kit: Kit, candidate: Candidate) -> Reply:
    """Ask the model for the next reply.

    A conversation that outgrew the model's context is compacted once, then asked again.

    Raises:
        LimitReached: before the request, if it could overspend.
        ModelError: no usable reply could be had.
    """
    try:
        return await _ask(kit, candidate)
    except ModelError as error:
        if not error.context_overflow:
            raise
    kit.log.append(ContextCompacted(candidate=candidate.id, before=len(kit.log.records)))
    return await _ask(kit, candidate)


async def _ask(kit: Kit, candidate: Candidate) -> Reply:
    """Ask the first model that answers; one that is down is not asked again."""
    request = Request(
        system=kit.prompts.render(kit.system),
        messages=tuple(map(marked, conversation(kit.log.records, candidate.id))),
        tools=tuple(tool.spec for tool in kit.tools),
        temperature=kit.temperature,
        seed=kit.seed,
    )
    while True:
        model, *others = kit.speakers
        try:
            return await _complete(kit, candidate, model, _for(model, request))
        except ModelError as error:
            if error.context_overflow or not others:
                raise
            kit.down.add(model.name)
            kit.log.append(Warned(text=f"{error} {others[0].name} goes on."))


def _for(model: Model, request: Request) -> Request:
    """The request without what another model's provider wants back: a conversation may have had several."""
    own = (
        message.model_copy(update={"opaque": ""})
        if isinstance(message, AssistantMessage) and message.model != model.name
        else message
        for message in request.messages
    )
    return request.model_copy(update={"messages": tuple(own)})


async def _complete(kit: Kit, candidate: Candidate, model: Model, request: Request) -> Reply:
    def show(delta: Delta) -> None:
        streamed = TextStreamed if delta.kind == "text" else ReasoningStreamed
        kit.log.append(streamed(candidate=candidate.id, text=delta.text))

    def spend(usage: Usage) -> None:
        kit.log.append(
            BudgetSpent(candidate=candidate.id, usage=usage, total=reserved.settle(usage), role=kit.role)
        )

    async with (
        kit.purse.reserved(request, price=model.dearest, role=kit.role) as reserved,
        kit.pace.request(),
    ):
        try:
            reply = await model.complete(reserved.request, show)
        except ModelError as error:
            if error.usage is None:
                reserved.release()
            elif error.usage.cost_usd is not None:
                spend(error.usage)
            raise
        kit.log.append(
            MessageFinished(
                candidate=candidate.id, message=reply.message.model_copy(update={"model": model.name})
            )
        )
        spend(reply.usage)
    return reply
