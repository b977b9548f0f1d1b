"""Behaviour of every Model, and rigs to test it: a rig makes a model give the scripted turns."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import pytest
from pydantic import SecretStr

from coder.core.errors import ModelError
from coder.core.ports import Model
from coder.core.values import Delta, Reply, Request, ToolSpec, Usage, UserMessage
from coder.models import provider
from coder.models.catalog import KEY_VARIABLES, ModelChoice
from coder.models.provider import ProviderModel, RetryPolicy, open_model
from coder.models.scripted import ScriptedCall, ScriptedError, ScriptedModel, ScriptStep
from tests.models import wires
from tests.models.fakes import Errors, FakeServer, Turn, Wire, serve

READ = ToolSpec(
    name="read",
    description="Read a window of a file.",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string", "description": "The file."}},
        "required": ["path"],
        "additionalProperties": False,
    },
)
ASKED = Request(system="You fix bugs.", messages=(UserMessage(text="It is broken."),), tools=(READ,))
KEY = "sk-very-secret"


@dataclass
class Bench:
    """A model under test."""

    model: Model
    pauses: list[float] = field(default_factory=list)
    """Seconds of each pause before a retry."""
    fake: FakeServer | None = None

    def ask(self, request: Request = ASKED) -> tuple[Reply, list[Delta]]:
        deltas: list[Delta] = []
        return asyncio.run(self.model.complete(request, deltas.append)), deltas

    def fail(self, request: Request = ASKED) -> ModelError:
        try:
            asyncio.run(self.model.complete(request, lambda _delta: None))
        except ModelError as error:
            return error
        raise AssertionError("a ModelError was due")


Rig = Callable[[list[Turn]], AbstractContextManager[Bench]]


def record_pauses(pauses: list[float], tries: int = 3) -> RetryPolicy:
    """Record the pauses instead of making them."""

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    return RetryPolicy(tries=tries, sleep=sleep, chance=lambda: 0.0)


@contextmanager
def wire_bench(
    turns: list[Turn], *, stream: Wire, error: Errors, provider: str, path: str = "", tools: bool = True
) -> Iterator[Bench]:
    """Yield a provider's adapter with a fake of its wire."""
    with serve(stream, error, turns) as fake:
        pauses: list[float] = []
        choice = ModelChoice(provider=provider, model="m", base_url=fake.url + path, reason="named by a test")
        environment = {KEY_VARIABLES[provider][0]: KEY}
        yield Bench(
            open_model(
                choice, environment=environment, tool_calling=tools, retry_policy=record_pauses(pauses)
            ),
            pauses,
            fake,
        )


@contextmanager
def bedrock_bench(turns: list[Turn]) -> Iterator[Bench]:
    """Yield Amazon Bedrock, whose client finds region and key in the environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
        patch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
        patch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        with wire_bench(
            turns, stream=wires.bedrock_stream, error=wires.bedrock_error, provider="bedrock"
        ) as bench:
            yield bench


@contextmanager
def responses_bench(turns: list[Turn]) -> Iterator[Bench]:
    """Yield OpenAI's own API, which a choice with a base URL does not use."""
    with serve(wires.responses_stream, wires.openai_error, turns) as fake:
        pauses: list[float] = []
        choice = ModelChoice(provider="openai", model="gpt-6.1-sol", reason="named by a test")
        wire = partial(
            provider.make_model, dialect="responses", choice=choice, secret=KEY, url=f"{fake.url}/v1"
        )
        yield Bench(
            ProviderModel(choice, wire, key=SecretStr(KEY), retry_policy=record_pauses(pauses)), pauses, fake
        )


@contextmanager
def text_protocol_bench(turns: list[Turn]) -> Iterator[Bench]:
    """Yield a model whose calls come as blocks of text."""
    blocks = [
        "".join(
            f'\n```tool\n{{"name": "{name}", "arguments": {arguments}}}\n```\n'
            for name, arguments in turn.calls
        )
        for turn in turns
    ]
    chunks = [
        replace(turn, text=turn.text + block, calls=()) for turn, block in zip(turns, blocks, strict=True)
    ]
    with wire_bench(
        chunks,
        stream=wires.chat_stream,
        error=wires.openai_error,
        provider="compatible",
        path="/v1",
        tools=False,
    ) as bench:
        yield bench


def script_step(turn: Turn) -> ScriptStep:
    usage = Usage(
        input_tokens=turn.input_tokens, cached_tokens=turn.cached_tokens, output_tokens=turn.output_tokens
    )
    calls = tuple(ScriptedCall(name=name, arguments=arguments) for name, arguments in turn.calls)
    error = (
        ScriptedError(message=turn.error, context_overflow=turn.error == "overflow") if turn.error else None
    )
    finish = {"length": "length", "refusal": "refusal"}.get(turn.finish)
    return ScriptStep.model_validate(
        {
            "text": turn.text,
            "reasoning": turn.reasoning,
            "calls": calls,
            "usage": usage,
            "error": error,
            "finish": finish,
        }
    )


@contextmanager
def scripted_bench(turns: list[Turn]) -> Iterator[Bench]:
    stalls = any(turn.stalls for turn in turns)
    yield Bench(
        ScriptedModel(
            [script_step(turn) for turn in turns], pause=(lambda: asyncio.sleep(60)) if stalls else None
        )
    )


WIRES: dict[str, Rig] = {
    "chat": partial(
        wire_bench, stream=wires.chat_stream, error=wires.openai_error, provider="compatible", path="/v1"
    ),
    "responses": responses_bench,
    "anthropic": partial(
        wire_bench, stream=wires.anthropic_stream, error=wires.anthropic_error, provider="anthropic"
    ),
    "google": partial(wire_bench, stream=wires.google_stream, error=wires.google_error, provider="google"),
}
RIGS: dict[str, Rig] = {
    **WIRES,
    "azure": partial(
        wire_bench, stream=wires.chat_stream, error=wires.openai_error, provider="azure", path="/openai/v1"
    ),
    "bedrock": bedrock_bench,
    "text_protocol": text_protocol_bench,
    "scripted": scripted_bench,
}
