"""Scripted model for tests, scenarios and the demo."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from coder.core.errors import ModelError, UserError
from coder.core.text import explain_invalid_value
from coder.core.values import AssistantMessage, Delta, Reply, Request, ToolCall, Usage, Value

CHUNK_CHARACTERS = 16
"""Characters in one streamed delta."""


class ScriptedCall(Value):
    """One tool call; arguments given as text are sent unchanged, malformed or not."""

    name: str
    arguments: dict[str, Any] | str = "{}"


class ScriptedError(Value):
    message: str
    retryable: bool = False
    retry_after_seconds: float | None = None
    context_overflow: bool = False


class ScriptStep(Value):
    """One line of a script: a reply, or an error in its place."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    finish: Literal["stop", "calls", "length", "refusal"] | None = None
    """None for `calls` if there are any, else `stop`."""
    usage: Usage = Usage(cost_usd=Decimal(0))
    error: ScriptedError | None = None
    when: str = ""
    """Reserves the step for the first request that contains this text; empty for any request."""
    cut_after: int | None = None
    """The number of characters of the text after which the stream breaks."""

    def reply(self, number: int) -> Reply:
        """Return the reply; `number` makes the ids of its calls unique."""
        calls = tuple(
            ToolCall(
                id=f"call_{number}_{index}",
                name=call.name,
                arguments=call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments),
            )
            for index, call in enumerate(self.calls)
        )
        return Reply(
            message=AssistantMessage(text=self.text, calls=calls),
            usage=self.usage,
            finish=self.finish or ("calls" if calls else "stop"),
        )


Scene = ScriptStep | Reply | ModelError | Callable[[Request], Reply]


class ScriptedModel:
    """Model that answers each request with the first scene for it; `requests` holds the requests so far."""

    def __init__(
        self,
        scenes: Iterable[Scene],
        *,
        name: str = "scripted:test",
        context_tokens: int | None = None,
        accepts_images: bool = False,
        pause: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._scenes = list(scenes)
        self._script = tuple(self._scenes)
        self.name = name
        self.context_tokens = context_tokens
        self.accepts_images = accepts_images
        self._pause = pause or (lambda: asyncio.sleep(0))
        self.requests: list[Request] = []

    def maximum_cost_usd(self, input_tokens: int, output_tokens: int) -> Decimal | None:  # noqa: ARG002  # it has no price list
        """Return the highest cost of any reply of the script; None where one has no price."""
        costs = [scene.usage.cost_usd for scene in self._script if isinstance(scene, ScriptStep)]
        return (
            None if None in costs else max((cost for cost in costs if cost is not None), default=Decimal(0))
        )

    async def complete(self, request: Request, on_delta: Callable[[Delta], None]) -> Reply:
        """Play the next scene.

        Raises:
            ModelError: the scene is an error, or the script has ended.
        """
        number = len(self.requests)
        self.requests.append(request)
        scene = self._take_scene(request)
        if scene is None:
            raise ModelError(
                f"The script has {len(self._script)} replies and was asked for number {number + 1}: add "
                "one, or end the session sooner."
            )
        if isinstance(scene, ModelError):
            raise scene
        step = scene if isinstance(scene, ScriptStep) else ScriptStep()
        if step.error:
            raise ModelError(step.error.message, **step.error.model_dump(exclude={"message"}))
        reply = (
            step.reply(number)
            if isinstance(scene, ScriptStep)
            else scene
            if isinstance(scene, Reply)
            else scene(request)
        )
        await self._stream("reasoning", step.reasoning, on_delta)
        await self._stream("text", reply.message.text[: step.cut_after], on_delta)
        if step.cut_after is not None:
            raise ModelError(f"The reply of {self.name} broke off in the middle.", retryable=True)
        return reply

    def _take_scene(self, request: Request) -> Scene | None:
        conversation = "\n".join(message.text for message in request.messages)
        for index, scene in enumerate(self._scenes):
            if not isinstance(scene, ScriptStep) or scene.when in conversation:
                return self._scenes.pop(index)
        return None

    async def _stream(
        self, kind: Literal["text", "reasoning"], text: str, on_delta: Callable[[Delta], None]
    ) -> None:
        for start in range(0, len(text), CHUNK_CHARACTERS):
            on_delta(Delta(kind=kind, text=text[start : start + CHUNK_CHARACTERS]))
            await self._pause()


def load_script(path: Path) -> tuple[ScriptStep, ...]:
    """Load a script: one Step a line as JSON; empty lines and lines that begin with # are skipped.

    Raises:
        UserError: a line is not a Step; the message names the line and the reason.
    """
    steps = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if line.strip() and not line.startswith("#"):
            try:
                steps.append(ScriptStep.model_validate_json(line))
            except ValidationError as error:
                fault = error.errors()[0]
                where = ".".join(map(str, fault["loc"])) or "the line"
                raise UserError(
                    f"{path}, line {number}: {where}: {explain_invalid_value(fault['msg'])}. A line is an "
                    "object with text, calls, error, cut_after, usage."
                ) from None
    return tuple(steps)
