"""Listing of the models that sessions can use, with context and price."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from coder.core.errors import UserError
from coder.models.catalog import (
    PROVIDERS,
    ModelChoice,
    choose_beside,
    choose_by_name,
    find_key,
    find_local_servers,
)
from coder.models.images import accepts_images
from coder.models.prices import describe_price
from coder.models.servers import LocalServer, detect_tool_support, is_loopback


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
    return f"{mark} {choice.name:<36} {describe_price(choice):<48} {tools:<14} {images:<7} {choice.reason}"


def describe_tool_support(choice: ModelChoice) -> str:
    """Describe how a model calls tools: a llama.cpp on this machine is asked, others are tried when used."""
    if not choice.base_url or not is_loopback(choice.base_url):
        return "calls tools"
    supports_tools = detect_tool_support(choice.base_url)
    if supports_tools is None:
        return "tools untried"
    return "calls tools" if supports_tools else "tools as text"
