"""Messages between the harness and a model, independent of any provider."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field

from coder.core.values import Value


class ToolCall(Value):
    """One call as the model wrote it."""

    id: str
    name: str
    arguments: str
    """The raw JSON text; it may be malformed, which the toolbox reports."""


REMARK_OPENING = "The person adds: "
"""Beginning of the message in which a model receives what the user says on the way."""


class Image(Value):
    """A picture that the user attached."""

    name: str
    media_type: str
    """Such as `image/png`."""
    base64: str
    """Its bytes."""


class UserMessage(Value):
    """Text from the user or from the harness."""

    role: Literal["user"] = "user"
    text: str
    images: tuple[Image, ...] = ()


class AssistantMessage(Value):
    """One whole reply of the model."""

    role: Literal["assistant"] = "assistant"
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    opaque: str = ""
    """Data that the provider wants back unchanged (such as signed reasoning), as JSON that only its adapter
    reads."""
    model: str = ""
    """The model that replied, as `provider:name`; `opaque` is sent to no other model."""


class ToolMessage(Value):
    role: Literal["tool"] = "tool"
    call_id: str
    name: str
    text: str
    ok: bool = True


DialogueMessage = Annotated[UserMessage | AssistantMessage, Field(discriminator="role")]
"""A message of a conversation that answers no call."""
Message = Annotated[UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]


class ToolSpec(Value):
    """A tool as the model sees it."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """A JSON schema of type object; arguments it does not name are refused."""


class Usage(Value):
    input_tokens: int = 0
    """All tokens sent, cached ones included."""
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal | None = None
    """None: the price is not known, which is never shown as zero."""


class UsageTotals(Value):
    """Totals of a session so far."""

    requests: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal | None = Decimal(0)
    """None once a request's price was not known."""

    def plus(self, more: "UsageTotals | Usage") -> "UsageTotals":
        """Return the sum with other totals, or with one request; unknown prices make it unknown."""
        is_known = self.cost_usd is not None and more.cost_usd is not None
        return UsageTotals(
            requests=self.requests + (1 if isinstance(more, Usage) else more.requests),
            input_tokens=self.input_tokens + more.input_tokens,
            cached_tokens=self.cached_tokens + more.cached_tokens,
            output_tokens=self.output_tokens + more.output_tokens,
            cost_usd=(self.cost_usd or Decimal(0)) + (more.cost_usd or Decimal(0)) if is_known else None,
        )


Effort = Literal["low", "medium", "high"]


class Request(Value):
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int = 16_384
    seed: int | None = None
    """Sampling seed, for the providers that support one."""
    effort: Effort | None = None
    """Reasoning effort of the model; None is the default of its provider."""


class Reply(Value):
    message: AssistantMessage
    usage: Usage = Usage()
    finish: Literal["stop", "calls", "length", "refusal"] = "stop"


class Delta(Value):
    """A piece of a reply while it is being written, or a notice about the request, such as a retry."""

    kind: Literal["text", "reasoning", "notice"]
    text: str
