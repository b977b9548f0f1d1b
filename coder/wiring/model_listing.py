"""Listing of the models that sessions can use, with context and price."""

import os
from collections.abc import Iterator

from coder.core.errors import UserError
from coder.models.catalog import (
    PROVIDERS,
    ModelChoice,
    choose_beside,
    choose_by_name,
    choose_model,
    find_key,
    find_local_servers,
)
from coder.models.prices import describe_price
from coder.settings import Config


def list_models(config: Config, *, model_name: str | None) -> list[str]:
    """Return a line for each model: the chosen one first, then configured and reachable ones.

    `model_name` is the value of --model.

    Raises:
        UserError: the chosen model cannot be used.
    """
    chosen = choose_model(
        model=model_name, configured=config.model, base_url=config.base_url, environment=os.environ
    )
    lines = [_format(chosen, mark="*")] if chosen else ["No model is chosen, because none can be asked."]
    others = {
        choice.name: choice for choice in (*_configured_models(config, chosen), *_reachable_models(config))
    }
    return [
        *lines,
        *(_format(choice) for name, choice in others.items() if not chosen or name != chosen.name),
    ]


def _configured_models(config: Config, chosen: ModelChoice | None) -> Iterator[ModelChoice]:
    """Yield the models of fallbacks, branches and roles."""
    roles = {
        "planner": config.planner_model,
        "reviewer": config.reviewer_model,
        "summariser": config.summariser_model,
    }
    names = [
        *((name, "fallback") for name in config.fallback_models),
        *((name, "branches") for name in config.branch_models),
        *((name, role) for role, name in roles.items() if name),
    ]
    for name, reason in names:
        if config.base_url is not None and chosen is not None:
            yield choose_beside(name, chosen, reason=reason)
        else:
            yield choose_by_name(name, reason=reason, environment=os.environ)


def _reachable_models(config: Config) -> Iterator[ModelChoice]:
    """Yield the default model of each provider with a key, and the models of servers on this machine."""
    if config.base_url is not None:
        return
    for provider in PROVIDERS:
        if find_key(provider.name, os.environ) is not None:
            try:
                yield choose_by_name(provider.name, reason="its key is set", environment=os.environ)
            except UserError:
                continue
    for server in find_local_servers(os.environ):
        for model in server.models:
            yield ModelChoice(
                provider=server.provider, model=model, base_url=server.base_url, reason="runs here"
            )


def _format(choice: ModelChoice, mark: str = " ") -> str:
    return f"{mark} {choice.name:<36} {describe_price(choice):<48} {choice.reason}"
