import pytest

from coder.models.catalog import (
    LocalServer,
    detect_tool_support,
    is_loopback,
    list_models,
    probe_servers,
)
from tests.models.fakes import serve_answers

LISTING = b'{"object": "list", "data": [{"id": "qwen3:8b"}, {"id": "nomic-embed-text"}, {"id": "gemma3"}]}'


@pytest.mark.loopback
def test_lists_server_models_without_embedding_models() -> None:
    with serve_answers({"/v1/models": LISTING}) as url:
        assert list_models(f"{url}/v1/") == ("qwen3:8b", "gemma3")


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


@pytest.mark.loopback
def test_asks_llama_cpp_whether_its_template_shows_tools() -> None:
    for answer, expected in ((b"true", True), (b"false", False), (b"null", None)):
        with serve_answers({"/props": b'{"chat_template_caps": {"supports_tools": ' + answer + b"}}"}) as url:
            assert detect_tool_support(f"{url}/v1") is expected
    with serve_answers({}) as url:
        assert detect_tool_support(f"{url}/v1") is None


def test_recognizes_local_addresses() -> None:
    urls = (
        "http://localhost:1/v1",
        "http://127.9.9.9/v1",
        "http://[::1]:8080",
        "https://api.example.com",
        "http://127.evil.example",
    )
    assert [is_loopback(url) for url in urls] == [True, True, True, False, False]
