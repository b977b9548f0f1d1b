"""Errors of model providers, retries, and limits of requests."""

import asyncio
import json
import random
import re
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from socket import gaierror
from typing import Any
from urllib.parse import urlsplit

import httpx2
from pydantic import SecretStr
from pydantic_ai import exceptions as wrong

from coder.core.errors import ModelError
from coder.core.messages import Reply
from coder.models.catalog import KEY_VARIABLES, ModelChoice, is_loopback
from coder.models.text_protocol import ToolsUnsupported
from coder.permissions.secrets import MIN_OWN_LENGTH

REQUEST_ERRORS = (wrong.AgentRunError, wrong.UserError, httpx2.HTTPError)
"""All exceptions with which a request fails through no bug of ours."""
MALFORMED_STREAM_ERRORS = (ValueError, TypeError, AttributeError, LookupError, AssertionError, RecursionError)
"""Exceptions of the SDKs for stream events that are JSON but not of the documented shape."""
QUOTED_CHARACTERS = 200
TOO_LARGE = 413
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
_UNIT = r"(?:ms|milliseconds?|s|sec(?:ond)?s?|m|min(?:ute)?s?|h|hours?)"
PAUSE = re.compile(
    rf"\b(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)? ?(?:{_UNIT}\b[ ,]*|[hm](?=\d)))+)", re.I
)
"""The pause that a message asks for, where no header does: `in 17 seconds`, `in 6m0s`."""
PAUSE_PART = re.compile(r"(\d+(?:\.\d+)?) ?(ms|mil|[hms])", re.I)
UNIT_SECONDS = {"ms": 0.001, "mil": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
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
            return ModelError(
                f"{name} asks for a pause{_pause_text(error)}: {message}",
                retryable=True,
                retry_after_seconds=_requested_pause(error),
            )
        case wrong.ModelUnavailableError() | wrong.ModelServerError():
            return ModelError(
                f"{name} failed on its side: {message}",
                retryable=True,
                retry_after_seconds=_requested_pause(error),
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


def _requested_pause(error: wrong.ModelAPIError) -> float | None:
    """Return the seconds that a server asks to wait, by a header or else in words."""
    if error.retry_after is not None:
        return error.retry_after
    match = PAUSE.search(f"{error} {getattr(error, 'body', '')}")
    parts = PAUSE_PART.findall(match[1]) if match else []
    return sum(float(number) * UNIT_SECONDS[unit.lower()] for number, unit in parts) if parts else None


def _pause_text(error: wrong.ModelAPIError) -> str:
    seconds = _requested_pause(error)
    return "" if seconds is None else f" of {seconds:.0f} s"


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


@dataclass(frozen=True, kw_only=True)
class ReplyLimits:
    """Limits of one reply; the defaults are several times what the longest real replies need."""

    body_bytes: int = 64 << 20
    line_bytes: int = 8 << 20
    seconds: float = 3600.0
    """From the headers to the last byte; a server on a CPU generates only a few tokens a second."""


NESTING_DEPTH = 100
"""Limit for JSON that a model writes: our tool schemas nest two levels, parsers fail at about a thousand."""
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[{]|[\]}]', re.DOTALL)


def limit_hooks(limits: ReplyLimits) -> dict[str, list[Callable[..., Any]]]:
    """Return httpx event hooks that enforce the limits on each reply, and refuse web pages.

    Compression is not requested; gzip and deflate, which some gateways use nevertheless, are undone before
    the bytes are counted, others are refused. Hooks are used because a client with its own transport ignores
    the proxies of the environment.
    """
    return {"request": [_request_identity_encoding], "response": [partial(_limit_response, limits)]}


def nesting_depth(text: str) -> int:
    """Return the nesting depth of the brackets of a JSON text, without parsing it."""
    depth = deepest = 0
    for match in _BRACKETS.finditer(text):
        depth += 1 if match[0] in "[{" else -1 if match[0] in "]}" else 0
        deepest = max(deepest, depth)
    return deepest


def find_limit_error(error: BaseException) -> ModelError | None:
    """Return the ModelError that an SDK has wrapped in one of its own errors."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ModelError):
        cause = cause.__cause__ or cause.__context__
    return cause


async def _request_identity_encoding(request: httpx2.Request) -> None:
    request.headers["Accept-Encoding"] = "identity"


async def _limit_response(limits: ReplyLimits, response: httpx2.Response) -> None:
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("", "identity", *COMPRESSIONS):
        raise ModelError(
            f"{response.url.host} compressed its reply ({encoding[:40]}) although it was asked not to; "
            "nothing of it was read."
        )
    if response.is_success and response.headers.get("Content-Type", "").lower().startswith("text/html"):
        raise ModelError(
            f"{response.url.host} sent a web page instead of a reply of an API: check the base URL, and "
            "whether a proxy or the network asks you to sign in first."
        )
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    if encoding in COMPRESSIONS:
        del response.headers["Content-Encoding"]
        response.stream = _InflatedStream(response.stream, zlib.MAX_WBITS | COMPRESSIONS[encoding])
    response.stream = _LimitedStream(response.stream, limits, host=response.url.host)


COMPRESSIONS = {"gzip": 16, "x-gzip": 16, "deflate": 0}
"""Compressions that are undone, each with zlib's flag of its header."""
INFLATED_BYTES = 1 << 16


class _InflatedStream(httpx2.AsyncByteStream):
    """Undoes compression piece by piece, so that limits see each piece before the next is made."""

    def __init__(self, stream: httpx2.AsyncByteStream, window: int) -> None:
        self._stream = stream
        self._inflater = zlib.decompressobj(window)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            while chunk:
                try:
                    piece = self._inflater.decompress(chunk, INFLATED_BYTES)
                except zlib.error as error:
                    raise httpx2.DecodingError(str(error)) from error
                chunk = self._inflater.unconsumed_tail
                if piece:
                    yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


class _LimitedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, limits: ReplyLimits, *, host: str) -> None:
        self._stream = stream
        self._limits = limits
        self._host = host

    async def __aiter__(self) -> AsyncIterator[bytes]:
        limits, received, line = self._limits, 0, 0
        deadline = asyncio.get_running_loop().time() + limits.seconds
        chunks = aiter(self._stream)
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    # A fast server would otherwise never let the loop handle a deadline or a cancellation.
                    await asyncio.sleep(0)
                    chunk = await anext(chunks, None)
            except TimeoutError:
                raise ModelError(
                    f"The reply of {self._host} was not complete after {limits.seconds:g} s."
                ) from None
            if chunk is None:
                return
            received += len(chunk)
            first, *rest = chunk.split(b"\n")
            longest = max(line + len(first), *map(len, rest)) if rest else line + len(first)
            line = len(rest[-1]) if rest else longest
            if received > limits.body_bytes:
                raise ModelError(
                    f"The reply of {self._host} is longer than {limits.body_bytes:,} bytes; the rest was "
                    "not read."
                )
            if longest > limits.line_bytes:
                raise ModelError(
                    f"A line in the reply of {self._host} is longer than {limits.line_bytes:,} bytes; "
                    "the rest was not read."
                )
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
