"""Limits on a hostile or broken server's reply: one ModelError of one line, and bounded memory."""

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from gzip import compress

import pytest

from coder.core.errors import ModelError
from coder.models.catalog import ModelChoice
from coder.models.provider import ProviderModel, make_model
from coder.models.quirks import ReplyLimits, nesting_depth
from tests.models import wires
from tests.models.contract import KEY, WIRES, Bench, record_pauses
from tests.models.fakes import Turn, Wire, serve

pytestmark = pytest.mark.loopback
SMALL = ReplyLimits(body_bytes=20_000, line_bytes=5_000)
WIRED: dict[str, tuple[Wire, str]] = {
    "chat": (wires.chat_stream, "/v1"),
    "responses": (wires.responses_stream, "/v1"),
    "anthropic": (wires.anthropic_stream, ""),
    "google": (wires.google_stream, ""),
}


@contextmanager
def bench(wire: str, turn: Turn, limits: ReplyLimits = SMALL) -> Iterator[Bench]:
    stream, path = WIRED[wire]
    with serve(stream, lambda _turn: {}, [turn]) as fake:
        choice = ModelChoice(provider="compatible", model="m", base_url=fake.url, reason="named by a test")
        pauses: list[float] = []
        model = ProviderModel(
            choice,
            partial(make_model, dialect=wire, choice=choice, secret=KEY, url=fake.url + path),
            retry_policy=record_pauses(pauses, 1),
            limits=limits,
        )
        yield Bench(model, pauses, fake)


@pytest.mark.parametrize("wire", WIRED)
@pytest.mark.parametrize(
    ("turn", "message"),
    [
        (
            Turn(garbage=b"data: " + b"x" * 6_000 + b"\n\n"),
            "is longer than 5,000 bytes; the rest was not read.",
        ),
        (Turn(text="word " * 5_000), "is longer than 20,000 bytes; the rest was not read."),
        (Turn(text="It is", stalls=True), "was not complete after 0.5 s."),
        (
            Turn(headers=(("Content-Encoding", "br"),), garbage=compress(b"x" * 1_000)),
            "compressed its reply (br)",
        ),
        (
            Turn(headers=(("Content-Type", "text/html; charset=utf-8"),), garbage=b"<html>Sign in</html>"),
            "sent a web page instead of a reply of an API",
        ),
    ],
    ids=["line", "body", "seconds", "compression", "web page"],
)
def test_reply_over_limit_is_clear_error(wire: str, turn: Turn, message: str) -> None:
    limits = replace(SMALL, seconds=0.5) if turn.stalls else SMALL
    with bench(wire, turn, limits) as model_bench:
        start = time.monotonic()
        error = model_bench.fail()
    assert message in str(error) and "\n" not in str(error)
    assert time.monotonic() - start < 30  # the SDKs are imported meanwhile; the fake stalls forever


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("depth", [200, 1_500])
def test_deeply_nested_arguments_are_a_model_error(wire: str, depth: int) -> None:
    arguments = '{"path": ' + "[" * depth + "]" * depth + "}"
    turn = Turn(calls=(("read", arguments),))
    if wire == "google":
        pytest.skip(
            "its fake builds arguments as objects, which json.dumps cannot nest so deep"
        ) if depth > 900 else None
    with WIRES[wire]([turn] * 3) as model_bench:
        error = model_bench.fail()
    assert "\n" not in str(error)


def test_huge_line_keeps_memory_bounded() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with (
        bench("chat", Turn(garbage=b"data: " + b"x" * (64 << 20)), ReplyLimits()) as model_bench,
        pytest.raises(ModelError, match="8,388,608"),
    ):
        raise model_bench.fail()
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    assert growth < 400 << 20  # the fake in this process holds the line twice


@pytest.mark.parametrize(
    ("text", "depth"), [("{}", 1), ('{"a": "[[[", "b": [[]]}', 3), ('"\\"[["', 0), ("]" * 3 + "[", 0)]
)
def test_counts_nesting_outside_strings(text: str, depth: int) -> None:
    assert nesting_depth(text) == depth
