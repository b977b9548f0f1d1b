"""Names, keys, servers, prices and abilities of models."""

import sys
from collections.abc import Mapping
from decimal import Decimal
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from coder.core.errors import UserError
from coder.models.catalog import (
    LocalServer,
    ModelChoice,
    accepts_images,
    choose_model,
    describe_models,
    describe_price,
    describe_tool_support,
    find_key,
    find_list_price,
    is_loopback,
    list_key_variables,
    list_models,
    probe_servers,
)
from coder.models.provider import open_model
from tests.builders import lines
from tests.models.fakes import serve_answers

RUNNING = LocalServer(provider="ollama", base_url="http://127.0.0.1:11434/v1", models=("qwen3:8b", "gemma3"))
KEYS = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o", "GEMINI_API_KEY": "g", "OPENROUTER_API_KEY": "r"}


def choose_with(
    environment: Mapping[str, str],
    *,
    model: str | None = None,
    configured: str | None = None,
    base_url: str | None = None,
    running: bool = False,
) -> ModelChoice | None:
    return choose_model(
        model=model,
        configured=configured,
        base_url=base_url,
        environment=environment,
        local=lambda _environment: (RUNNING,) if running else (),
    )


def choice_name(choice: ModelChoice | None) -> str:
    assert choice
    return choice.name


def test_flag_overrides_variable_and_configuration() -> None:
    environment = {"CODER_MODEL": "openai:gpt-6-luna", **KEYS}
    assert (
        choice_name(choose_with(environment, model="google:gemini-4-argon", configured="openrouter:x/y"))
        == "google:gemini-4-argon"
    )
    assert choice_name(choose_with(environment, configured="openrouter:x/y")) == "openai:gpt-6-luna"
    assert choice_name(choose_with(KEYS, configured="openrouter:x/y")) == "openrouter:x/y"


def test_first_available_key_decides_without_name() -> None:
    remaining = dict(KEYS)
    order = []
    while remaining:
        choice = choose_with(remaining, running=True)
        assert choice and "is set and no model was named" in choice.reason
        variable = choice.reason.split()[0]
        order.append((variable, choice.name))
        del remaining[variable]
    assert order == [
        ("ANTHROPIC_API_KEY", "anthropic:claude-sonnet-5-5"),
        ("OPENAI_API_KEY", "openai:gpt-6.1-sol"),
        ("GEMINI_API_KEY", "google:gemini-4-argon"),
        ("OPENROUTER_API_KEY", "openrouter:anthropic/claude-sonnet-5.5"),
    ]


def test_uses_local_server_without_key() -> None:
    assert choose_with({}, running=True) == ModelChoice(
        provider="ollama",
        model="qwen3:8b",
        base_url="http://127.0.0.1:11434/v1",
        reason="running at http://127.0.0.1:11434/v1, and no key is set; --model takes another",
    )


@pytest.mark.parametrize(
    ("model_name", "name"),
    [
        ("claude-opus-5-5", "anthropic:claude-opus-5-5"),
        ("gpt-6-luna", "openai:gpt-6-luna"),
        ("gemini-3.8-flash", "google:gemini-3.8-flash"),
        ("openai", "openai:gpt-6.1-sol"),
        ("anthropic:", "anthropic:claude-sonnet-5-5"),
        ("ollama:qwen3:8b", "ollama:qwen3:8b"),
    ],
)
def test_resolves_provider_by_prefix_or_family(model_name: str, name: str) -> None:
    assert choice_name(choose_with(KEYS, model=model_name)) == name


@pytest.mark.parametrize("model_name", ["qwen3:8b", "gpt-oss:20b", "mistral", "nobody:model"])
def test_unknown_name_error_lists_forms(model_name: str) -> None:
    with pytest.raises(
        UserError,
        match=f"No provider is known for the model '{model_name}'. Write it as PROVIDER:NAME, such as",
    ):
        choose_with(KEYS, model=model_name)


@pytest.mark.parametrize(
    ("base_url", "model", "name", "url"),
    [
        ("http://127.0.0.1:8080", "qwen3:8b", "compatible:qwen3:8b", "http://127.0.0.1:8080/v1"),
        (
            "https://api.example.com/openai/",
            "claude-x",
            "compatible:claude-x",
            "https://api.example.com/openai",
        ),
        ("https://proxy.example", "anthropic:claude-x", "anthropic:claude-x", "https://proxy.example"),
        ("http://box:11434", "ollama:gemma3", "ollama:gemma3", "http://box:11434/v1"),
        ("http://box/v1/chat/completions", "openai:gemma3", "openai:gemma3", "http://box/v1"),
        ("https://box/api/v1/responses/", "gemma3", "compatible:gemma3", "https://box/api/v1"),
        ("https://box/models", "gemma3", "compatible:gemma3", "https://box/models"),
        ("https://box/v1/messages", "anthropic:claude", "anthropic:claude", "https://box"),
    ],
)
def test_model_at_url_keeps_prefix(base_url: str, model: str, name: str, url: str) -> None:
    choice = choose_with(KEYS, base_url=base_url, model=model)
    assert (choice_name(choice), choice and choice.base_url) == (name, url)


@pytest.mark.loopback
def test_url_alone_selects_first_listed_model() -> None:
    with serve_answers({"/v1/models": b'{"data": [{"id": "bridge"}, {"id": "other"}]}'}) as url:
        assert choice_name(choose_with({}, base_url=url)) == "compatible:bridge"
    with (
        serve_answers({}) as url,
        pytest.raises(UserError, match=r"lists no models\. Name the one to use with --model"),
    ):
        choose_with({}, base_url=url)


@pytest.mark.loopback
def test_a_server_can_be_named_without_a_model() -> None:
    with serve_answers({"/v1/models": b'{"data": [{"id": "gemma3"}]}'}) as url:
        assert choice_name(choose_with({"OLLAMA_HOST": url}, model="ollama")) == "ollama:gemma3"
    with serve_answers({}) as url, pytest.raises(UserError, match="ollama does not answer at"):
        choose_with({"OLLAMA_HOST": url}, model="ollama")


def test_reports_key_names_but_never_values() -> None:
    assert list_key_variables({"GEMINI_API_KEY": "g-secret", "OPENAI_API_KEY": "", "PATH": "/bin"}) == (
        "GEMINI_API_KEY",
    )
    key = find_key("google", {"GEMINI_API_KEY": "g-secret"})
    assert key and key.get_secret_value() == "g-secret" and "g-secret" not in repr(key)
    assert find_key("ollama", KEYS) is None


@pytest.mark.parametrize(
    ("model", "environment", "message"),
    [
        ("azure", {}, "azure has no default model: name one of your account's, as in azure:NAME."),
        ("azure:gpt", {}, "azure:gpt needs a key, and AZURE_OPENAI_API_KEY is not set"),
        (
            "azure:gpt",
            {"AZURE_OPENAI_API_KEY": "k"},
            "azure:gpt needs the address of your resource, and AZURE_OPENAI_ENDPOINT is not set.",
        ),
        ("vertex:gemini-4-argon", {}, "vertex:gemini-4-argon needs GOOGLE_CLOUD_PROJECT, which is not set"),
        ("bedrock:m", {}, "AWS_BEARER_TOKEN_BEDROCK or AWS_SECRET_ACCESS_KEY or AWS_PROFILE is not set"),
    ],
)
def test_names_what_an_account_lacks(model: str, environment: Mapping[str, str], message: str) -> None:
    with pytest.raises(UserError) as failure:
        choose_with(environment, model=model)
    assert message in str(failure.value)


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("https://r.openai.azure.com/", "https://r.openai.azure.com/openai/v1"),
        ("https://r.openai.azure.com/openai/v1", "https://r.openai.azure.com/openai/v1"),
    ],
)
def test_azure_address_leads_to_its_v1_api(endpoint: str, url: str) -> None:
    environment = {"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_ENDPOINT": endpoint}
    choice = choose_with(environment, model="azure:gpt")
    assert choice and choice.base_url == url
    assert choose_with(environment) is None, "its deployments have names of the account's own"


def test_names_extra_of_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coder.models.catalog.find_spec", lambda _name: None)
    for name in ("gemini-4-argon", None):
        with pytest.raises(UserError, match=r"pip install '\.\[google\]'"):
            choose_with({"GEMINI_API_KEY": "g"}, model=name)
    assert choice_name(choose_with(KEYS)) == "anthropic:claude-sonnet-5-5"


def test_key_may_come_from_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    keyring, errors = ModuleType("keyring"), ModuleType("keyring.errors")
    stored = {("coder", "OPENROUTER_API_KEY"): "stored"}
    monkeypatch.setattr(keyring, "__spec__", ModuleSpec("keyring", None))
    monkeypatch.setattr(keyring, "get_password", lambda *entry: stored.get(entry), raising=False)
    monkeypatch.setattr(errors, "KeyringError", RuntimeError, raising=False)
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)
    assert choice_name(choose_with({})) == "openrouter:anthropic/claude-sonnet-5.5"
    key = find_key("openrouter", {})
    assert key and key.get_secret_value() == "stored"
    assert list_key_variables({"OPENAI_API_KEY": "o"}) == ("OPENAI_API_KEY", "OPENROUTER_API_KEY")


def choice(provider: str, model: str) -> ModelChoice:
    return ModelChoice(provider=provider, model=model, reason="named")


def test_worst_case_cost_counts_input_as_cache_write() -> None:
    model = choice("anthropic", "claude-sonnet-4-5")
    read_cost = find_list_price(model, 10_000, 0)
    write_cost = find_list_price(model, 10_000, 1_000)
    assert read_cost is not None
    assert write_cost is not None
    assert Decimal(0) < read_cost < write_cost
    assert read_cost > Decimal("0.03")  # cost of the same input without any cache write


def test_unlisted_model_has_no_price() -> None:
    assert find_list_price(choice("compatible", "bridge"), 10, 10) is None


@pytest.mark.parametrize(
    ("model", "accepted"),
    [
        (model, name == "accepting")
        for name in ("accepting", "others")
        for model in lines(f"images/{name}.txt")
    ],
)
def test_knows_families_that_accept_images(model: str, accepted: bool) -> None:
    assert accepts_images(ModelChoice(provider="openai", model=model, reason="")) is accepted


@pytest.mark.loopback
@pytest.mark.parametrize(("props", "accepted"), [("true", True), ("false", False)])
def test_asks_llama_cpp_and_believes_the_user(props: str, accepted: bool) -> None:
    with serve_answers({"/props": f'{{"modalities": {{"vision": {props}}}}}'.encode()}) as url:
        for name in ("llava", "smollm2"):
            choice = ModelChoice(provider="llamacpp", model=name, base_url=f"{url}/v1", reason="")
            assert accepts_images(choice) is accepted
            assert open_model(choice, environment={}).accepts_images is accepted
            assert open_model(choice, environment={}, images=not accepted).accepts_images is not accepted


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


LISTING = b'{"object": "list", "data": [{"id": "qwen3:8b"}, {"id": "nomic-embed-text"}, {"id": "gemma3"}]}'


@pytest.mark.loopback
@pytest.mark.parametrize(
    "body", [b"<html>a web server</html>", b"[]", b'{"data": {}}', b'{"data": [1, {"id": 2}]}', b"\xff"]
)
def test_ignores_other_program_on_port(body: bytes) -> None:
    with serve_answers({"/v1/models": body}) as url:
        assert list_models(f"{url}/v1") == ()


@pytest.mark.loopback
def test_finds_answering_servers_in_address_order() -> None:
    with (
        serve_answers({"/v1/models": LISTING}) as first,
        serve_answers({"/v1/models": b'{"data": [{"id": "b"}]}'}) as other,
        serve_answers({}) as none,
    ):
        places = {"ollama": f"{first}/v1", "llamacpp": f"{none}/v1", "vllm": f"{other}/v1"}
        assert probe_servers(places) == (
            LocalServer(provider="ollama", base_url=f"{first}/v1", models=("qwen3:8b", "gemma3")),
            LocalServer(provider="vllm", base_url=f"{other}/v1", models=("b",)),
        )


def test_recognizes_local_addresses() -> None:
    urls = (
        "http://localhost:1/v1",
        "http://127.9.9.9/v1",
        "http://[::1]:8080",
        "https://api.example.com",
        "http://127.evil.example",
    )
    assert [is_loopback(url) for url in urls] == [True, True, True, False, False]
