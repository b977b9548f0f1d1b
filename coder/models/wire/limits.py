"""Limits on one provider reply: bytes, line length, seconds and nesting depth.

They bound memory whatever a server sends.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx2

from coder.core.errors import ModelError


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

    Compression is not requested, and refused if used, so that received bytes equal stored bytes. Hooks are
    used because a client with its own transport ignores the proxies of the environment.
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
    if encoding not in ("", "identity"):
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
    response.stream = _LimitedStream(response.stream, limits, host=response.url.host)


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
