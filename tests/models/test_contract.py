import asyncio
import json

import pytest

from coder.core.messages import Delta, Usage
from tests.models.contract import ASKED, RIGS, Bench
from tests.models.fakes import Turn

pytestmark = [pytest.mark.loopback, pytest.mark.parametrize("rig", RIGS)]

TOLD = Usage(input_tokens=100, cached_tokens=40, output_tokens=7)


def test_streams_a_text_in_pieces(rig: str) -> None:
    with RIGS[rig]([Turn(text="It is the comparison in line 7.")]) as bench:
        reply, deltas = bench.ask()
    assert (reply.message.text, reply.message.calls, reply.finish) == (
        "It is the comparison in line 7.",
        (),
        "stop",
    )
    assert len(deltas) > 1
    assert "".join(delta.text for delta in deltas if delta.kind == "text") == reply.message.text


def test_returns_several_calls_of_reply(rig: str) -> None:
    turn = Turn(text="Let me look.", calls=(("read", '{"path": "a.py"}'), ("read", '{"path": "b.py"}')))
    with RIGS[rig]([turn]) as bench:
        reply, _ = bench.ask()
    assert (reply.message.text, reply.finish) == ("Let me look.", "calls")
    assert [(call.name, json.loads(call.arguments)) for call in reply.message.calls] == [
        ("read", {"path": "a.py"}),
        ("read", {"path": "b.py"}),
    ]
    assert len({call.id for call in reply.message.calls}) == 2


def test_reports_usage_and_no_unknown_price(rig: str) -> None:
    with RIGS[rig]([Turn(text="Yes.")]) as bench:
        usage = bench.ask()[0].usage
    assert usage.model_copy(update={"cost_usd": None}) == TOLD
    assert (usage.cost_usd is not None) == (rig == "responses")  # the only model of a price list


def test_passes_malformed_arguments_on_as_they_are(rig: str) -> None:
    if rig == "google":
        pytest.skip("this wire sends arguments as JSON values, which cannot be malformed")
    with RIGS[rig]([Turn(calls=(("read", '{"path": a.py}'),))]) as bench:
        (call,) = bench.ask()[0].message.calls
    assert call.name == "read"
    assert '"path": a.py}' in call.arguments


def test_a_refusal_is_a_reply(rig: str) -> None:
    with RIGS[rig]([Turn(text="I cannot help with that.", finish="refusal")]) as bench:
        reply, _ = bench.ask()
    assert (reply.finish, reply.message.text) == ("refusal", "I cannot help with that.")


def test_marks_reply_cut_at_limit(rig: str) -> None:
    with RIGS[rig]([Turn(text="It is the compar", finish="length")]) as bench:
        reply, _ = bench.ask()
    assert (reply.finish, reply.message.text) == ("length", "It is the compar")


def test_distinguishes_truncated_arguments_from_call(rig: str) -> None:
    if rig == "google":
        pytest.skip("this wire sends calls whole")
    with RIGS[rig]([Turn(calls=(("read", '{"path": "a.p'),), finish="length")]) as bench:
        assert bench.ask()[0].finish == "length"


def test_marks_conversation_over_context_limit(rig: str) -> None:
    with RIGS[rig]([Turn(status=400, error="overflow")]) as bench:
        error = bench.fail()
    assert (error.context_overflow, error.retryable) == (True, False)


async def test_stops_at_once_when_cancelled_in_the_middle(rig: str) -> None:

    async def ask_and_cancel(bench: Bench) -> None:
        received = asyncio.Event()

        def on_delta(_delta: Delta) -> None:
            received.set()

        task = asyncio.create_task(bench.model.complete(ASKED, on_delta))
        await asyncio.wait_for(received.wait(), timeout=10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with RIGS[rig]([Turn(text="It is the comparison", stalls=True)]) as bench:
        await ask_and_cancel(bench)  # the server sends nothing more, so only cancelling ends this
        assert bench.fake is None or bench.fake.gone.wait(10)


def test_has_name_as_typed_by_user(rig: str) -> None:
    with RIGS[rig]([Turn(text="Yes.")]) as bench:
        provider, colon, model = bench.model.name.partition(":")
    assert provider and colon and model
