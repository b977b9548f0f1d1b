"""Contract of every model: one conversation a wire, since to open one is most of the time."""

import asyncio
import json

import pytest

from coder.core.values import Delta, Usage
from tests.models.contract import ASKED, RIGS
from tests.models.fakes import Turn

pytestmark = [pytest.mark.loopback, pytest.mark.parametrize("rig", RIGS)]

USAGE = Usage(input_tokens=100, cached_tokens=40, output_tokens=7)
REPLIES = [
    Turn(text="It is the comparison in line 7."),
    Turn(text="Let me look.", calls=(("read", '{"path": "a.py"}'), ("read", '{"path": "b.py"}'))),
    Turn(text="I cannot help with that.", finish="refusal"),
    Turn(text="It is the compar", finish="length"),
]
MALFORMED = Turn(calls=(("read", '{"path": a.py}'),))
TRUNCATED = Turn(calls=(("read", '{"path": "a.p'),), finish="length")
OVERFLOW = Turn(status=400, error="overflow")


def test_conversation(rig: str) -> None:
    spoiled = [] if rig == "google" else [MALFORMED, TRUNCATED]  # it sends calls whole, as JSON values
    with RIGS[rig]([*REPLIES, *spoiled, OVERFLOW]) as bench:
        (text, deltas), (calls, _), (refusal, _), (cut, _) = (bench.ask() for _ in REPLIES)
        spoiled_replies = [bench.ask()[0] for _ in spoiled]
        error = bench.fail()
    provider, colon, model = bench.model.name.partition(":")
    assert provider and colon and model
    assert (text.message.text, text.message.calls, text.finish) == (REPLIES[0].text, (), "stop")
    assert len(deltas) > 1
    assert "".join(delta.text for delta in deltas if delta.kind == "text") == text.message.text
    assert text.usage.model_copy(update={"cost_usd": None}) == USAGE
    assert (text.usage.cost_usd is not None) == (rig == "responses")  # the only model of a price list
    assert (calls.message.text, calls.finish) == ("Let me look.", "calls")
    assert [(call.name, json.loads(call.arguments)) for call in calls.message.calls] == [
        ("read", {"path": "a.py"}),
        ("read", {"path": "b.py"}),
    ]
    assert len({call.id for call in calls.message.calls}) == 2
    assert (refusal.finish, refusal.message.text) == ("refusal", REPLIES[2].text)
    assert (cut.finish, cut.message.text) == ("length", REPLIES[3].text)
    if spoiled:
        malformed, truncated = spoiled_replies
        assert [call.name for call in malformed.message.calls] == ["read"]
        assert '"path": a.py}' in malformed.message.calls[0].arguments
        assert truncated.finish == "length"
    assert (error.context_overflow, error.retryable) == (True, False)


async def test_stops_at_once_when_cancelled_in_the_middle(rig: str) -> None:
    received = asyncio.Event()

    def on_delta(_delta: Delta) -> None:
        received.set()

    with RIGS[rig]([Turn(text="It is the comparison", stalls=True)]) as bench:
        task = asyncio.create_task(bench.model.complete(ASKED, on_delta))
        await asyncio.wait_for(received.wait(), timeout=10)
        task.cancel()  # the server sends nothing more, so only cancelling ends this
        with pytest.raises(asyncio.CancelledError):
            await task
        assert bench.fake is None or bench.fake.gone.wait(10)
