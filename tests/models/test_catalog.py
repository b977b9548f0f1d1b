import sys
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from coder.core.errors import UserError
from coder.models.catalog import LocalServer, ModelChoice, choose_model, find_key, list_key_variables
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
