"""One turn: one request to the model and its whole reply."""

from coder.core.candidate import Candidate
from coder.core.errors import ModelError
from coder.core.events import BudgetSpent, ContextCompacted, MessageFinished, ReasoningStreamed, TextStreamed
from coder.core.marking import marked
from coder.core.messages import Delta, Reply, Request, UserMessage
from coder.core.state import conversation
from coder.loop.kit import Kit


def say(kit: Kit, candidate: Candidate, text: str) -> None:
    """Add words of the harness to the conversation, with no secret in what they quote."""
    kit.log.append(MessageFinished(candidate=candidate.id, message=UserMessage(text=kit.secrets.masked(text))))


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
    def show(delta: Delta) -> None:
        streamed = TextStreamed if delta.kind == "text" else ReasoningStreamed
        kit.log.append(streamed(candidate=candidate.id, text=delta.text))

    request = Request(
        system=kit.prompts.render("system"),
        messages=tuple(map(marked, conversation(kit.log.records, candidate.id))),
        tools=tuple(tool.spec for tool in kit.tools),
    )
    reply = await kit.model.complete(kit.purse.admit(request), show)
    kit.log.append(MessageFinished(candidate=candidate.id, message=reply.message))
    kit.log.append(BudgetSpent(candidate=candidate.id, usage=reply.usage, total=kit.purse.spend(reply.usage)))
    return reply
