import sys
from functools import partial
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.profiles.anthropic import AnthropicModelProfile

from coder.core.errors import UserError
from coder.core.values import Request
from coder.models import provider
from coder.models.catalog import ModelChoice, choose_by_name
from coder.models.provider import ProviderModel, _fitting_effort, open_model
from coder.models.quirks import ReplyLimits, ServerQuirks
from tests.models import wires
from tests.models.contract import Bench
from tests.models.fakes import Turn, serve, serve_answers

HERE = ModelChoice(
    provider="compatible", model="m", base_url="http://127.0.0.1:9/v1", reason="named by a test"
)


@pytest.mark.loopback
@pytest.mark.parametrize(("supports", "settled"), [("true", False), ("false", None)])
def test_uses_text_protocol_where_user_or_template_says_so(supports: str, settled: bool | None) -> None:
    props = f'{{"chat_template_caps": {{"supports_tools": {supports}}}}}'.encode()
    with (
        serve_answers({"/props": props}) as url,
        serve(wires.chat_stream, wires.openai_error, [Turn(text="A.")]) as fake,
    ):
        model = open_model(
            HERE.model_copy(update={"base_url": f"{url}/v1"}), environment={}, tool_calling=settled
        )
        assert isinstance(model, ProviderModel)
        choice = HERE.model_copy(update={"base_url": f"{fake.url}/v1"})
        model._wire = partial(provider.make_model, dialect="chat", choice=choice, url=choice.base_url)
        Bench(model).ask()
        assert ["tools" in request for request in fake.requests] == [False]


@pytest.mark.loopback
@pytest.mark.parametrize(
    "refusal",
    [
        Turn(status=400, error="registry.ollama.ai/library/m does not support tools"),
        Turn(status=500, error="tools param requires --jinja flag"),
        Turn(
            status=400,
            error='"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        ),
        Turn(status=404, error="No endpoints found that support tool use. Try disabling apply_patch."),
    ],
)
def test_uses_text_protocol_when_server_refuses_tools(refusal: Turn) -> None:
    block = Turn(text='```tool\n{"name": "read", "arguments": {"path": "a.py"}}\n```')
    with serve(wires.chat_stream, wires.openai_error, [refusal, block, Turn(text="Yes.")]) as fake:
        bench = Bench(open_model(HERE.model_copy(update={"base_url": f"{fake.url}/v1"}), environment={}))
        reply, _ = bench.ask()
        bench.ask()
        assert ["tools" in request for request in fake.requests] == [True, False, False]
    assert [call.name for call in reply.message.calls] == ["read"]


@pytest.mark.loopback
def test_reports_unreachable_server_immediately() -> None:
    error = Bench(open_model(HERE, environment={}, tool_calling=True)).fail()
    assert str(error) == (
        "Nothing answers at http://127.0.0.1:9/v1. Start the server of compatible:m there, or take "
        "another with --model."
    )


@pytest.mark.loopback
def test_local_model_is_free_and_other_price_unknown() -> None:
    for name, cost in (("llamacpp", "0"), ("compatible", "None")):
        with serve(wires.chat_stream, wires.openai_error, [Turn(text="Yes.")]) as fake:
            choice = HERE.model_copy(update={"provider": name, "base_url": f"{fake.url}/v1"})
            reply, _ = Bench(open_model(choice, environment={}, tool_calling=True)).ask()
        assert str(reply.usage.cost_usd) == cost


@pytest.mark.loopback
def test_books_price_of_reservation_at_other_base_url() -> None:
    with serve(wires.chat_stream, wires.openai_error, [Turn(text="Yes.")]) as fake:
        choice = ModelChoice(provider="openai", model="gpt-5", base_url=f"{fake.url}/v1", reason="")
        model = open_model(choice, environment={"OPENAI_API_KEY": "k" * 20}, tool_calling=True)
        reply, _ = Bench(model).ask()
    most = model.maximum_cost_usd(reply.usage.input_tokens, reply.usage.output_tokens)
    assert reply.usage.cost_usd is not None
    assert most is not None
    assert 0 < reply.usage.cost_usd <= most


def test_vertex_speaks_geminis_dialect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "my-project")
    choice = ModelChoice(provider="vertex", model="gemini-4-argon", reason="named by a test")
    http = provider.make_http_client(None, ReplyLimits(), ServerQuirks())
    model = provider.make_model(http, "vertex", choice=choice, url=None)
    assert (model.system, model.model_name) == ("google-cloud", "gemini-4-argon")


@pytest.mark.loopback
def test_model_file_is_served_inside_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(wires.chat_stream, wires.openai_error, [Turn(text="Yes.")]) as fake:
        library = ModuleType("xllamacpp")
        monkeypatch.setattr(library, "__spec__", ModuleSpec("xllamacpp", None))
        loaded: list[SimpleNamespace] = []

        def start(parameters: SimpleNamespace) -> SimpleNamespace:
            loaded.append(parameters)
            return SimpleNamespace(listening_address=fake.url)

        parameters = SimpleNamespace(model=SimpleNamespace(path=""))
        monkeypatch.setattr(library, "CommonParams", lambda: parameters, raising=False)
        monkeypatch.setattr(library, "Server", start, raising=False)
        monkeypatch.setitem(sys.modules, "xllamacpp", library)
        (tmp_path / "m.gguf").touch()
        choice = choose_by_name(f"gguf:{tmp_path}/m.gguf", reason="named by a test", environment={})
        bench = Bench(open_model(choice, environment={}, tool_calling=True))
        reply, _ = bench.ask()
    assert (bench.model.name, reply.message.text) == (f"gguf:{tmp_path}/m.gguf", "Yes.")
    assert reply.usage.cost_usd == 0
    assert [(entry.model.path, entry.hostnames, entry.port) for entry in loaded] == [
        (f"{tmp_path}/m.gguf", ["127.0.0.1"], 0)
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [("nothing.gguf", "There is no model file"), ("m.gguf", r"pip install '\.\[local\]'")],
)
def test_says_what_a_model_file_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    monkeypatch.setattr("coder.models.catalog.find_spec", lambda _name: None)
    (tmp_path / "m.gguf").touch()
    with pytest.raises(UserError, match=message):
        choose_by_name(f"gguf:{tmp_path / name}", reason="named by a test", environment={})


def test_effort_leaves_room_for_the_reply() -> None:
    budget = AnthropicModelProfile(supports_thinking=True, anthropic_supports_adaptive_thinking=False)
    asked = Request(system="", messages=(), effort="high")
    rooms = {32_768: "high", 20_000: "medium", 16_384: "low", 4_000: None}
    found = {
        room: _fitting_effort(asked.model_copy(update={"max_output_tokens": room}), budget) for room in rooms
    }
    assert found == rooms
    assert _fitting_effort(asked, ModelProfile(supports_thinking=True)) == "high"
    assert _fitting_effort(asked, ModelProfile()) is None
