"""Model port over pydantic_ai: streamed requests with error classification, retries and usage.

Loading it takes up to a second, since only here are the provider libraries loaded.
"""

import asyncio
import os
import random
import re
import ssl
import warnings
from base64 import b64decode
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
)
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache, cached_property, partial
from pathlib import Path
from typing import get_args

import httpx2
from pydantic import SecretStr, ValidationError
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import UnexpectedModelBehavior, UserError
from pydantic_ai.messages import (
    BinaryContent,
    InstructionPart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.profiles.anthropic import ANTHROPIC_THINKING_BUDGET_MAP
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from coder.core import ports
from coder.core.errors import ModelError
from coder.core.values import (
    AssistantMessage,
    Delta,
    Effort,
    Message,
    Reply,
    Request,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from coder.models.catalog import (
    GGUF,
    PORTS,
    GgufServer,
    ModelChoice,
    accepts_images,
    detect_tool_support,
    find_context_tokens,
    find_cost,
    find_key,
    find_list_price,
    is_loopback,
)
from coder.models.quirks import (
    NESTING_DEPTH,
    QuirkClient,
    ReplyLimits,
    ServerQuirks,
    limit_hooks,
    nesting_depth,
)
from coder.models.request_errors import (
    MALFORMED_STREAM_ERRORS,
    REQUEST_ERRORS,
    find_limit_error,
    translate_error,
)
from coder.models.text_protocol import ToolsUnsupported, read_calls, strip_tools, written_calls

ModelFactory = Callable[[httpx2.AsyncClient], Model]


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """Retry policy: number of tries and pauses.

    A retry repeats the whole request, which is safe because no reply is acted on before it is complete.
    """

    tries: int = 5
    first_pause_seconds: float = 1.0
    longest_pause_seconds: float = 60.0
    """If a server asks for a longer pause, the error is reported instead."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random

    def pause_seconds(self, failures: int, asked_seconds: float | None) -> float:
        """Return the seconds before the next try: what the server asked for, or an exponential backoff.

        Both are increased by up to a quarter, so that sessions that failed together do not retry together.
        """
        doubled = min(self.first_pause_seconds * 2.0 ** (failures - 1), self.longest_pause_seconds)
        return (doubled if asked_seconds is None else asked_seconds) * (1.0 + self.chance() / 4)


async def request_with_retries(
    ask: Callable[[], Awaitable[Reply]], *, policy: RetryPolicy, report: Callable[[str], None]
) -> Reply:
    """Ask until there is a reply; `report` is called with one line before each pause.

    Raises:
        ModelError: the failure is permanent, or the tries are exhausted.
    """
    failures = 0
    while True:
        try:
            return await ask()
        except ModelError as error:
            failures += 1
            requested_seconds = error.retry_after_seconds
            if not error.retryable or (
                requested_seconds is not None and requested_seconds > policy.longest_pause_seconds
            ):
                raise
            if failures == policy.tries:
                raise ModelError(
                    f"{error} Tried {failures} times.", retryable=True, retry_after_seconds=requested_seconds
                ) from error
            pause = policy.pause_seconds(failures, requested_seconds)
            report(f"{error} Trying again in {pause:.0f} s.")
        await policy.sleep(pause)


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
        tool_calling: bool | None = True,
    ) -> None:
        """Create a model; `server` is what answers inside this process, and lives as long as the model.

        `images` tells whether it accepts images; None: as far as its name or its server tells. `tool_calling`
        tells whether it calls tools natively; None: until the server rejects it.
        """
        self._images = images
        self._tool_calling = tool_calling
        self._choice = choice
        self._server = server
        self._wire = wire
        self._key = key
        self._patience = retry_policy or RetryPolicy()
        self._limits = limits or ReplyLimits()
        self._quirks = ServerQuirks()
        self.name = choice.name

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
        """Ask, with retries; in plain text where tools are not called natively.

        The usage sums all tries whose usage the provider reported.
        """
        if self._tool_calling is not False:
            try:
                return written_calls(await self._ask(request, on_delta), request)
            except ToolsUnsupported:
                if self._tool_calling:
                    raise
                self._tool_calling = False
        return read_calls(await self._ask(strip_tools(request), on_delta), request)

    async def _ask(self, request: Request, on_delta: Callable[[Delta], None]) -> Reply:
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
        is_responses = find_dialect(self._choice) == "responses"
        return _make_reply(message, response, self.name, is_incomplete_if_unknown=is_responses)

    async def _stream_response(
        self, request: Request, on_delta: Callable[[Delta], None], usages: list[Usage]
    ) -> ModelResponse:
        messages = to_model_messages(request.messages)
        parameters = ModelRequestParameters(
            function_tools=[
                ToolDefinition(  # never strict, which would rewrite the schema
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=dict(tool.parameters),
                    strict=False,
                )
                for tool in request.tools
            ],
            instruction_parts=[InstructionPart(content=request.system)] if request.system else [],
        )
        async with AsyncExitStack() as stack:
            http = await stack.enter_async_context(
                make_http_client(self._choice.base_url, self._limits, self._quirks)
            )
            model = self._wire(http)
            response_stream = model_request_stream(
                model,
                messages,
                model_request_parameters=parameters,
                model_settings=_model_settings(request, model.profile),
            )
            with _check_shape():
                stream = await stack.enter_async_context(response_stream)
            try:
                async for event in _checked_events(stream):
                    if delta := _delta(event):
                        on_delta(delta)
            finally:
                response = stream.get()
                usage = Usage(
                    input_tokens=response.usage.input_tokens,
                    cached_tokens=response.usage.cache_read_tokens,
                    output_tokens=response.usage.output_tokens,
                    cost_usd=_cost(response, self._choice),
                )
                usages.append(usage)
            return stream.get()


def _model_settings(request: Request, profile: ModelProfile) -> ModelSettings:
    """Return the settings of a request; retries are counted and shown by the caller.

    `cache` marks the stable prefix for providers that require it.
    """
    settings = ModelSettings(max_tokens=request.max_output_tokens, max_retries=0, cache=True)
    effort = _fitting_effort(request, profile)
    if effort is not None:
        settings["thinking"] = effort
    if request.seed is not None:
        settings["seed"] = request.seed
    return settings


def _fitting_effort(request: Request, profile: ModelProfile) -> Effort | None:
    """Return the effort of a request; None for models that do not think, or without room for it.

    Anthropic's older models reject a budget of thinking that is no smaller than the limit of the reply.
    """
    efforts: tuple[Effort, ...] = get_args(Effort)
    if request.effort is None or not (
        profile.get("supports_thinking") or profile.get("thinking_always_enabled")
    ):
        return None
    has_budget = "anthropic_supports_adaptive_thinking" in profile and not profile.get(
        "anthropic_supports_adaptive_thinking"
    )
    fitting = [
        effort
        for effort in efforts[: efforts.index(request.effort) + 1]
        if not has_budget or 2 * ANTHROPIC_THINKING_BUDGET_MAP[effort] <= request.max_output_tokens
    ]
    return fitting[-1] if fitting else None


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
    return None


FINISH_REASONS = {
    **dict.fromkeys(
        ("max_tokens", "max_output_tokens", "max_length", "model_length", "token_limit"), "length"
    ),
    **dict.fromkeys(("model_context_window_exceeded", "context_length", "truncated", "incomplete"), "length"),
    **dict.fromkeys(("safety", "recitation", "blocklist", "spii", "prohibited_content"), "content_filter"),
    **dict.fromkeys(("refusal", "sensitive", "guardrail_intervened", "content_filtered"), "content_filter"),
    **dict.fromkeys(
        ("error", "abort", "cancelled", "insufficient_system_resource", "network_error"), "error"
    ),
    **dict.fromkeys(("pause_turn", "malformed_function_call", "malformed_response", "other"), "error"),
    **dict.fromkeys(("too_many_tool_calls", "missing_thought_signature", "failed"), "error"),
}
"""Reasons that the library does not know: other providers' own, passed on by LiteLLM, OpenRouter and proxies.

Gemini says `OTHER` and `TOO_MANY_TOOL_CALLS`, Mistral `model_length`, Zhipu `sensitive` and
`network_error`, DeepSeek `insufficient_system_resource`.
"""


def _make_reply(
    message: AssistantMessage, response: ModelResponse, name: str, *, is_incomplete_if_unknown: bool
) -> Reply:
    """Return the reply with the reason of its end.

    The Responses protocol has one reason of complete replies, which the library knows: with any other, such
    as `steered`, the reply is incomplete.

    Raises:
        ModelError: the stream was cut, the provider failed, or the reply is empty.
    """
    details = response.provider_details or {}
    reason = details.get("finish_reason")
    if response.finish_reason is None and not reason:
        raise ModelError(f"The reply of {name} broke off in the middle.", retryable=True)
    finish = response.finish_reason or FINISH_REASONS.get(str(reason).strip().lower())
    if finish is None and is_incomplete_if_unknown:
        finish = "length"
    if finish == "error":
        raise ModelError(f"{name} failed while it was writing ({reason}).", retryable=True)
    if finish == "content_filter" or (details.get("refusal") and not message.calls):
        # OpenAI sends the text of a refusal in a separate field.
        text = message.text or str(details.get("refusal") or "")
        return Reply(message=message.model_copy(update={"text": text}), finish="refusal")
    if finish == "length":
        return Reply(message=message, finish="length")
    if message.calls:
        return Reply(message=message, finish="calls")
    if not message.text.strip():
        # Servers whose parser takes the whole reply for reasoning leave the answer in `reasoning_content`.
        thought = "".join(part.content for part in response.parts if isinstance(part, ThinkingPart))
        if thought.strip():
            return Reply(message=message.model_copy(update={"text": thought.strip()}))
        raise ModelError(f"The reply of {name} was empty.", retryable=True)
    return Reply(message=message)


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


CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 600.0
"""Timeout between two bytes; a server on a CPU takes minutes to read a long prompt."""
NO_KEY = "no-key"
"""Placeholder for servers that need no key, since the libraries require one."""
STRICT_STREAM_PROFILE = OpenAIModelProfile(
    openai_chat_streaming_requires_finish_reason=True, openai_supports_strict_tool_definition=False
)
"""Without the first setting, a stream that ends early counts as a complete reply."""
COMPATIBLE_PROFILE = OpenAIModelProfile(supports_thinking=True)
"""Any server may have a model that thinks; one that rejects the effort is asked again without it."""
OWN_DIALECTS = ("anthropic", "google", "azure", "vertex", "bedrock")
OPENAI_URL = "https://api.openai.com/v1"
LEGACY_LIMIT_PROFILE = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)


def make_http_client(base_url: str | None, limits: ReplyLimits, quirks: ServerQuirks) -> httpx2.AsyncClient:
    """Create an HTTP client for one request; requests to this machine bypass any proxy."""
    trusts_environment = base_url is None or not is_loopback(base_url)
    if trusts_environment:
        _respell_socks_proxies(os.environ)
    return QuirkClient(
        quirks=quirks,
        timeout=httpx2.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS),
        trust_env=trusts_environment,
        verify=_load_certificates(trusts_environment),
        event_hooks=limit_hooks(limits),
    )


def _respell_socks_proxies(environment: MutableMapping[str, str]) -> None:
    """Write `socks://`, as GNOME exports it, in the spelling that HTTP clients know."""
    for name, value in environment.items():
        if name.lower().endswith("_proxy") and value.lower().startswith("socks://"):
            environment[name] = f"socks5h{value[len('socks') :]}"


@cache
def _load_certificates(trusts_environment: bool) -> ssl.SSLContext:
    """Return the machine's trusted certificates, whose reading takes longer than all else of a request."""
    return httpx2.create_ssl_context(trust_env=trusts_environment)


def find_dialect(choice: ModelChoice) -> str:
    """Return the protocol of a model; that of other servers is the chat of OpenAI."""
    if choice.provider in ("openai", "openrouter") and choice.base_url is None:
        return "responses" if choice.provider == "openai" else "openrouter"
    return choice.provider if choice.provider in OWN_DIALECTS else "chat"


def make_model(
    http: httpx2.AsyncClient, dialect: str, *, choice: ModelChoice, secret: str = NO_KEY, url: str | None
) -> Model:
    """Create a model that is asked in a dialect at a URL; None: the provider's own.

    The library finds the project, the location and the credentials of Google Cloud. OpenAI stores nothing, so
    encrypted reasoning is sent with the conversation.

    Raises:
        UserError: credentials are missing.
    """
    name = choice.model
    match dialect:
        case "anthropic":
            from pydantic_ai.models.anthropic import AnthropicModel
            from pydantic_ai.providers.anthropic import AnthropicProvider

            anthropic = AnthropicProvider(api_key=secret, base_url=url, http_client=http)
            return AnthropicModel(name, provider=anthropic)
        case "google":
            from pydantic_ai.models.google import GoogleModel
            from pydantic_ai.providers.google import GoogleProvider

            google = GoogleProvider(api_key=secret, base_url=url, http_client=http)
            return GoogleModel(name, provider=google)
        case "vertex":
            from pydantic_ai.models.google import GoogleModel
            from pydantic_ai.providers.google_cloud import GoogleCloudProvider

            return GoogleModel(name, provider=GoogleCloudProvider(base_url=url, http_client=http))
        case "bedrock":
            return _make_bedrock_model(name, url)
        case "openrouter":
            from pydantic_ai.models.openrouter import OpenRouterModel
            from pydantic_ai.providers.openrouter import OpenRouterProvider

            router = OpenRouterProvider(api_key=secret, http_client=http)
            return OpenRouterModel(name, provider=router, profile=STRICT_STREAM_PROFILE)
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel, OpenAIResponsesModelSettings
    from pydantic_ai.providers.azure import AzureProvider
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    match dialect:
        case "responses":
            settings = OpenAIResponsesModelSettings(openai_store=False, openai_prompt_cache_diagnostics=False)
            openai = OpenAIProvider(api_key=secret, base_url=url or OPENAI_URL, http_client=http)
            return OpenAIResponsesModel(name, provider=openai, settings=settings)
        case "azure":
            azure = AzureProvider(azure_endpoint=url or "", api_key=secret, http_client=http)
            return OpenAIChatModel(name, provider=azure, profile=STRICT_STREAM_PROFILE)
    # OpenAI's own models reject the old name of the output limit; other servers may only know that.
    legacy = OpenAIModelProfile() if choice.provider == "openai" else LEGACY_LIMIT_PROFILE
    compatible = OpenAICompatibleProvider(
        "compatible",
        base_url=url or "",
        api_key=secret,
        http_client=http,
        profile=STRICT_STREAM_PROFILE | COMPATIBLE_PROFILE | legacy,
    )
    return OpenAIChatModel(name, provider=compatible)


def _make_bedrock_model(model: str, url: str | None) -> Model:
    """Create a model of Amazon Bedrock, which brings its own client.

    The library finds the region, the profile and the credentials. The limits of replies do not apply.

    Raises:
        UserError: it finds no credentials or no region.
    """
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError
    from pydantic_ai.models.bedrock import BedrockConverseModel
    from pydantic_ai.providers.bedrock import BedrockProvider

    # Retries are counted and shown by the caller.
    config = Config(
        read_timeout=SILENCE_SECONDS, connect_timeout=CONNECT_SECONDS, retries={"total_max_attempts": 1}
    )
    try:
        session = boto3.Session()
        if session.get_credentials() is None and not os.environ.get("AWS_BEARER_TOKEN_BEDROCK"):
            raise UserError("AWS finds no credentials: set AWS_PROFILE, or AWS_BEARER_TOKEN_BEDROCK.")
        client = session.client("bedrock-runtime", config=config, endpoint_url=url)
    except BotoCoreError as error:
        raise UserError(f"{error} (region: AWS_DEFAULT_REGION)") from error
    return BedrockConverseModel(model, provider=BedrockProvider(bedrock_client=client))


_SURROGATE = re.compile("[\ud800-\udfff]")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""Fixed time stamp, instead of the current time that pydantic_ai would set; it is never sent."""


def to_model_messages(messages: Iterable[Message]) -> list[ModelMessage]:
    """Return the conversation as pydantic_ai messages.

    All messages between two replies form one request, results of calls first.
    """
    conversation: list[ModelMessage] = []
    parts: list[ModelRequestPart] = []
    for message in messages:
        match message:
            case AssistantMessage():
                if parts:
                    conversation.append(ModelRequest(parts=parts, timestamp=EPOCH))
                    parts = []
                conversation.append(_to_response(message))
            case UserMessage(text=text, images=images):
                files = [
                    BinaryContent(b64decode(image.base64), media_type=image.media_type) for image in images
                ]
                content: list[UserContent] = [text, *files]
                parts.append(UserPromptPart(content=content if images else text, timestamp=EPOCH))
            case ToolMessage(call_id=call, name=name, text=text):
                # The outcome is always "success": some providers get other outcomes as escaped JSON.
                parts.append(ToolReturnPart(tool_name=name, content=text, tool_call_id=call, timestamp=EPOCH))
    if parts:
        conversation.append(ModelRequest(parts=parts, timestamp=EPOCH))
    return conversation


def to_assistant_message(response: ModelResponse) -> AssistantMessage:
    """Return the message of a response.

    What text and calls do not express (signed reasoning, ids) is kept in `opaque`.

    Raises:
        ModelError: arguments nest too deep, or contain a lone surrogate, which cannot be stored.
    """
    response = replace(response, parts=[_with_whole_characters(part) for part in response.parts])
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    calls = tuple(
        ToolCall(
            id=part.tool_call_id,
            name=part.tool_name,
            arguments=part.args if isinstance(part.args, str) else part.args_as_json_str(),
        )
        for part in response.parts
        if isinstance(part, ToolCallPart)
    )
    if too_deep := next((call for call in calls if nesting_depth(call.arguments) > NESTING_DEPTH), None):
        raise ModelError(
            f"The arguments of a call of {too_deep.name[:80]!r} nest deeper than {NESTING_DEPTH} levels.",
            retryable=True,
        )
    if _SURROGATE.search("".join(f"{call.id}{call.name}{call.arguments}" for call in calls)):
        raise ModelError("The reply holds half of a surrogate pair, which is no text.", retryable=True)
    is_plain = list(response.parts) == _plain_parts(text, calls)
    stored: list[ModelMessage] = [replace(response, usage=RequestUsage())]
    opaque = "" if is_plain else ModelMessagesTypeAdapter.dump_json(stored, exclude_none=True).decode()
    return AssistantMessage(text=text, calls=calls, opaque=opaque)


def _with_whole_characters(part: ModelResponsePart) -> ModelResponsePart:
    """Return a text with the halves of surrogate pairs joined, as a server may stream them; lone ones go."""
    if not isinstance(part, TextPart | ThinkingPart) or not _SURROGATE.search(part.content):
        return part
    content = part.content.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return replace(part, content=content)


def _plain_parts(text: str, calls: tuple[ToolCall, ...]) -> list[ModelResponsePart]:
    text_parts: list[ModelResponsePart] = [TextPart(content=text)] if text else []
    return [
        *text_parts,
        *(ToolCallPart(tool_name=call.name, args=call.arguments, tool_call_id=call.id) for call in calls),
    ]


def _to_response(message: AssistantMessage) -> ModelResponse:
    if message.opaque:
        try:
            responses = ModelMessagesTypeAdapter.validate_json(message.opaque)
        except ValidationError:
            responses = []  # written by another adapter, such as the text protocol: use text and calls
        if len(responses) == 1 and isinstance(responses[0], ModelResponse):
            return responses[0]
    return ModelResponse(parts=_plain_parts(message.text, message.calls), timestamp=EPOCH)


def open_model(
    choice: ModelChoice,
    *,
    environment: Mapping[str, str],
    tool_calling: bool | None = None,
    images: bool | None = None,
    retry_policy: RetryPolicy | None = None,
) -> ports.Model:
    """Create a Model for a choice; no request that costs is sent before its first use.

    Args:
        tool_calling: False for models that cannot call tools; None detects it: a llama.cpp on this machine is
            asked, others are tried until they refuse.
        images: whether the model accepts images; None: as far as its name or its server tells.
    """
    # Warnings about fields that the libraries do not know or miss are of no use to the user.
    warnings.filterwarnings("ignore", category=Warning, module=r"(google\.genai|pydantic_ai)\b")
    key = find_key(choice.provider, environment)
    server = GgufServer(Path(choice.model)) if choice.provider == GGUF else None
    if server is not None:
        choice = choice.model_copy(update={"base_url": server.base_url})
    if tool_calling is None and choice.base_url and is_loopback(choice.base_url):
        tool_calling = detect_tool_support(choice.base_url)
    return ProviderModel(
        choice,
        partial(
            make_model,
            dialect=find_dialect(choice),
            choice=choice,
            secret=key.get_secret_value() if key else NO_KEY,
            url=choice.base_url,
        ),
        key=key,
        retry_policy=retry_policy,
        server=server,
        images=images,
        tool_calling=tool_calling,
    )
