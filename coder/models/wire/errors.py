"""What pydantic_ai and the wire raise, as one line that says what to do."""

import re

import httpx2
from pydantic import SecretStr
from pydantic_ai import exceptions as wrong

from coder.core.errors import ModelError
from coder.models.catalog import KEYS, Choice
from coder.models.servers import is_loopback
from coder.models.wire.text_protocol import ToolsUnsupported
from coder.permissions.secrets import SHORTEST_OWN

RAISED = (wrong.AgentRunError, wrong.UserError, httpx2.HTTPError)
"""Everything that a request ends with when the fault is not ours."""

STUMBLES = (ValueError, TypeError, AttributeError, LookupError, AssertionError, RecursionError)
"""What the SDKs raise in the middle of a stream whose events are JSON but not of the promised shape."""

QUOTED_CHARACTERS = 200

OVERFLOW = re.compile(
    r"context (size|length|window)|too many tokens|prompt is too long|maximum number of tokens|exceeds? the (available|model)",
    re.I,
)
NO_TOOLS = re.compile(
    r"does not support (tools|tool|function)|endpoints found that support tool|tools? (param|choice) requires (--jinja|--enable-auto)",
    re.I,
)


def translated(error: Exception, *, choice: Choice, key: SecretStr | None) -> ModelError:
    """The one line for the person; the key is blotted out should a server have repeated it."""
    said = _said(error, key.get_secret_value() if key else "")
    # First of all, for servers give every code to it: Ollama 400, OpenRouter 404, llama.cpp 500.
    no_tools = (
        ToolsUnsupported(f"{choice.name} does not support tool calling: {said}")
        if NO_TOOLS.search(said)
        else None
    )
    return no_tools or _lasting(error, choice, said) or _passing(error, choice, said)


def _lasting(error: Exception, choice: Choice, said: str) -> ModelError | None:
    """Failures that asking again does not mend."""
    name = choice.name
    match error:
        case wrong.ModelAuthenticationError():
            variables = " or ".join(KEYS.get(choice.provider, ())) or "the server's own settings"
            return ModelError(f"{name} refused the key or its rights: {said} Check {variables}.")
        case wrong.ModelContextWindowExceededError():
            return ModelError(
                f"The conversation no longer fits into the context of {name}: {said}", context_overflow=True
            )
        case wrong.ModelNotFoundError():
            return ModelError(
                f"{name} was not found: {said} Check the name, and the address if you gave one; --model takes another."
            )
        case wrong.ModelQuotaExceededError():
            return ModelError(
                f"The account behind {name} is out of credit or quota: {said} Top it up, or take another with --model."
            )
        case wrong.ModelConnectionError(phase="connect") if choice.base_url and is_loopback(choice.base_url):
            return ModelError(
                f"Nothing answers at {choice.base_url}. Start the server of {name} there, or take another with --model."
            )
        case wrong.UserError():
            return ModelError(f"{name} cannot be asked this way: {said}")
        case _:
            return None


def _passing(error: Exception, choice: Choice, said: str) -> ModelError:
    """Failures that may be gone the next time."""
    name = choice.name
    match error:
        case wrong.ModelRateLimitError():
            return ModelError(
                f"{name} asks for a pause{_seconds(error)}: {said}",
                retryable=True,
                retry_after_seconds=error.retry_after,
            )
        case wrong.ModelUnavailableError() | wrong.ModelServerError():
            return ModelError(
                f"{name} failed on its side: {said}", retryable=True, retry_after_seconds=error.retry_after
            )
        case wrong.ModelTimeoutError() | wrong.ModelRequestTimeout() | httpx2.TimeoutException():
            return ModelError(f"{name} did not answer in time: {said}", retryable=True)
        case wrong.ModelConnectionError() | httpx2.TransportError():
            return ModelError(f"The connection to {name} broke: {said}", retryable=True)
        case wrong.ModelAPIError() if "finish_reason" in said:
            return ModelError(f"The reply of {name} broke off in the middle.", retryable=True)
        case wrong.ModelRequestRejectedError() | wrong.ModelHTTPError():
            return _rejected(name, error, said)
        case _:
            return ModelError(f"{name} sent something unreadable: {said}", retryable=True)


def _rejected(name: str, error: wrong.ModelAPIError, said: str) -> ModelError:
    """A refusal whose reason only the text tells: local servers use the plainest codes for everything."""
    if OVERFLOW.search(said):
        return ModelError(
            f"The conversation no longer fits into the context of {name}: {said}", context_overflow=True
        )
    again = isinstance(error, wrong.ModelHTTPError) and error.status_code in (408, 409, 425)
    return ModelError(f"{name} rejected the request: {said}", retryable=again)


def _said(error: Exception, secret: str) -> str:
    """The provider's own words without the key, from its error body where there is one: one line that ends with a full stop."""
    body = getattr(error, "body", None)
    for _ in range(3):
        body = (
            next((body[key] for key in ("error", "message", "detail") if key in body), "")
            if isinstance(body, dict)
            else body
        )
    text = (
        " ".join((body if isinstance(body, str) and body.strip() else str(error)).split())
        or type(error).__name__
    )
    text = text.replace(secret, "***") if len(secret) >= SHORTEST_OWN else text
    status = f"HTTP {error.status_code}, " if isinstance(error, wrong.ModelHTTPError) else ""
    return f"{status}{text[:QUOTED_CHARACTERS].rstrip('.')}."


def _seconds(error: wrong.ModelAPIError) -> str:
    return "" if error.retry_after is None else f" of {error.retry_after:.0f} s"
