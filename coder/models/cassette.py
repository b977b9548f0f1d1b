"""A real exchange with a model, recorded once and played back without a network."""

import hashlib
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import zip_longest
from pathlib import Path

from coder.core.errors import ModelError, UserError
from coder.core.messages import AssistantMessage, Delta, Message, Reply, Request, ToolMessage, UserMessage
from coder.core.ports.model import Model
from coder.core.values.base import Value
from coder.models.scripted import ScriptedError


class Fingerprint(Value):
    """What must be the same for a recorded reply to fit: a digest of each part that the model's answer depends on.

    Texts of tool results are left out, for they hold durations and paths of the day; which tool answered, and whether it worked, counts.
    """

    system: str
    tools: tuple[str, ...]
    messages: tuple[str, ...]
    """`role:digest` of each."""


class Take(Value):
    """One recorded request: either a reply or an error."""

    model: str
    request: Fingerprint
    deltas: tuple[Delta, ...] = ()
    reply: Reply | None = None
    error: ScriptedError | None = None


class Recorder:
    """Another model, everything it says being written down; the file is begun anew."""

    def __init__(self, model: Model, path: Path) -> None:
        self._model = model
        self._path = path
        path.write_text("", encoding="utf-8")

    @property
    def name(self) -> str:
        return self._model.name

    def dearest(self, input_tokens: int, output_tokens: int) -> Decimal | None:
        return self._model.dearest(input_tokens, output_tokens)

    async def complete(self, request: Request, on_delta: Callable[[Delta], None]) -> Reply:
        """Ask the other model and add one line to the file, its errors included."""
        deltas: list[Delta] = []

        def heard(delta: Delta) -> None:
            deltas.append(delta)
            on_delta(delta)

        take = Take(model=self.name, request=fingerprint(request))
        try:
            reply = await self._model.complete(request, heard)
        except ModelError as error:
            said = ScriptedError(
                message=str(error),
                retryable=error.retryable,
                retry_after_seconds=error.retry_after_seconds,
                context_overflow=error.context_overflow,
            )
            self._write(take.model_copy(update={"deltas": tuple(deltas), "error": said}))
            raise
        self._write(take.model_copy(update={"deltas": tuple(deltas), "reply": reply}))
        return reply

    def _write(self, take: Take) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(take.model_dump_json(exclude_defaults=True) + "\n")


class Cassette:
    """Plays takes back in their order, as long as the requests are the recorded ones."""

    def __init__(self, takes: Sequence[Take]) -> None:
        self._takes = tuple(takes)
        self._played = 0

    @property
    def name(self) -> str:
        return self._takes[0].model if self._takes else "cassette:empty"

    def dearest(self, input_tokens: int, output_tokens: int) -> Decimal | None:  # noqa: ARG002  # it has no price list
        """Nothing is asked of anybody, so nothing is paid."""
        return Decimal(0)

    async def complete(self, request: Request, on_delta: Callable[[Delta], None]) -> Reply:
        """Say what was said then.

        Raises:
            ModelError: the recorded one, or one that names what differs from the recording.
        """
        if self._played == len(self._takes):
            raise ModelError(
                f"The cassette holds {self._played} replies and was asked for one more: record it again."
            )
        take = self._takes[self._played]
        self._played += 1
        if different := difference(take.request, fingerprint(request)):
            raise ModelError(
                f"Request {self._played} is not the recorded one: {different}. Record the cassette again."
            )
        for delta in take.deltas:
            on_delta(delta)
        if take.reply is None:
            raise (
                take.error.raised()
                if take.error
                else ModelError(f"Take {self._played} of the cassette is empty.")
            )
        return take.reply


def load(path: Path) -> Cassette:
    """Read a recording.

    Raises:
        UserError: the file is no recording.
    """
    try:
        return Cassette(
            [Take.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]
        )
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path} is no recorded exchange ({' '.join(str(error).split())[:120]}). Record it again."
        ) from None


def fingerprint(request: Request) -> Fingerprint:
    """The parts that count, digested one by one, so that a difference can be named."""
    return Fingerprint(
        system=_digest(request.system),
        tools=tuple(f"{tool.name}:{_digest(tool.model_dump_json())}" for tool in request.tools),
        messages=tuple(_marked(message) for message in request.messages),
    )


def difference(recorded: Fingerprint, asked: Fingerprint) -> str:
    """The first part that differs, in words; empty where none does."""
    if recorded.system != asked.system:
        return "the system prompt differs"
    if recorded.tools != asked.tools:
        changed = {mark.partition(":")[0] for mark in set(recorded.tools) ^ set(asked.tools)}
        return f"the tools differ ({', '.join(sorted(changed)) or 'their order'})"
    for number, (then, now) in enumerate(zip_longest(recorded.messages, asked.messages), start=1):
        if then != now:
            names = [mark.partition(":")[0] if mark else "nothing" for mark in (then, now)]
            return f"message {number} differs (recorded: {names[0]}, asked: {names[1]})"
    return ""


def _marked(message: Message) -> str:
    match message:
        case UserMessage(text=text):
            salient: list[object] = [text]
        case AssistantMessage(text=text, calls=calls):
            salient = [text, *([call.name, call.arguments] for call in calls)]
        case ToolMessage(name=name, ok=ok):
            salient = [name, ok]
    return f"{message.role}:{_digest(json.dumps(salient))}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
