"""Model port over pydantic_ai: streamed requests with error classification, retries and usage."""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from decimal import Decimal
from functools import cached_property

from pydantic import SecretStr
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import (
    InstructionPart,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from coder.core.errors import ModelError
from coder.core.messages import AssistantMessage, Delta, Reply, Request, Usage
from coder.models.catalog import ModelChoice
from coder.models.gguf import PROVIDER as GGUF
from coder.models.gguf import GgufServer
from coder.models.images import accepts_images
from coder.models.prices import find_context_tokens, find_cost, find_list_price
from coder.models.servers import PORTS, is_loopback
from coder.models.wire.clients import ModelFactory, make_http_client
from coder.models.wire.errors import MALFORMED_STREAM_ERRORS, REQUEST_ERRORS, translate_error
from coder.models.wire.limits import ReplyLimits, find_limit_error
from coder.models.wire.retry import RetryPolicy, request_with_retries
from coder.models.wire.translate import to_assistant_message, to_model_messages, to_tool_definition


class ProviderModel:
    """A model of a provider.

    Deltas are for display only: after a retry, the text of the reply starts again.
    """

    def __init__(
        self,
        choice: ModelChoice,
        wire: ModelFactory,
        *,
        key: SecretStr | None = None,
        retry_policy: RetryPolicy | None = None,
        limits: ReplyLimits | None = None,
        server: GgufServer | None = None,
        images: bool | None = None,
    ) -> None:
        """Create a model; `server` is what answers inside this process, and lives as long as the model.

        `images` tells whether it accepts images; None: as far as its name or its server tells.
        """
        self._images = images
        self._choice = choice
        self._server = server
        self._wire = wire
        self._key = key
        self._patience = retry_policy or RetryPolicy()
        self._limits = limits or ReplyLimits()

    @property
    def name(self) -> str:
        return self._choice.name

    @property
    def context_tokens(self) -> int | None:
        return None if _is_local(self._choice) else find_context_tokens(self._choice)

    @cached_property
    def accepts_images(self) -> bool:
        return accepts_images(self._choice) if self._images is None else self._images

    def maximum_cost_usd(self, input_tokens: int, output_tokens: int) -> Decimal | None:
        """Return 0 for a model on this machine; else the list price with all input billed as new."""
        return (
            Decimal(0)
            if _is_local(self._choice)
            else find_list_price(self._choice, input_tokens, output_tokens)
        )

    async def complete(self, request: Request, on_delta: Callable[[Delta], None]) -> Reply:
        """Ask, with retries; the usage sums all tries whose usage the provider reported."""
        usages: list[Usage] = []
        try:
            reply = await request_with_retries(
                lambda: self._request(request, on_delta, usages),
                policy=self._patience,
                report=lambda line: on_delta(Delta(kind="notice", text=line)),
            )
        except ModelError as error:
            error.usage = _total_usage(usages) if usages else None
            raise
        return reply.model_copy(update={"usage": _total_usage(usages)})

    async def _request(
        self, request: Request, on_delta: Callable[[Delta], None], usages: list[Usage]
    ) -> Reply:
        try:
            response = await self._stream_response(request, on_delta, usages)
            with _check_shape():
                message = to_assistant_message(response)
        except REQUEST_ERRORS as error:
            if exceeded := find_limit_error(error):
                raise exceeded from error
            raise translate_error(error, choice=self._choice, key=self._key) from error
        return _make_reply(message, response, self.name)

    async def _stream_response(
        self, request: Request, on_delta: Callable[[Delta], None], usages: list[Usage]
    ) -> ModelResponse:
        messages = to_model_messages(request.messages)
        parameters = ModelRequestParameters(
            function_tools=[to_tool_definition(tool) for tool in request.tools],
            instruction_parts=[InstructionPart(content=request.system)] if request.system else [],
        )
        # Retries are counted and shown here. `cache` marks the stable prefix for providers that require it.
        settings = ModelSettings(max_tokens=request.max_output_tokens, max_retries=0, cache=True)
        if request.temperature is not None:
            settings["temperature"] = request.temperature
        if request.seed is not None:
            settings["seed"] = request.seed
        if request.grammar:
            settings["extra_body"] = {"grammar": request.grammar}
        async with AsyncExitStack() as stack:
            http = await stack.enter_async_context(make_http_client(self._choice.base_url, self._limits))
            response_stream = model_request_stream(
                self._wire(http), messages, model_request_parameters=parameters, model_settings=settings
            )
            with _check_shape():
                stream = await stack.enter_async_context(response_stream)
            try:
                async for event in _checked_events(stream):
                    if delta := _delta(event):
                        on_delta(delta)
            finally:
                usages.append(_usage(stream.get(), self._choice))
            return stream.get()


@contextmanager
def _check_shape() -> Iterator[None]:
    """Treat exceptions of the SDKs in this block as a malformed response of the provider."""
    try:
        yield
    except MALFORMED_STREAM_ERRORS as error:
        raise UnexpectedModelBehavior(f"{type(error).__name__}: {error}") from error


async def _checked_events(
    stream: AsyncIterable[ModelResponseStreamEvent],
) -> AsyncIterator[ModelResponseStreamEvent]:
    """Yield the events of the stream, checking only the stream itself and not their use."""
    with _check_shape():
        async for event in stream:
            yield event


def _delta(event: ModelResponseStreamEvent) -> Delta | None:
    match event:
        case (
            PartStartEvent(part=TextPart(content=text))
            | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
        ) if text:
            return Delta(kind="text", text=text)
        case (
            PartStartEvent(part=ThinkingPart(content=text))
            | PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text))
        ) if text:
            return Delta(kind="reasoning", text=text)
        case _:
            return None


def _make_reply(message: AssistantMessage, response: ModelResponse, name: str) -> Reply:
    """Return the reply with the reason of its end.

    Raises:
        ModelError: the stream was cut, the provider failed, or the reply is empty.
    """
    reason = (response.provider_details or {}).get("finish_reason")
    if response.finish_reason is None and not reason:
        raise ModelError(f"The reply of {name} broke off in the middle.", retryable=True)
    if response.finish_reason == "error":
        raise ModelError(f"{name} failed while it was writing ({reason}).", retryable=True)
    if response.finish_reason == "content_filter":
        return Reply(message=_with_refusal(message, response), finish="refusal")
    if response.finish_reason == "length":
        return Reply(message=message, finish="length")
    if message.calls:
        return Reply(message=message, finish="calls")
    if not message.text.strip():
        raise ModelError(f"The reply of {name} was empty.", retryable=True)
    return Reply(message=message)


def _with_refusal(message: AssistantMessage, response: ModelResponse) -> AssistantMessage:
    """Return the message with the text of a refusal, which OpenAI sends in a separate field."""
    refusal = (response.provider_details or {}).get("refusal")
    return (
        message
        if message.text or not isinstance(refusal, str)
        else message.model_copy(update={"text": refusal})
    )


def _usage(response: ModelResponse, choice: ModelChoice) -> Usage:
    usage = response.usage
    return Usage(
        input_tokens=usage.input_tokens,
        cached_tokens=usage.cache_read_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=_cost(response, choice),
    )


def _is_local(choice: ModelChoice) -> bool:
    return bool(choice.provider in (*PORTS, GGUF) and choice.base_url and is_loopback(choice.base_url))


def _cost(response: ModelResponse, choice: ModelChoice) -> Decimal | None:
    """Return the reported cost, else that of the price list; 0 for a model on this machine.

    The list is asked for the model that was chosen before the one that the reply names: behind another base
    URL the library knows no provider, and what was reserved must be booked.
    """
    if _is_local(choice):
        return Decimal(0)
    reported = (response.provider_details or {}).get("cost")
    if isinstance(reported, int | float):
        return Decimal(str(reported))
    if (cost := find_cost(choice, response.usage)) is not None:
        return cost
    try:
        return response.cost().total_price if response.model_name else None
    except (LookupError, ValueError):
        return None


def _total_usage(usages: list[Usage]) -> Usage:
    """Sum the usage of all tries; an unknown price makes the total unknown."""
    costs = [usage.cost_usd for usage in usages]
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in usages),
        cached_tokens=sum(usage.cached_tokens for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
        cost_usd=None if None in costs else sum((cost for cost in costs if cost is not None), Decimal(0)),
    )
