import pytest

from coder.models.catalog import (
    LocalServer,
    ModelChoice,
    describe_models,
    describe_price,
    describe_tool_support,
)
from tests.models.fakes import serve_answers

pytestmark = pytest.mark.loopback


def test_lists_chosen_and_configured_models() -> None:
    chosen = ModelChoice(provider="openai", model="gpt-4o", reason="named with --model")
    names = (("openai:gpt-4o", "fallback"), ("claude-unknown", "reviewer"))
    keys = {"OPENAI_API_KEY": "x", "ANTHROPIC_API_KEY": "y"}
    lines = describe_models(chosen, names, base_url="http://127.0.0.1:1/v1", environment=keys)
    assert [line.split()[:2] for line in lines[:1]] == [["*", "openai:gpt-4o"]]
    assert [(line.split()[0], line.split()[-1]) for line in lines[1:]] == [
        ("openai:claude-unknown", "reviewer")
    ]
    assert "context and price unknown" in lines[1]
    assert [" images " in line for line in lines] == [True, True]


def test_lists_providers_with_a_key_and_servers_of_this_machine() -> None:
    server = LocalServer(provider="ollama", base_url="http://127.0.0.1:1/v1", models=("qwen3:8b",))
    lines = describe_models(
        None, (), base_url=None, environment={"OPENAI_API_KEY": "x"}, local=lambda _: (server,)
    )
    assert lines[0].startswith("No model is chosen")
    assert [line.split()[0] for line in lines[1:]] == ["openai:gpt-6.1-sol", "ollama:qwen3:8b"]
    assert [" images " in line for line in lines[1:]] == [True, False]
    assert [" thinks " in line for line in lines[1:]] == [True, False]


@pytest.mark.parametrize(
    ("provider", "model", "text"),
    [
        ("openai", "gpt-4o", "128k tokens, $2.5 in and $10 out per million"),
        ("openai", "no-such-model", "context and price unknown"),
    ],
)
def test_describes_context_and_price(provider: str, model: str, text: str) -> None:
    assert describe_price(ModelChoice(provider=provider, model=model, reason="")) == text


@pytest.mark.parametrize(
    ("props", "text"),
    [
        (b'{"chat_template_caps": {"supports_tools": true}}', "calls tools"),
        (b'{"chat_template_caps": {"supports_tools": false}}', "tools as text"),
        (b"{}", "tools untried"),
    ],
)
def test_asks_a_server_here_how_it_calls_tools(props: bytes, text: str) -> None:
    with serve_answers({"/props": props}) as url:
        choice = ModelChoice(provider="llamacpp", model="m", base_url=f"{url}/v1", reason="")
        assert describe_tool_support(choice) == text
    assert describe_tool_support(ModelChoice(provider="openai", model="m", reason="")) == "calls tools"
