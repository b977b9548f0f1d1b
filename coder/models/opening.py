"""Creation of a client for a selected model; only here are the provider libraries loaded."""

import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from coder.core.errors import UserError
from coder.core.ports import Model
from coder.core.values import Value
from coder.models.catalog import ModelChoice, find_key
from coder.models.request_errors import RetryPolicy
from coder.models.text_protocol import AdaptiveModel, TextProtocolModel


def open_model(
    choice: ModelChoice,
    *,
    environment: Mapping[str, str],
    tool_calling: bool | None = None,
    images: bool | None = None,
    record: Path | None = None,
    retry_policy: RetryPolicy | None = None,
) -> Model:
    """Create a Model for a choice; no request that costs is sent before its first use.

    Args:
        tool_calling: False for models that cannot call tools; None detects it: a llama.cpp on this machine is
            asked, others are tried until they refuse. llama.cpp constrains calls in text by a grammar.
        images: whether the model accepts images; None: as far as its name or its server tells.
        record: the file in which the exchange is recorded, for `cassette.load`.
    """
    # Imported late: loading these takes up to a second, which code that only needs names must not pay.
    from coder.models.cassette import ModelRecorder
    from coder.models.provider import ProviderModel, model_factory

    # Warnings about fields that the libraries do not know yet are of no use to the user.
    warnings.filterwarnings("ignore", category=UserWarning, module=r"(google\.genai|pydantic_ai)\b")
    key = find_key(choice.provider, environment)
    server = GgufServer(Path(choice.model)) if choice.provider == PROVIDER else None
    if server is not None:
        choice = choice.model_copy(update={"base_url": server.base_url})
    direct = ProviderModel(
        choice,
        model_factory(choice, key),
        key=key,
        retry_policy=retry_policy,
        server=server,
        images=images,
    )
    template_has_tools = None
    if not tool_calling and choice.base_url and is_loopback(choice.base_url):
        template_has_tools = detect_tool_support(choice.base_url)
    if tool_calling is None:
        tool_calling = template_has_tools
    is_llama_cpp = template_has_tools is not None
    model: Model = (
        direct
        if tool_calling
        else TextProtocolModel(direct, has_grammar=is_llama_cpp)
        if tool_calling is False
        else AdaptiveModel(direct)
    )
    return ModelRecorder(model, record) if record else model


PORTS = {"ollama": 11434, "llamacpp": 8080, "lmstudio": 1234, "vllm": 8000}
"""The default port of each kind of server, in order of preference."""
PROBE_SECONDS = 0.5
"""Timeout of a query; a server that cannot list its models within it is too busy to be offered."""
LISTING_BYTES = 1 << 20


class LocalServer(Value):
    """A server that answered, with the names of its models."""

    provider: str
    base_url: str
    models: tuple[str, ...]


def server_addresses(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the base URL of each kind of server; OLLAMA_HOST is read as Ollama's own client does."""
    urls = {provider: f"http://127.0.0.1:{port}/v1" for provider, port in PORTS.items()}
    if host := environment.get("OLLAMA_HOST", "").strip():
        urls["ollama"] = _ollama_url(host)
    return urls


def is_loopback(url: str) -> bool:
    """Return whether the URL leads to this machine, so that no proxy applies."""
    from ipaddress import ip_address

    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def probe_servers(places: Mapping[str, str]) -> tuple[LocalServer, ...]:
    """Query all servers (provider to base URL) concurrently and return those that list models."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=len(places) or 1) as pool:
        listings = pool.map(list_models, places.values())
    return tuple(
        LocalServer(provider=provider, base_url=url, models=models)
        for (provider, url), models in zip(places.items(), listings, strict=True)
        if models
    )


def list_models(base_url: str) -> tuple[str, ...]:
    """Return the names that `GET base_url/models` lists, without embedding models; empty on failure."""
    listing = _get_json(f"{base_url.rstrip('/')}/models")
    entries = listing.get("data")
    names = (
        [entry.get("id") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    )
    return tuple(name for name in names if isinstance(name, str) and "embed" not in name.lower())


def accepts_connections(base_url: str) -> bool:
    """Return whether something listens at the host and port of a URL; takes up to two seconds."""
    from socket import create_connection

    parts = urlsplit(base_url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        create_connection((parts.hostname or "", port), timeout=2.0).close()
    except OSError:
        return False
    return True


def detect_tool_support(base_url: str) -> bool | None:
    """Return whether llama.cpp's chat template passes tools to the model.

    Otherwise it drops them silently. None if the server is not llama.cpp or does not report it.
    """
    capabilities = _get_json(f"{base_url.rstrip('/').removesuffix('/v1')}/props").get("chat_template_caps")
    supports_tools = capabilities.get("supports_tools") if isinstance(capabilities, dict) else None
    return supports_tools if isinstance(supports_tools, bool) else None


def detect_image_support(base_url: str) -> bool | None:
    """Return whether llama.cpp's model sees images; None if the server does not report it."""
    modalities = _get_json(f"{base_url.rstrip('/').removesuffix('/v1')}/props").get("modalities")
    sees_images = modalities.get("vision") if isinstance(modalities, dict) else None
    return sees_images if isinstance(sees_images, bool) else None


def _get_json(url: str) -> dict[str, Any]:
    """GET a JSON object; return an empty one on any failure."""
    import json
    from http.client import HTTPConnection, HTTPException, HTTPSConnection

    parts = urlsplit(url)
    # http.client uses no proxies and follows no redirects, as a query of this machine requires.
    connection_type = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    try:
        connection = connection_type(parts.hostname or "", parts.port, timeout=PROBE_SECONDS)
        try:
            connection.request("GET", parts.path, headers={"Accept": "application/json"})
            response = connection.getresponse()
            content = json.loads(response.read(LISTING_BYTES)) if response.status == 200 else {}
        finally:
            connection.close()
    except (OSError, HTTPException, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _ollama_url(host: str) -> str:
    """Return the base URL for a value of OLLAMA_HOST: `host`, `host:port`, `:port` or a URL.

    A server that listens on all interfaces is reached on loopback.
    """
    parts = urlsplit(host if "://" in host else f"http://{host}")
    name = parts.hostname if parts.hostname not in (None, "0.0.0.0", "::") else "127.0.0.1"
    url_host = f"[{name}]" if name and ":" in name else name
    port = parts.port or (PORTS["ollama"] if "://" not in host else {"https": 443}.get(parts.scheme, 80))
    return f"{parts.scheme}://{url_host}:{port}{parts.path.rstrip('/')}/v1"


PROVIDER = "gguf"
QUIET = -1
"""Verbosity of llama.cpp at which it writes nothing to the terminal."""


def find_model_file(name: str) -> Path:
    """Return the file of a model that is named by its path.

    Raises:
        UserError: there is no such file, or the library is not installed.
    """
    path = Path(name).expanduser().absolute()
    if not path.is_file():
        raise UserError(f"There is no model file {path}. Name one as gguf:PATH.")
    if find_spec("xllamacpp") is None:
        raise UserError(
            f"gguf:{name} needs a library that is not installed: pip install 'coder-proof[local]'."
        )
    return path


class GgufServer:
    """A server of OpenAI's chat completions for one model file, on a free port of the loopback interface.

    It lives as long as this object. llama.cpp constrains calls by a grammar: its own where the model's
    template knows tools, else that of the text protocol.
    """

    def __init__(self, path: Path) -> None:
        """Load the model; this takes seconds.

        Raises:
            UserError: llama.cpp cannot load it.
        """
        import xllamacpp

        parameters: Any = xllamacpp.CommonParams()
        parameters.model.path = str(path)
        parameters.hostnames = ["127.0.0.1"]
        parameters.port = 0
        parameters.n_ctx = 0  # the model's own
        parameters.n_parallel = 1
        parameters.use_jinja = True
        parameters.verbosity = QUIET
        try:
            self._server: Any = xllamacpp.Server(parameters)
        except Exception as error:  # the binding raises whatever llama.cpp throws
            raise UserError(f"llama.cpp cannot load {path}: {' '.join(str(error).split())}") from error
        self.base_url = f"{self._server.listening_address}/v1"


SERVICE = "coder"


def read_stored_key(variable: str) -> str:
    """Return the key that the keyring holds for a variable; empty where there is none, or no keyring."""
    if find_spec("keyring") is None:
        return ""
    import keyring
    from keyring.errors import KeyringError

    try:
        return keyring.get_password(SERVICE, variable) or ""
    except KeyringError:
        return ""
