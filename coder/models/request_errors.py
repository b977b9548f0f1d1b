"""Errors of model providers, as one line with what to do."""

import json
import re
from socket import gaierror
from urllib.parse import urlsplit

import httpx2
from pydantic import SecretStr
from pydantic_ai import exceptions as wrong

from coder.core.errors import ModelError
from coder.models.catalog import KEY_VARIABLES, ModelChoice, is_loopback
from coder.models.text_protocol import ToolsUnsupported
from coder.permissions.secrets import MIN_OWN_LENGTH

REQUEST_ERRORS = (wrong.AgentRunError, wrong.UserError, httpx2.HTTPError)
"""All exceptions with which a request fails through no bug of ours."""
MALFORMED_STREAM_ERRORS = (ValueError, TypeError, AttributeError, LookupError, AssertionError, RecursionError)
"""Exceptions of the SDKs for stream events that are JSON but not of the documented shape."""
QUOTED_CHARACTERS = 200
TOO_LARGE = 413
RATE_LIMIT_SECONDS = 20.0
"""Pause for a rate limit whose reply has no `Retry-After`."""
TRANSIENT_ERROR = re.compile(
    r"overload|loading|rate.?limit|time.?out|temporar|try again|retry|unavailable|busy|server.?error|internal"
    r"|\"(?:code|status)\": \"?(?:408|409|425|429|5\d\d)\b",
    re.I,
)
"""An error sent in a reply that began as a success, which may pass."""
CONTEXT_ADVICE = (
    "Start the server with a larger context (Ollama: OLLAMA_CONTEXT_LENGTH), or take another with --model."
)
OVERFLOW_ERROR = re.compile(
    r"context (size|length|window)|too many tokens|prompt is too long"
    r"|maximum number of tokens|exceeds? the (available|model)",
    re.I,
)
NO_TOOLS_ERROR = re.compile(
    r"does not support (tools|tool|function)|endpoints found that support tool"
    r"|tools? (param|choice) requires (--jinja|--enable-auto)"
    r"|(tool|function)[ _-]?(use|calls?|calling) (is|are) not (enabled|supported|available)",
    re.I,
)


def translate_error(error: Exception, *, choice: ModelChoice, key: SecretStr | None) -> ModelError:
    message = _provider_message(error, key.get_secret_value() if key else "")
    # Checked first, since servers use different codes for it: Ollama 400, OpenRouter 404, llama.cpp 500.
    no_tools = (
        ToolsUnsupported(
            f"{choice.name} does not support tool calling: {message} Set tool_calling = false in your "
            "settings."
        )
        if NO_TOOLS_ERROR.search(message)
        else None
    )
    return no_tools or _permanent_error(error, choice, message) or _transient_error(error, choice, message)


def _permanent_error(error: Exception, choice: ModelChoice, message: str) -> ModelError | None:
    """Return the error for a permanent failure, or None if the failure may be temporary."""
    name = choice.name
    match error:
        case wrong.ModelAuthenticationError():
            variables = " or ".join(KEY_VARIABLES.get(choice.provider, ())) or "the server's own settings"
            return ModelError(f"{name} refused the key or its rights: {message} Check {variables}.")
        case wrong.ModelContextWindowExceededError():
            return _overflow_error(name, message)
        case wrong.ModelNotFoundError():
            return ModelError(
                f"{name} was not found: {message} Check the name, and the address if you gave one; "
                "--model takes another."
            )
        case wrong.ModelQuotaExceededError():
            return ModelError(
                f"The account behind {name} is out of credit or quota: {message} Top it up, or take "
                "another with --model."
            )
        case wrong.ModelConnectionError(phase="connect") if choice.base_url and is_loopback(choice.base_url):
            return ModelError(
                f"Nothing answers at {choice.base_url}. Start the server of {name} there, or take "
                "another with --model."
            )
        case wrong.ModelConnectionError() if choice.base_url and _is_unresolved(error):
            return ModelError(f"The host of {choice.base_url} cannot be found. Check it, and the network.")
        case wrong.UserError():
            return ModelError(f"{name} cannot be asked this way: {message}")
    return None


def _is_unresolved(error: BaseException | None) -> bool:
    """Return whether the name of a host could not be resolved, by the causes of an error."""
    while error is not None:
        if isinstance(error, gaierror):
            return True
        error = error.__cause__ or error.__context__
    return False


def _transient_error(error: Exception, choice: ModelChoice, message: str) -> ModelError:
    """Return the error for a failure that may be temporary."""
    name = choice.name
    match error:
        case wrong.ModelRateLimitError():
            pause = RATE_LIMIT_SECONDS if error.retry_after is None else error.retry_after
            return ModelError(
                f"{name} asks for a pause of {pause:.0f} s: {message}",
                retryable=True,
                retry_after_seconds=pause,
            )
        case wrong.ModelUnavailableError() | wrong.ModelServerError():
            return ModelError(
                f"{name} failed on its side: {message}",
                retryable=True,
                retry_after_seconds=error.retry_after,
            )
        case wrong.ModelTimeoutError() | wrong.ModelRequestTimeout() | httpx2.TimeoutException():
            return ModelError(f"{name} did not answer in time: {message}", retryable=True)
        case wrong.ModelConnectionError() | httpx2.TransportError():
            proxy = _proxy_of(choice)
            way = f", by way of the proxy {proxy}" if proxy else ""
            return ModelError(f"The connection to {name} broke{way}: {message}", retryable=True)
        case wrong.ModelAPIError() if "finish_reason" in message:
            return ModelError(f"The reply of {name} broke off in the middle.", retryable=True)
        case wrong.ModelRequestRejectedError() | wrong.ModelHTTPError():
            return _rejection_error(name, error, message)
        case wrong.ModelAPIError() if error.__cause__ is not None and _is_refusal(error.__cause__):
            return ModelError(f"{name} refused the request: {message}")
    return ModelError(f"{name} sent something unreadable: {message}", retryable=True)


def _proxy_of(choice: ModelChoice) -> str:
    """Return host and port of the environment's proxy for a model; empty if there is none."""
    from urllib.request import getproxies, proxy_bypass

    url = urlsplit(choice.base_url or "https://")
    if choice.base_url and (is_loopback(choice.base_url) or proxy_bypass(url.hostname or "")):
        return ""
    proxies = getproxies()
    return urlsplit(proxies.get(url.scheme) or proxies.get("all") or "").netloc.rpartition("@")[2]


def _is_refusal(error: BaseException) -> bool:
    """Tell whether an error in a reply that began as a success names what will not pass by itself."""
    body = getattr(error, "body", None)
    return isinstance(body, dict) and "message" in body and not TRANSIENT_ERROR.search(json.dumps(body))


def _overflow_error(name: str, message: str) -> ModelError:
    text = f"The conversation does not fit into the context of {name}: {message} {CONTEXT_ADVICE}"
    return ModelError(text, context_overflow=True)


def _rejection_error(name: str, error: wrong.ModelAPIError, message: str) -> ModelError:
    """Return the error for a rejected request, whose reason only the text tells.

    Local servers use generic status codes for everything.
    """
    status = error.status_code if isinstance(error, wrong.ModelHTTPError) else 0
    if status == TOO_LARGE:
        text = f"The request is larger than {name}, or a gateway before it, accepts: {message}"
        return ModelError(text, context_overflow=True)
    if OVERFLOW_ERROR.search(message):
        return _overflow_error(name, message)
    return ModelError(f"{name} rejected the request: {message}", retryable=status in (408, 409, 425))


def _provider_message(error: Exception, secret: str) -> str:
    """Return the provider's message as one line that ends with a full stop, with the key masked.

    It comes from the error body, if there is one.
    """
    body = getattr(error, "body", None)
    for _ in range(4):
        body = body[0] if isinstance(body, list) and body else body  # Gemini with OpenAI's protocol
        body = (
            next((body[key] for key in ("error", "message", "detail") if key in body), "")
            if isinstance(body, dict)
            else body
        )
    text = (
        " ".join((body if isinstance(body, str) and body.strip() else str(error)).split())
        or type(error).__name__
    )
    if text.lower().startswith(("<!doctype html", "<html")):
        is_elsewhere = getattr(error, "status_code", 200) in (200, 403, 404, 405)
        text = f"a web page came instead of a reply of an API{': check the base URL' if is_elsewhere else ''}"
    text = text.replace(secret, "***") if len(secret) >= MIN_OWN_LENGTH else text
    status = f"HTTP {error.status_code}, " if isinstance(error, wrong.ModelHTTPError) else ""
    return f"{status}{text[:QUOTED_CHARACTERS].rstrip('.')}."


def find_limit_error(error: BaseException) -> ModelError | None:
    """Return the ModelError that an SDK has wrapped in one of its own errors."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ModelError):
        cause = cause.__cause__ or cause.__context__
    return cause
