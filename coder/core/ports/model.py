"""Ports of model providers and prompt texts."""

from collections.abc import Callable
from decimal import Decimal
from typing import Protocol

from coder.core.messages import Delta, Reply, Request


class Model(Protocol):
    """A language model behind any wire."""

    @property
    def name(self) -> str:
        """`provider:name`, as the person would type it."""

    def dearest(self, input_tokens: int, output_tokens: int) -> Decimal | None:
        """The most that a request of this size can cost, in US dollars; None where the price is not known."""

    async def complete(self, request: Request, on_delta: Callable[[Delta], None]) -> Reply:
        """Answer one request, streaming pieces to `on_delta` while they come; safe to cancel.

        Raises:
            ModelError: after the adapter's own retries.
        """


class Prompts(Protocol):
    """The texts of coder/prompts, filled in."""

    def render(self, name: str, **values: object) -> str:
        """The prompt `name` with every placeholder filled; a missing one is an error."""
