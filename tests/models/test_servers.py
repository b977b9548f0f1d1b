import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from coder.models.catalog import (
    LocalServer,
    detect_tool_support,
    is_loopback,
    list_models,
    probe_servers,
    server_addresses,
)
from tests.models.fakes import serve_answers

LISTING = b'{"object": "list", "data": [{"id": "qwen3:8b"}, {"id": "nomic-embed-text"}, {"id": "gemma3"}]}'


@contextmanager
def silent_server() -> Iterator[str]:
    """Yield the URL of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"


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
def test_waits_for_silent_servers_concurrently() -> None:
    start = time.monotonic()
    with silent_server() as first, silent_server() as second, silent_server() as third:
        assert probe_servers({"ollama": first, "llamacpp": second, "vllm": third}) == ()
    assert time.monotonic() - start < 1.2
    assert threading.active_count() < 10


@pytest.mark.loopback
def test_asks_llama_cpp_whether_its_template_shows_tools() -> None:
    for answer, expected in ((b"true", True), (b"false", False), (b"null", None)):
        with serve_answers({"/props": b'{"chat_template_caps": {"supports_tools": ' + answer + b"}}"}) as url:
            assert detect_tool_support(f"{url}/v1") is expected
    with serve_answers({}) as url:
        assert detect_tool_support(f"{url}/v1") is None


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        (":9999", "http://127.0.0.1:9999/v1"),
        ("box.local", "http://box.local:11434/v1"),
        ("10.0.0.5:1234", "http://10.0.0.5:1234/v1"),
        ("[::1]:5000", "http://[::1]:5000/v1"),
        ("https://ollama.example/", "https://ollama.example:443/v1"),
    ],
)
def test_honours_ollama_host(host: str, url: str) -> None:
    assert server_addresses({"OLLAMA_HOST": host})["ollama"] == url


def test_recognizes_local_addresses() -> None:
    urls = (
        "http://localhost:1/v1",
        "http://127.9.9.9/v1",
        "http://[::1]:8080",
        "https://api.example.com",
        "http://127.evil.example",
    )
    assert [is_loopback(url) for url in urls] == [True, True, True, False, False]
