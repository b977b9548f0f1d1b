"""Model names, API keys, and selection of a model."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from coder.core.errors import UserError
from coder.core.text import parse_json
from coder.core.values import Value

if TYPE_CHECKING:
    from genai_prices.types import AbstractUsage, PriceCalculation


class Provider(Value):
    name: str
    keys: tuple[str, ...]
    """Environment variables that may contain its key; the first that is set counts."""
    default: str = ""
    """The model used if only a key selects the provider; as of November 2026, priced for everyday coding.

    Empty where each account has models of its own: the user must name one.
    """
    families: tuple[str, ...] = ()
    """Prefixes of the bare names of its models."""
    address: str = ""
    """The environment variable that may contain another base URL."""
    accounts: tuple[str, ...] = ()
    """Variables without secrets, such as a project, that make it usable with stored credentials."""
    requires_address: bool = False
    """Whether there is no address of its own."""
    module: str = ""
    """The library that it needs beyond the base installation."""
    extra: str = ""
    """The extra of this distribution that installs the library."""


PROVIDERS = (
    Provider(
        name="anthropic", keys=("ANTHROPIC_API_KEY",), default="claude-sonnet-5-5", families=("claude-",)
    ),
    Provider(
        name="openai",
        keys=("OPENAI_API_KEY",),
        default="gpt-6.1-sol",
        families=("gpt-4", "gpt-5", "gpt-6", "o1", "o3", "o4"),
        address="OPENAI_BASE_URL",
    ),
    Provider(
        name="google",
        keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        default="gemini-4-argon",
        families=("gemini-",),
        module="google.genai",
        extra="google",
    ),
    Provider(name="openrouter", keys=("OPENROUTER_API_KEY",), default="anthropic/claude-sonnet-5.5"),
    Provider(
        name="azure", keys=("AZURE_OPENAI_API_KEY",), address="AZURE_OPENAI_ENDPOINT", requires_address=True
    ),
    Provider(
        name="vertex", keys=(), accounts=("GOOGLE_CLOUD_PROJECT",), module="google.genai", extra="google"
    ),
    Provider(
        name="bedrock",
        keys=("AWS_BEARER_TOKEN_BEDROCK", "AWS_SECRET_ACCESS_KEY"),
        accounts=("AWS_PROFILE",),
        module="boto3",
        extra="bedrock",
    ),
)
"""Providers in the order in which keys are tried if no model is named; those without a default are not."""
COMPATIBLE_PROVIDER = "compatible"
"""The provider of a model at --base-url; its key, if it needs one, is CODER_API_KEY."""
KEY_VARIABLES = {provider.name: provider.keys for provider in PROVIDERS} | {
    COMPATIBLE_PROVIDER: ("CODER_API_KEY",)
}
NAME_HINT = (
    "Write it as PROVIDER:NAME, such as "
    + ", ".join(f"{provider.name}:{provider.default or 'NAME'}" for provider in PROVIDERS)
    + ", ollama:qwen3:8b or gguf:PATH, or add --base-url URL for any other OpenAI-compatible server."
)


class ModelChoice(Value):
    provider: str
    model: str
    base_url: str | None = None
    """None for the provider's own address."""
    reason: str
    """For display: a phrase that begins with how the model was named."""

    @property
    def name(self) -> str:
        return f"{self.provider}:{self.model}"


def find_key(provider: str, environment: Mapping[str, str]) -> SecretStr | None:
    keys = (_read_key(name, environment) for name in KEY_VARIABLES.get(provider, ()))
    return next((SecretStr(key) for key in keys if key), None)


def _read_key(variable: str, environment: Mapping[str, str]) -> str:
    return environment.get(variable) or read_stored_key(variable)


def list_key_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names (never values) of the keys that are set or stored, in order of priority."""
    return tuple(name for names in KEY_VARIABLES.values() for name in names if _read_key(name, environment))


class LocalServer(Value):
    provider: str
    base_url: str
    models: tuple[str, ...]


def find_local_servers(environment: Mapping[str, str]) -> tuple[LocalServer, ...]:
    """Find the model servers that run on this machine; takes up to half a second."""
    return probe_servers(server_addresses(environment))


def choose_model(
    *,
    model: str | None,
    configured: str | None,
    base_url: str | None,
    environment: Mapping[str, str],
    local: Callable[[Mapping[str, str]], Sequence[LocalServer]] = find_local_servers,
) -> ModelChoice | None:
    """Select a model; return None if there is none to use.

    The order is: --model, CODER_MODEL, the configured name, the first provider with a key, a server on this
    machine. `base_url` locates a named model; without any name, the first model listed there is used.

    Raises:
        UserError: the name fits no provider, a key is missing, or the base URL has no model.
    """
    candidates = (
        (model, "named with --model"),
        (environment.get("CODER_MODEL"), "named by CODER_MODEL"),
        (configured, "from the configuration"),
    )
    name, reason = next(
        ((name.strip(), reason) for name, reason in candidates if name and name.strip()), ("", "")
    )
    if base_url is not None:
        return _choose_at_url(base_url, name=name, reason=reason)
    if name:
        return choose_by_name(name, reason=reason, environment=environment)
    for provider in PROVIDERS:
        if provider.default and (variable := _find_enabling_variable(provider, environment)):
            _check_library(provider)
            return ModelChoice(
                provider=provider.name,
                model=provider.default,
                base_url=environment.get(provider.address) or None,
                reason=f"{variable} is set and no model was named; --model takes another",
            )
    for server in local(environment):
        return ModelChoice(
            provider=server.provider,
            model=server.models[0],
            base_url=server.base_url,
            reason=f"running at {server.base_url}, and no key is set; --model takes another",
        )
    return None


def choose_by_name(name: str, *, reason: str, environment: Mapping[str, str]) -> ModelChoice:
    """Find the provider of a model by its prefix, or by the start of its name.

    A bare provider name means its default model.

    Raises:
        UserError: the name fits no provider, or the provider's key is not set.
    """
    if name.startswith(f"{GGUF}:"):
        path = find_model_file(name.partition(":")[2])
        return ModelChoice(provider=GGUF, model=str(path), reason=reason)
    prefix, model = _split_name(name)
    if prefix in PORTS:
        return _choose_local(prefix, model, reason=reason, environment=environment)
    for provider in PROVIDERS:
        if prefix == provider.name or (not prefix and name.startswith(provider.families)):
            selected = model or provider.default
            _check_usable(provider, selected, environment)
            return ModelChoice(
                provider=provider.name,
                model=selected,
                base_url=_provider_address(provider, environment),
                reason=reason,
            )
    raise UserError(f"No provider is known for the model {name!r}. {NAME_HINT}")


def _split_name(name: str) -> tuple[str, str]:
    """Split a name into provider and model; names such as `qwen3:8b` have a colon but no provider."""
    prefix, _, rest = name.partition(":")
    return (prefix, rest) if prefix in (*KEY_VARIABLES, *PORTS) else ("", name)


def _choose_local(provider: str, model: str, *, reason: str, environment: Mapping[str, str]) -> ModelChoice:
    url = server_addresses(environment)[provider]
    selected = model or next(iter(list_models(url)), "")
    if not selected:
        raise UserError(
            f"{provider} does not answer at {url} with a model to take. Start it there, or name the "
            f"model: {provider}:NAME."
        )
    return ModelChoice(provider=provider, model=selected, base_url=url, reason=reason)


_ENDPOINT = re.compile(r"(?:/chat/completions|(?<=/v1)/(?:completions|responses|models)|/v1/messages)$")
"""Ends of addresses of single requests, which documentation shows more often than the base URL."""


def _choose_at_url(base_url: str, *, name: str, reason: str) -> ModelChoice:
    """Select a model at a URL that the user gave.

    A prefix determines key and dialect; a bare host gets the customary /v1.
    """
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError(
            f"--base-url {base_url!r} is not a URL. Give the whole address, such as http://127.0.0.1:8080/v1."
        )
    prefix, model = _split_name(name)
    dialect = prefix or COMPATIBLE_PROVIDER
    base_url = _ENDPOINT.sub("", base_url.rstrip("/"))
    url = base_url + ("/v1" if not parts.path.strip("/") and dialect not in ("anthropic", "google") else "")
    if model:
        return ModelChoice(provider=dialect, model=model, base_url=url, reason=f"{reason}, at {url}")
    models = list_models(url)
    if not models:
        raise UserError(
            f"{url} lists no models. Name the one to use with --model, and see that the server is running."
        )
    return ModelChoice(
        provider=dialect, model=models[0], base_url=url, reason=f"the first model listed at {url}"
    )


def choose_beside(name: str, beside: ModelChoice, *, reason: str) -> ModelChoice:
    """Return another model at the server of an existing choice."""
    prefix, model = _split_name(name)
    return ModelChoice(
        provider=prefix or beside.provider, model=model, base_url=beside.base_url, reason=reason
    )


def _find_enabling_variable(provider: Provider, environment: Mapping[str, str]) -> str:
    """Return the variable that makes a provider usable; a custom address may need no key."""
    addresses = () if provider.requires_address or not provider.address else (provider.address,)
    for name in provider.keys:
        if _read_key(name, environment):
            return name
    return next((name for name in (*provider.accounts, *addresses) if environment.get(name)), "")


def _check_usable(provider: Provider, model: str, environment: Mapping[str, str]) -> None:
    """Check that a named model of a provider can be asked."""
    if not model:
        raise UserError(
            f"{provider.name} has no default model: name one of your account's, as in {provider.name}:NAME."
        )
    if not _find_enabling_variable(provider, environment):
        variables = " or ".join((*provider.keys, *provider.accounts))
        need = f"a key, and {variables} is not set" if provider.keys else f"{variables}, which is not set"
        raise UserError(f"{provider.name}:{model} needs {need}. Export it, or take another model.")
    if provider.requires_address and not environment.get(provider.address):
        raise UserError(
            f"{provider.name}:{model} needs the address of your resource, and {provider.address} is not set."
        )
    _check_library(provider)


def _check_library(provider: Provider) -> None:
    """Check that a provider's library is installed."""
    package, _, _ = provider.module.partition(".")
    if provider.module and (find_spec(package) is None or find_spec(provider.module) is None):
        raise UserError(
            f"{provider.name} needs a library that is not installed: pip install "
            f"'.[{provider.extra}]', or take another model."
        )


def _provider_address(provider: Provider, environment: Mapping[str, str]) -> str | None:
    url = environment.get(provider.address) or None
    if provider.name == "azure" and url and not url.rstrip("/").endswith("/v1"):
        return f"{url.rstrip('/')}/openai/v1"
    return url


def describe_models(
    chosen: ModelChoice | None,
    configured: Sequence[tuple[str, str]],
    *,
    base_url: str | None,
    environment: Mapping[str, str],
    local: Callable[[Mapping[str, str]], Sequence[LocalServer]] = find_local_servers,
) -> list[str]:
    """Return a line for each model: the chosen one first, then configured and reachable ones.

    `configured` are names of further models, each with its role. `base_url` locates all models.

    Raises:
        UserError: a configured model cannot be used.
    """
    others: list[ModelChoice] = []
    for name, role in configured:
        if base_url is not None and chosen is not None:
            others.append(choose_beside(name, chosen, reason=role))
        else:
            others.append(choose_by_name(name, reason=role, environment=environment))
    if base_url is None:
        others += _reachable_models(environment, local(environment))
    by_name = {choice.name: choice for choice in reversed(others) if not chosen or choice.name != chosen.name}
    return [
        _format(chosen, mark="*") if chosen else "No model is chosen, because none can be asked.",
        *map(_format, reversed(by_name.values())),
    ]


def _reachable_models(
    environment: Mapping[str, str], servers: Sequence[LocalServer]
) -> Iterator[ModelChoice]:
    """Yield the default model of each provider with a key, and the models of servers on this machine."""
    for provider in PROVIDERS:
        if find_key(provider.name, environment) is not None:
            try:
                yield choose_by_name(provider.name, reason="its key is set", environment=environment)
            except UserError:
                continue
    for server in servers:
        for model in server.models:
            yield ModelChoice(
                provider=server.provider, model=model, base_url=server.base_url, reason="runs here"
            )


def _format(choice: ModelChoice, mark: str = " ") -> str:
    tools = describe_tool_support(choice)
    images = "images" if accepts_images(choice) else ""
    effort = "thinks" if supports_effort(choice) else ""
    return (
        f"{mark} {choice.name:<36} {describe_price(choice):<48} {tools:<14} {images:<7} {effort:<7} "
        f"{choice.reason}"
    )


def supports_effort(choice: ModelChoice) -> bool:
    """Tell whether a model of a family that the library knows has levels of effort."""
    from pydantic_ai.profiles.anthropic import anthropic_model_profile
    from pydantic_ai.profiles.google import google_model_profile
    from pydantic_ai.profiles.openai import openai_model_profile

    name = choice.model.rpartition("/")[2].rpartition("anthropic.")[2]
    families = {
        r"claude-": anthropic_model_profile,
        r"gemini-": google_model_profile,
        r"gpt-|o\d": openai_model_profile,
    }
    find_profile = next((find for family, find in families.items() if re.match(family, name)), None)
    return bool(find_profile and (find_profile(name) or {}).get("supports_thinking"))


def describe_tool_support(choice: ModelChoice) -> str:
    """Describe how a model calls tools: a llama.cpp on this machine is asked, others are tried when used."""
    if not choice.base_url or not is_loopback(choice.base_url):
        return "calls tools"
    supports_tools = detect_tool_support(choice.base_url)
    if supports_tools is None:
        return "tools untried"
    return "calls tools" if supports_tools else "tools as text"


def find_list_price(choice: ModelChoice, input_tokens: int, output_tokens: int) -> Decimal | None:
    """Return the highest price of a request of this size in US dollars; None if the model is not listed."""
    from genai_prices import Usage

    new = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    cached = Usage(input_tokens=input_tokens, cache_write_tokens=input_tokens, output_tokens=output_tokens)
    costs = [cost for usage in (new, cached) if (cost := find_cost(choice, usage)) is not None]
    return max(costs, default=None)


def find_cost(choice: ModelChoice, usage: "AbstractUsage") -> Decimal | None:
    """Return the cost of a request by the price that its limit was reserved at; None if it is not listed."""
    listed = _find_listing(choice, usage)
    return listed.total_price if listed else None


def find_context_tokens(choice: ModelChoice) -> int | None:
    """Return the size of the model's context window; None if it is not listed."""
    listed = _find_listing(choice)
    return listed.model.context_window if listed else None


def describe_price(choice: ModelChoice) -> str:
    """Describe the context and price of a model, such as `128k tokens, $2.5 in and $10 out per million`."""
    listed = _find_listing(choice)
    if listed is None:
        return "context and price unknown"
    window = listed.model.context_window
    context = f"{window // 1000}k tokens" if window else "context unknown"
    into, out = (f"${(1000 * part).normalize():f}" for part in (listed.input_price, listed.output_price))
    return f"{context}, {into} in and {out} out per million"


def _find_listing(choice: ModelChoice, usage: "AbstractUsage | None" = None) -> "PriceCalculation | None":
    """Return a model's entry, with the price of a request, of a thousand tokens each way by default."""
    from genai_prices import Usage, calc_price

    usage = usage or Usage(input_tokens=1000, output_tokens=1000)
    try:
        return calc_price(usage, model_ref=choice.model, provider_id=choice.provider)
    except (LookupError, ValueError):
        return None


IMAGE_MODELS = re.compile(
    r"claude-(?!2|instant)|gpt-(?:4o|4\.1|4-turbo|[5-9])|(?:^|/)o[134](?!-mini)(?:-|$)|o4-mini|gemini|gemma-?[34]"
    r"|grok-(?:[4-9]|.*vision)|pixtral|mistral-(?:small|medium|large)-(?:3|2[5-9])|llama-?(?:4|3\.2-(?:11|90)b)"
    r"|vision|(?:^|qwen[\d.]*|[-/.])vl(?:$|[-:.\d])|llava|minicpm-v|internvl|moondream|nova-(?:lite|pro|premier)",
    re.IGNORECASE,
)
"""Families whose documentation says so; the model library's profiles say it of all models."""


def accepts_images(choice: ModelChoice) -> bool:
    """Tell whether a model is known to accept images; a llama.cpp on this machine is asked."""
    url = choice.base_url
    reported = _read_property(url, "modalities", "vision") if url and is_loopback(url) else None
    return bool(IMAGE_MODELS.search(choice.model)) if reported is None else reported


PORTS = {"ollama": 11434, "llamacpp": 8080, "lmstudio": 1234, "vllm": 8000}
"""The default port of each kind of server, in order of preference."""
PROBE_SECONDS = 0.5
"""Timeout of a query; a server that cannot list its models within it is too busy to be offered."""
LISTING_BYTES = 1 << 20


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
    return _read_property(base_url, "chat_template_caps", "supports_tools")


def _read_property(base_url: str, group: str, name: str) -> bool | None:
    """Return what llama.cpp says of its model; None if the server does not report it."""
    properties = _get_json(f"{base_url.rstrip('/').removesuffix('/v1')}/props").get(group)
    value = properties.get(name) if isinstance(properties, dict) else None
    return value if isinstance(value, bool) else None


def _get_json(url: str) -> dict[str, Any]:
    """GET a JSON object; return an empty one on any failure."""
    from http.client import HTTPConnection, HTTPException, HTTPSConnection

    parts = urlsplit(url)
    # http.client uses no proxies and follows no redirects, as a query of this machine requires.
    connection_type = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    try:
        connection = connection_type(parts.hostname or "", parts.port, timeout=PROBE_SECONDS)
        try:
            connection.request("GET", parts.path, headers={"Accept": "application/json"})
            response = connection.getresponse()
            content = parse_json(response.read(LISTING_BYTES)) if response.status == 200 else {}
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


GGUF = "gguf"
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
            f"gguf:{name} needs a library that is not installed. In a clone of coder: pip install '.[local]'"
        )
    return path


class GgufServer:
    """A server of OpenAI's chat completions for one model file, on a free port of the loopback interface.

    It lives as long as this object.
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
