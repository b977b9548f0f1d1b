"""Model servers on this machine: where each kind listens, and what it has loaded."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from coder.core.values.base import Value

PORTS = {"ollama": 11434, "llamacpp": 8080, "lmstudio": 1234, "vllm": 8000}
"""The port each kind of server listens on unless told otherwise, in the order they are preferred."""

PROBE_SECONDS = 0.5
"""A server on this machine that cannot list its models within this is too busy to be offered."""

LISTING_BYTES = 1 << 20


class LocalServer(Value):
    """A server that answered, with the names of its models."""

    provider: str
    base_url: str
    models: tuple[str, ...]


def addresses(environment: Mapping[str, str]) -> dict[str, str]:
    """Base URL of each kind of server; OLLAMA_HOST is honoured as Ollama's own client does."""
    found = {provider: f"http://127.0.0.1:{port}/v1" for provider, port in PORTS.items()}
    if host := environment.get("OLLAMA_HOST", "").strip():
        found["ollama"] = _ollama(host)
    return found


def is_loopback(url: str) -> bool:
    """Does the URL lead to this machine, where no proxy belongs in between?"""
    from ipaddress import ip_address

    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def find(places: Mapping[str, str]) -> tuple[LocalServer, ...]:
    """Ask all places (provider to base URL) at once; those that do not list a model in time are left out."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=len(places) or 1) as pool:
        listings = pool.map(models_at, places.values())
    return tuple(
        LocalServer(provider=provider, base_url=url, models=models)
        for (provider, url), models in zip(places.items(), listings, strict=True)
        if models
    )


def models_at(base_url: str) -> tuple[str, ...]:
    """The names that `GET base_url/models` lists, embedding models left out; empty where nothing fitting answers."""
    listing = _ask(f"{base_url.rstrip('/')}/models")
    entries = listing.get("data")
    names = (
        [entry.get("id") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    )
    return tuple(name for name in names if isinstance(name, str) and "embed" not in name.lower())


def takes_tools(base_url: str) -> bool | None:
    """Whether llama.cpp's chat template shows tools to the model (it drops them silently where not); None: not llama.cpp, or not told."""
    abilities = _ask(f"{base_url.rstrip('/').removesuffix('/v1')}/props").get("chat_template_caps")
    told = abilities.get("supports_tools") if isinstance(abilities, dict) else None
    return told if isinstance(told, bool) else None


def _ask(url: str) -> dict[str, Any]:
    """GET a JSON object; empty where anything else, or nothing, answers in time."""
    import json
    from http.client import HTTPConnection, HTTPException, HTTPSConnection

    parts = urlsplit(url)
    # http.client knows no proxies and follows no redirects, which is what a look at the own machine needs.
    connect = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    try:
        connection = connect(parts.hostname or "", parts.port, timeout=PROBE_SECONDS)
        try:
            connection.request("GET", parts.path, headers={"Accept": "application/json"})
            answer = connection.getresponse()
            found = json.loads(answer.read(LISTING_BYTES)) if answer.status == 200 else {}
        finally:
            connection.close()
    except (OSError, HTTPException, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _ollama(host: str) -> str:
    """OLLAMA_HOST is `host`, `host:port`, `:port` or a URL; a server told to listen on all interfaces is reached on loopback."""
    parts = urlsplit(host if "://" in host else f"http://{host}")
    name = parts.hostname if parts.hostname not in (None, "0.0.0.0", "::") else "127.0.0.1"
    shown = f"[{name}]" if name and ":" in name else name
    port = parts.port or (PORTS["ollama"] if "://" not in host else {"https": 443}.get(parts.scheme, 80))
    return f"{parts.scheme}://{shown}:{port}{parts.path.rstrip('/')}/v1"
