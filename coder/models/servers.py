"""Model servers on this machine: where each kind listens, and what it has loaded."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from coder.core.value import Value

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
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


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
    from http.client import HTTPConnection, HTTPException, HTTPSConnection

    parts = urlsplit(base_url)
    # http.client knows no proxies and follows no redirects, which is what a look at the own machine needs.
    connect = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    try:
        connection = connect(parts.hostname or "", parts.port, timeout=PROBE_SECONDS)
        try:
            connection.request("GET", f"{parts.path.rstrip('/')}/models", headers={"Accept": "application/json"})
            answer = connection.getresponse()
            body = answer.read(LISTING_BYTES) if answer.status == 200 else b""
        finally:
            connection.close()
    except (OSError, HTTPException, ValueError):
        return ()
    return _names(body)


def _names(body: bytes) -> tuple[str, ...]:
    import json

    try:
        listing = json.loads(body)
    except ValueError:
        return ()
    entries = listing.get("data") if isinstance(listing, dict) else None
    if not isinstance(entries, list):
        return ()
    names = [entry.get("id") for entry in entries if isinstance(entry, dict)]
    return tuple(name for name in names if isinstance(name, str) and "embed" not in name.lower())


def _ollama(host: str) -> str:
    """OLLAMA_HOST is `host`, `host:port`, `:port` or a URL; a server told to listen on all interfaces is reached on loopback."""
    parts = urlsplit(host if "://" in host else f"http://{host}")
    name = parts.hostname if parts.hostname not in (None, "0.0.0.0", "::") else "127.0.0.1"
    shown = f"[{name}]" if name and ":" in name else name
    port = parts.port or (PORTS["ollama"] if "://" not in host else {"https": 443}.get(parts.scheme, 80))
    return f"{parts.scheme}://{shown}:{port}{parts.path.rstrip('/')}/v1"
