"""pydantic_ai models for each provider, each on an HTTP client that is closed after one request."""

import os
from collections.abc import Callable
from functools import partial

import httpx2
from pydantic import SecretStr
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model
from pydantic_ai.profiles.openai import OpenAIModelProfile

from coder.models.catalog import ModelChoice
from coder.models.servers import is_loopback
from coder.models.wire.limits import ReplyLimits, limit_hooks

ModelFactory = Callable[[httpx2.AsyncClient], Model]

CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 600.0
"""Timeout between two bytes; a server on a CPU takes minutes to read a long prompt."""

NO_KEY = "no-key"
"""Placeholder for servers that need no key, since the libraries require one."""

STRICT_STREAM_PROFILE = OpenAIModelProfile(
    openai_chat_streaming_requires_finish_reason=True, openai_supports_strict_tool_definition=False
)
"""Without the first setting, a stream that ends early counts as a complete reply."""

LEGACY_LIMIT_PROFILE = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)


def make_http_client(base_url: str | None, limits: ReplyLimits) -> httpx2.AsyncClient:
    """Create an HTTP client for one request; requests to this machine bypass any proxy."""
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS),
        trust_env=base_url is None or not is_loopback(base_url),
        event_hooks=limit_hooks(limits),
    )


def model_factory(choice: ModelChoice, key: SecretStr | None) -> ModelFactory:
    """Return a factory of the model in the provider's dialect.

    Unknown providers use OpenAI's chat completions.
    """
    secret = key.get_secret_value() if key else NO_KEY
    match choice.provider, choice.base_url:
        case "anthropic", url:
            return partial(make_anthropic_model, model=choice.model, secret=secret, url=url)
        case "google", url:
            return partial(make_google_model, model=choice.model, secret=secret, url=url)
        case "azure", str(url):
            return partial(make_azure_model, model=choice.model, secret=secret, url=url)
        case "vertex", url:
            return partial(make_vertex_model, model=choice.model, url=url)
        case "bedrock", url:
            return partial(make_bedrock_model, model=choice.model, url=url)
        case "openai", None:
            return partial(make_openai_model, model=choice.model, secret=secret)
        case "openrouter", None:
            return partial(make_openrouter_model, model=choice.model, secret=secret)
        case provider, url:
            # OpenAI's own models reject the old name of the output limit; other servers may only know that.
            profile = (
                STRICT_STREAM_PROFILE
                if provider == "openai"
                else STRICT_STREAM_PROFILE | LEGACY_LIMIT_PROFILE
            )
            return partial(make_chat_model, model=choice.model, secret=secret, url=url or "", profile=profile)


def make_anthropic_model(http: httpx2.AsyncClient, *, model: str, secret: str, url: str | None) -> Model:
    """Create a model for Anthropic's messages API."""
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    return AnthropicModel(model, provider=AnthropicProvider(api_key=secret, base_url=url, http_client=http))


def make_google_model(http: httpx2.AsyncClient, *, model: str, secret: str, url: str | None) -> Model:
    """Create a model for Google's Gemini API."""
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel(model, provider=GoogleProvider(api_key=secret, base_url=url, http_client=http))


def make_azure_model(http: httpx2.AsyncClient, *, model: str, secret: str, url: str) -> Model:
    """Create a model for a deployment of Azure OpenAI, by its v1 API."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.azure import AzureProvider

    provider = AzureProvider(azure_endpoint=url, api_key=secret, http_client=http)
    return OpenAIChatModel(model, provider=provider, profile=STRICT_STREAM_PROFILE)


def make_vertex_model(http: httpx2.AsyncClient, *, model: str, url: str | None) -> Model:
    """Create a model of Google Cloud (Vertex AI).

    The library finds the project, the location and the application's default credentials.
    """
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google_cloud import GoogleCloudProvider

    return GoogleModel(model, provider=GoogleCloudProvider(base_url=url, http_client=http))


def make_bedrock_model(_http: httpx2.AsyncClient, *, model: str, url: str | None) -> Model:
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


def make_openai_model(
    http: httpx2.AsyncClient, *, model: str, secret: str, url: str = "https://api.openai.com/v1"
) -> Model:
    """Create a model for OpenAI's responses API.

    Nothing is stored there, so encrypted reasoning is sent with the conversation.
    """
    from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(api_key=secret, base_url=url, http_client=http)
    settings = OpenAIResponsesModelSettings(openai_store=False, openai_prompt_cache_diagnostics=False)
    return OpenAIResponsesModel(model, provider=provider, settings=settings)


def make_openrouter_model(http: httpx2.AsyncClient, *, model: str, secret: str) -> Model:
    """Create a model for OpenRouter, which also reports the cost of each reply."""
    from pydantic_ai.models.openrouter import OpenRouterModel
    from pydantic_ai.providers.openrouter import OpenRouterProvider

    provider = OpenRouterProvider(api_key=secret, http_client=http)
    return OpenRouterModel(model, provider=provider, profile=STRICT_STREAM_PROFILE)


def make_chat_model(
    http: httpx2.AsyncClient, *, model: str, secret: str, url: str, profile: OpenAIModelProfile
) -> Model:
    """Create a model for any server with OpenAI's chat completions."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    provider = OpenAICompatibleProvider(
        "compatible", base_url=url, api_key=secret, http_client=http, profile=profile
    )
    return OpenAIChatModel(model, provider=provider)
