"""Names of models, the keys that open them, and the choice of one of them."""

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

from pydantic import SecretStr

from coder.core.errors import UserError
from coder.core.values.base import Value
from coder.models.servers import PORTS, LocalServer, addresses, find, models_at


class Provider(Value):
    """A service that wants a key."""

    name: str
    keys: tuple[str, ...]
    """Environment variables that may hold its key; the first that is set counts."""
    default: str
    """The model taken where only a key says what to use; current in November 2026, priced for everyday coding."""
    families: tuple[str, ...] = ()
    """How the bare name of one of its models begins."""
    address: str = ""
    """The environment variable that may hold another base URL."""


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
    ),
    Provider(name="openrouter", keys=("OPENROUTER_API_KEY",), default="anthropic/claude-sonnet-5.5"),
)
"""The order in which keys are tried where nothing names a model."""

COMPATIBLE = "compatible"
"""The provider of a model behind --base-url; its key, where it wants one, is CODER_API_KEY."""

KEYS = {provider.name: provider.keys for provider in PROVIDERS} | {COMPATIBLE: ("CODER_API_KEY",)}

FORMS = (
    "Write it as PROVIDER:NAME, such as anthropic:claude-sonnet-5-5, openai:gpt-6.1-sol, google:gemini-4-argon, "
    + (
        "openrouter:anthropic/claude-sonnet-5.5 or ollama:qwen3:8b, or add --base-url URL for any other OpenAI-compatible server."
    )
)


class Choice(Value):
    """One model, and why it was taken."""

    provider: str
    model: str
    base_url: str | None = None
    """None is the provider's own address."""
    reason: str
    """For the screen: half a sentence that begins with how it was named."""

    @property
    def name(self) -> str:
        return f"{self.provider}:{self.model}"


def key_for(provider: str, environment: Mapping[str, str]) -> SecretStr | None:
    """The key of a provider, if one is set."""
    return next(
        (SecretStr(environment[name]) for name in KEYS.get(provider, ()) if environment.get(name)), None
    )


def keys_set(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Names (never values) of the key variables that are set, in the order they are tried."""
    return tuple(name for names in KEYS.values() for name in names if environment.get(name))


def servers(environment: Mapping[str, str]) -> tuple[LocalServer, ...]:
    """The model servers that run on this machine now; takes up to half a second."""
    return find(addresses(environment))


def choose(
    *,
    model: str | None,
    configured: str | None,
    base_url: str | None,
    environment: Mapping[str, str],
    local: Callable[[Mapping[str, str]], Sequence[LocalServer]] = servers,
) -> Choice | None:
    """Take --model, then CODER_MODEL, then the configured name, then the first key of PROVIDERS, then a server on this machine.

    `base_url` says where a named model is; without any name the first that is listed there is taken. None: there is nothing to use.

    Raises:
        UserError: a name that cannot be placed, a missing key, a base URL without a model.
    """
    named = (
        (model, "named with --model"),
        (environment.get("CODER_MODEL"), "named by CODER_MODEL"),
        (configured, "from the configuration"),
    )
    name, reason = next(((name.strip(), reason) for name, reason in named if name and name.strip()), ("", ""))
    if base_url is not None:
        return _behind(base_url, name=name, reason=reason)
    if name:
        return place(name, reason=reason, environment=environment)
    for provider in PROVIDERS:
        if variable := _usable(provider, environment):
            return Choice(
                provider=provider.name,
                model=provider.default,
                base_url=environment.get(provider.address) or None,
                reason=f"{variable} is set and no model was named; --model takes another",
            )
    for server in local(environment):
        return Choice(
            provider=server.provider,
            model=server.models[0],
            base_url=server.base_url,
            reason=f"running at {server.base_url}, and no key is set; --model takes another",
        )
    return None


def place(name: str, *, reason: str, environment: Mapping[str, str]) -> Choice:
    """Find the provider of a model by its prefix, or by how its name begins; a bare provider means its default model.

    Raises:
        UserError: the name fits no provider, or the provider's key is not set.
    """
    prefix, model = _split(name)
    if prefix in PORTS:
        return _local(prefix, model, reason=reason, environment=environment)
    for provider in PROVIDERS:
        if prefix == provider.name or (not prefix and name.startswith(provider.families)):
            taken = model or provider.default
            if not _usable(provider, environment):
                variables = " or ".join(provider.keys)
                raise UserError(
                    f"{provider.name}:{taken} needs a key, and {variables} is not set. Export it, or take another model."
                )
            return Choice(
                provider=provider.name,
                model=taken,
                base_url=environment.get(provider.address) or None,
                reason=reason,
            )
    raise UserError(f"No provider is known for the model {name!r}. {FORMS}")


def _split(name: str) -> tuple[str, str]:
    """(`provider`, `model`); names such as `qwen3:8b` have a colon and no provider."""
    prefix, _, rest = name.partition(":")
    return (prefix, rest) if prefix in (*KEYS, *PORTS) else ("", name)


def _local(provider: str, model: str, *, reason: str, environment: Mapping[str, str]) -> Choice:
    url = addresses(environment)[provider]
    taken = model or next(iter(models_at(url)), "")
    if not taken:
        raise UserError(
            f"{provider} does not answer at {url} with a model to take. Start it there, or name the model: {provider}:NAME."
        )
    return Choice(provider=provider, model=taken, base_url=url, reason=reason)


def _behind(base_url: str, *, name: str, reason: str) -> Choice:
    """A model behind a URL that the person gave; a prefix says whose key and dialect it takes, a bare host gets the customary /v1."""
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError(
            f"--base-url {base_url!r} is not a URL. Give the whole address, such as http://127.0.0.1:8080/v1."
        )
    prefix, model = _split(name)
    dialect = prefix or COMPATIBLE
    url = base_url.rstrip("/") + (
        "/v1" if not parts.path.strip("/") and dialect not in ("anthropic", "google") else ""
    )
    if model:
        return Choice(provider=dialect, model=model, base_url=url, reason=f"{reason}, at {url}")
    listed = models_at(url)
    if not listed:
        raise UserError(
            f"{url} lists no models. Name the one to use with --model, and see that the server is running."
        )
    return Choice(provider=dialect, model=listed[0], base_url=url, reason=f"the first model listed at {url}")


def at(name: str, beside: Choice, *, reason: str) -> Choice:
    """Another model of the server that a choice is at."""
    prefix, model = _split(name)
    return Choice(provider=prefix or beside.provider, model=model, base_url=beside.base_url, reason=reason)


def _usable(provider: Provider, environment: Mapping[str, str]) -> str:
    """The variable that makes a provider usable; an address of its own may need no key."""
    candidates = (*provider.keys, *([provider.address] if provider.address else []))
    return next((name for name in candidates if environment.get(name)), "")
