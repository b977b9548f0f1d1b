"""Ports of model providers and prompt texts."""

from collections.abc import Callable
from decimal import Decimal
from typing import Protocol

from coder.core.messages import Delta, Reply, Request


class Model(Protocol):
    """A language model, independent of its provider."""

    @property
    def name(self) -> str:
        """`provider:name`, as the user would type it."""

    @property
    def context_tokens(self) -> int | None:
        """The most tokens that a request and its reply may have together; None where that is not known."""

    @property
    def accepts_images(self) -> bool:
        """True if messages to it may have images."""

    def maximum_cost_usd(self, input_tokens: int, output_tokens: int) -> Decimal | None:
        """Return the highest cost of a request of this size, in US dollars.

        None where the price is not known.
        """

    async def complete(self, request: Request, on_delta: Callable[[Delta], None]) -> Reply:
        """Answer one request, streaming pieces to `on_delta` as they arrive; safe to cancel.

        Raises:
            ModelError: after the adapter's own retries.
        """


class Prompts(Protocol):
    """The prompt templates of coder/prompts."""

    def render(self, name: str, **values: object) -> str:
        """Return the prompt `name` with every placeholder filled; a missing value is an error."""
