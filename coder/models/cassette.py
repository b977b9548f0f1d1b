"""Recording of exchanges with a model, and playback without a network."""

import hashlib
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import zip_longest
from pathlib import Path

from coder.core.errors import ModelError, UserError
from coder.core.messages import AssistantMessage, Delta, Message, Reply, Request, ToolMessage, UserMessage
from coder.core.ports import Model
from coder.core.values import Value
from coder.models.scripted import ScriptedError


class RequestFingerprint(Value):
    """Digests of the parts of a request that the model's answer depends on.

    A recorded reply fits only if they are equal. Texts of tool results are left out, since they contain
    durations and temporary paths; the name of the tool and whether it succeeded count.
    """

    system: str
    tools: tuple[str, ...]
    messages: tuple[str, ...]
    """`role:digest` of each message."""


class RecordedRequest(Value):
    """One recorded request, with either its reply or its error."""

    model: str
    request: RequestFingerprint
    deltas: tuple[Delta, ...] = ()
    reply: Reply | None = None
    error: ScriptedError | None = None


class ModelRecorder:
    """Model wrapper that records all replies and errors; the file is overwritten."""

    def __init__(self, model: Model, path: Path) -> None:
        self._model = model
        self._path = path
        path.write_text("", encoding="utf-8")

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def context_tokens(self) -> int | None:
        return self._model.context_tokens

    @property
    def accepts_images(self) -> bool:
        return self._model.accepts_images

    def maximum_cost_usd(self, input_tokens: int, output_tokens: int) -> Decimal | None:
        return self._model.maximum_cost_usd(input_tokens, output_tokens)

    async def complete(self, request: Request, on_delta: Callable[[Delta], None]) -> Reply:
        """Ask the wrapped model and append one line to the file, also for an error."""
        deltas: list[Delta] = []

        def record_delta(delta: Delta) -> None:
            deltas.append(delta)
            on_delta(delta)

        take = RecordedRequest(model=self.name, request=fingerprint(request))
        try:
            reply = await self._model.complete(request, record_delta)
        except ModelError as error:
            recorded_error = ScriptedError(
                message=str(error),
                retryable=error.retryable,
                retry_after_seconds=error.retry_after_seconds,
                context_overflow=error.context_overflow,
            )
            self._write(take.model_copy(update={"deltas": tuple(deltas), "error": recorded_error}))
            raise
        self._write(take.model_copy(update={"deltas": tuple(deltas), "reply": reply}))
        return reply

    def _write(self, take: RecordedRequest) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(take.model_dump_json(exclude_defaults=True) + "\n")


class Cassette:
    """Model that plays takes back in order, as long as the requests equal the recorded ones."""

    def __init__(self, takes: Sequence[RecordedRequest]) -> None:
        self._takes = tuple(takes)
        self._played = 0

    @property
    def name(self) -> str:
        return self._takes[0].model if self._takes else "cassette:empty"

    @property
    def context_tokens(self) -> int | None:
        return None

    @property
    def accepts_images(self) -> bool:
        return True

    def maximum_cost_usd(self, input_tokens: int, output_tokens: int) -> Decimal | None:  # noqa: ARG002  # it has no price list
        """Return 0, since no provider is asked."""
        return Decimal(0)

    async def complete(self, request: Request, on_delta: Callable[[Delta], None]) -> Reply:
        """Return the recorded reply.

        Raises:
            ModelError: the recorded error, or one that names the difference from the recording.
        """
        if self._played == len(self._takes):
            raise ModelError(
                f"The cassette holds {self._played} replies and was asked for one more: record it again."
            )
        take = self._takes[self._played]
        self._played += 1
        if mismatch := describe_difference(take.request, fingerprint(request)):
            raise ModelError(
                f"Request {self._played} is not the recorded one: {mismatch}. Record the cassette again."
            )
        for delta in take.deltas:
            on_delta(delta)
        if take.reply is None:
            raise (
                take.error.to_exception()
                if take.error
                else ModelError(f"Take {self._played} of the cassette is empty.")
            )
        return take.reply


def load_cassette(path: Path) -> Cassette:
    """Load a recording.

    Raises:
        UserError: the file is not a recording.
    """
    try:
        return Cassette(
            [
                RecordedRequest.model_validate_json(line)
                for line in path.read_text(encoding="utf-8").splitlines()
            ]
        )
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path} is no recorded exchange ({' '.join(str(error).split())[:120]}). Record it again."
        ) from None


def fingerprint(request: Request) -> RequestFingerprint:
    """Return the fingerprint of a request, computed part by part, so that a difference can be named."""
    return RequestFingerprint(
        system=_digest(request.system),
        tools=tuple(f"{tool.name}:{_digest(tool.model_dump_json())}" for tool in request.tools),
        messages=tuple(_message_mark(message) for message in request.messages),
    )


def describe_difference(recorded: RequestFingerprint, actual: RequestFingerprint) -> str:
    """Return a description of the first part that differs; empty where none does."""
    if recorded.system != actual.system:
        return "the system prompt differs"
    if recorded.tools != actual.tools:
        changed = {mark.partition(":")[0] for mark in set(recorded.tools) ^ set(actual.tools)}
        return f"the tools differ ({', '.join(sorted(changed)) or 'their order'})"
    for number, (recorded_mark, actual_mark) in enumerate(
        zip_longest(recorded.messages, actual.messages), start=1
    ):
        if recorded_mark != actual_mark:
            names = [mark.partition(":")[0] if mark else "nothing" for mark in (recorded_mark, actual_mark)]
            return f"message {number} differs (recorded: {names[0]}, asked: {names[1]})"
    return ""


def _message_mark(message: Message) -> str:
    match message:
        case UserMessage(text=text, images=images):
            salient: list[object] = [text, *(image.base64 for image in images)]
        case AssistantMessage(text=text, calls=calls):
            salient = [text, *([call.name, call.arguments] for call in calls)]
        case ToolMessage(name=name, ok=ok):
            salient = [name, ok]
    return f"{message.role}:{_digest(json.dumps(salient))}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
