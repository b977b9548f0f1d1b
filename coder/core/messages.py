"""What is said between the harness and a model, in no provider's dialect."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field

from coder.core.values.base import Value


class ToolCall(Value):
    """One call as the model wrote it."""

    id: str
    name: str
    arguments: str
    """The raw JSON text; it may be malformed, which is for the toolbox to say."""


class UserMessage(Value):
    """Words of the person or of the harness."""

    role: Literal["user"] = "user"
    text: str


class AssistantMessage(Value):
    """One whole reply of the model."""

    role: Literal["assistant"] = "assistant"
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    opaque: str = ""
    """What the provider wants back unchanged (signed reasoning and the like), as JSON that only its adapter reads."""
    model: str = ""
    """Whose reply it is, as `provider:name`; nobody else gets to see what is opaque in it."""


class ToolMessage(Value):
    """The answer to one call."""

    role: Literal["tool"] = "tool"
    call_id: str
    name: str
    text: str
    ok: bool = True


Message = Annotated[UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]


class ToolSpec(Value):
    """A tool as the model sees it."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """A JSON schema of type object; arguments not named there are refused."""


class Usage(Value):
    """What one request cost."""

    input_tokens: int = 0
    """All tokens sent, cached ones included."""
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal | None = None
    """None: the price is not known, which is never shown as zero."""


class Spent(Value):
    """Totals of a session so far."""

    requests: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal | None = Decimal(0)
    """None once a request's price was not known."""


class Request(Value):
    """One question to a model."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int = 16_384
    temperature: float | None = None
    """None is the provider's own."""
    seed: int | None = None
    """Asks the providers that know one for the same draw each time."""


class Reply(Value):
    """One answer."""

    message: AssistantMessage
    usage: Usage = Usage()
    finish: Literal["stop", "calls", "length", "refusal"] = "stop"


class Delta(Value):
    """A piece of a reply while it is being written."""

    kind: Literal["text", "reasoning"]
    text: str
